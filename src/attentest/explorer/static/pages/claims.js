// All papers: how many of their claims came out how.
import { count, get, h, start, visible } from "../base.js";
import { STATUSES } from "./parts.js";

start(async (main) => {
  const found = await get("/claims.json");
  const cards = found.papers.map((paper) => {
    const total = Object.values(paper.claims).reduce((sum, each) => sum + each, 0);
    const chips = Object.keys(STATUSES).filter((status) => paper.claims[status]).map((status) => h("span", { class: `chip ${STATUSES[status]}` }, `${count(paper.claims[status])} ${status}`));
    const name = visible(paper.title, 200);
    return h(
      "article",
      { class: "card" },
      h("h2", { class: "goal" }, total ? h("a", { href: `/claims/${encodeURIComponent(paper.name)}` }, name) : name),
      h("p", { class: "small" }, visible(paper.citation, 200)),
      h("p", { class: "chips" }, total ? chips : "No figures of ours are here yet."),
    );
  });
  main.replaceChildren(
    h("h1", {}, "What papers claim, and what we find"),
    h("p", { class: "lead" }, "Published figures beside ours, from the same corpora, models and measures. ", "A claim agrees when our interval says the same; it is unsettled when the interval does not decide."),
    h("div", { class: "cards" }, cards),
  );
});
