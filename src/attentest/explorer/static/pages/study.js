// A study: its grid, and where its paper's claims are.
import { h, start, visible } from "../base.js";
import { gridOf } from "./grid.js";
import { twin } from "./parts.js";

async function draw(main) {
  const change = async () => {
    await draw(main);
    main.querySelector("#experiment").focus();
  };
  const { found, parts } = await gridOf(twin().replace(/\.json$/, ""), change);
  main.replaceChildren(
    h("p", { class: "crumbs" }, h("a", { href: "/" }, "Runs"), ` › study ${visible(found.study, 80)}`),
    h("h1", {}, visible(found.title || found.study, 200)),
    found.paper ? h("p", { class: "lead" }, h("a", { href: `/claims/${encodeURIComponent(found.paper)}` }, "what the paper claims, and what we find")) : "",
    ...parts,
  );
}

start(async (main) => {
  await draw(main);
  addEventListener("popstate", () => draw(main));
});
