// One run: what its verdict answers, the lines behind it, plots whose points are texts, and the texts.
import { count, fail, get, h, inWords, start, state, visible } from "../base.js";
import { classKeys, scatter } from "../plot.js";
import { parsedChoice, TextList } from "./list.js";
import { ownText, runPath, tone } from "./parts.js";

const run = runPath();

function answers(goals) {
  return h(
    "div",
    { class: "answers" },
    goals.map((goal) =>
      h(
        "article",
        { class: `card ${tone(goal.answer)}` },
        h("p", { class: "answer" }, visible(goal.answer, 40)),
        h("h2", { class: "goal" }, visible(goal.goal, 120)),
        h("p", {}, visible(goal.why ?? "", 600)),
        goal.known_by ? h("p", { class: "small" }, visible(goal.known_by, 400)) : "",
      ),
    ),
  );
}

function lines(found) {
  const rows = found.map((line) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, visible(line.question, 200)),
      h("td", {}, visible(line.result ?? "", 300)),
      h("td", { class: "n" }, visible(`${line.shown} ${line.interval ?? ""}`, 80)),
      h("td", {}, h("span", { class: `chip ${line.tone === "against" ? "against-use" : visible(line.tone, 30)}` }, inWords(line.tone))),
    ),
  );
  return h(
    "details",
    {},
    h("summary", {}, `All ${found.length} questions that were asked, with estimates and 95 % intervals`),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Questions and estimates" }, h("table", {}, h("thead", {}, h("tr", {}, ["Question", "Result", "Estimate", "For attention"].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows))),
  );
}

class Panels {
  constructor(plots, list) {
    this.offered = plots;
    this.list = list;
    this.drawn = new Map();
    this.element = h("div", { class: "panels" });
  }

  async open() {
    const shells = this.offered.map((plot) => h("figure", { class: "plot card", "data-plot": plot.name }, h("h3", {}, visible(plot.title, 160)), h("div", { class: "drawing" })));
    this.element.replaceChildren(...shells);
    await Promise.all(this.offered.map((plot, i) => this.draw(plot, shells[i])));
    this.mark();
  }

  async draw(plot, shell) {
    const where = shell.querySelector(".drawing");
    try {
      const found = await get(`${run}/plots/${encodeURIComponent(plot.name)}.json`);
      const panel = scatter(where, found, {
        open: (row) => location.assign(`${run}/texts/${row}`),
        choose: (range) => this.choose(plot.name, range),
        title: (point) => `text ${point.row}`,
      });
      this.drawn.set(plot.name, panel);
      const thinned = found.total > found.points.length ? `; ${count(found.points.length)} of them as points` : "";
      shell.append(
        h("figcaption", {}, found.classes?.length && found.classes.length <= 4 ? classKeys(found.classes) : "", `${count(found.total)} texts${thinned}. Press a point for its text; draw a rectangle for all inside it.`),
        this.byNumbers(found),
      );
    } catch (error) {
      fail(where, error);
    }
  }

  /** The same by keyboard: the ends of the rectangle as numbers. */
  byNumbers(plot) {
    const inputs = ["from", "to"].flatMap((end) => ["x", "y"].map((axis) => [axis, end, h("input", { type: "number", step: "any", "aria-label": `${visible(plot[axis].title, 60)}, ${end}` })]));
    const input = (axis, end) => inputs.find(([a, e]) => a === axis && e === end)[2];
    const send = (event) => {
      event.preventDefault();
      const range = ["x", "y"].flatMap((axis) => [["from", -1e9], ["to", 1e9]].map(([end, none]) => (input(axis, end).value === "" ? none : Number(input(axis, end).value))));
      this.choose(plot.name, range);
    };
    const part = (axis) => h("p", {}, h("small", {}, visible(plot[axis].title, 60)), " ", input(axis, "from"), " to ", input(axis, "to"));
    return h("details", {}, h("summary", {}, "choose by numbers"), h("form", { submit: send }, part("x"), part("y"), h("button", { type: "submit" }, "choose")));
  }

  choose(plot, range) {
    state.set({ sel: range ? `${plot}:${range.join(",")}` : null, page: null }, { push: true });
    this.mark();
    this.list.open();
    if (range) this.list.element.scrollIntoView({ block: "nearest" });
  }

  mark() {
    const chosen = parsedChoice(state.get("sel"));
    const rows = chosen && this.drawn.get(chosen.plot) ? new Set(this.drawn.get(chosen.plot).inside(chosen.range)) : null;
    for (const panel of this.drawn.values()) panel.mark(rows);
  }
}

start(async (main) => {
  const found = await get(`${run}.json`);
  const verdict = found.verdict ?? found;
  const list = new TextList();
  const panels = new Panels(found.plots ?? [], list);
  list.clear = () => panels.choose(null, null);
  const about = [found.corpus, found.model, found.attention, found.seed === undefined || found.seed === null ? null : `seed ${found.seed}`].filter(Boolean).join(" · ");
  main.replaceChildren(
    h("p", { class: "crumbs" }, h("a", { href: "/" }, "Runs"), ` › ${visible(found.id ?? run.split("/").at(-1), 80)}`),
    h("h1", {}, visible(verdict.headline ?? "This run has no verdict yet", 300)),
    h("p", { class: "lead" }, visible(about, 300), found.report ? [" · ", h("a", { href: `${run}/report` }, "the report")] : ""),
    verdict.goals ? answers(verdict.goals) : "",
    verdict.lines?.length ? lines(verdict.lines) : "",
    found.plots?.length ? h("section", { id: "plots" }, h("h2", {}, "Every point is a text"), panels.element) : "",
    list.element,
    h("section", { id: "own" }, h("h2", {}, "Your own text"), ownText({ second: ["pair", "answer"].includes(found.task), submit: (text, second) => location.assign(`${run}/read?${new URLSearchParams({ text, ...(second && { second }) })}`) })),
  );
  addEventListener("popstate", () => {
    panels.mark();
    list.open();
  });
  await Promise.all([panels.open(), list.open()]);
});
