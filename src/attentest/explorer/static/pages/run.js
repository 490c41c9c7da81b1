// One run: what its verdict answers, the lines behind it, plots whose points are texts, and the texts.
import { count, fail, get, h, inWords, start, state, visible } from "../base.js";
import { parsedChoice, writtenChoice } from "../lasso.js";
import { classKeys, scatter } from "../plot.js";
import { TextList } from "./list.js";
import { ownText, runPath, tone } from "./parts.js";

const run = runPath();
const DRAW = matchMedia("(pointer: coarse)").matches ? "begin sideways" : "with Shift, a rectangle";
const HOW = `Press a point to open its text. Draw around some (${DRAW}) to choose them: they are marked in every plot and listed below.`;

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
    this.chosen = h("p", { class: "selection", hidden: true });
    list.told = (line) => this.tell(line);
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
        choose: (selection) => this.choose(plot.name, selection),
        title: (point) => `text ${point.row}`,
      });
      this.drawn.set(plot.name, panel);
      const thinned = found.total > found.points.length ? `; ${count(found.points.length)} of them as points` : "";
      shell.append(
        h("figcaption", {}, found.classes?.length && found.classes.length <= 4 ? classKeys(found.classes) : "", `${count(found.total)} texts${thinned}.`),
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
      this.choose(plot.name, { range });
    };
    const part = (axis) => h("p", {}, h("small", {}, visible(plot[axis].title, 60)), " ", input(axis, "from"), " to ", input(axis, "to"));
    return h("details", {}, h("summary", {}, "choose by numbers"), h("form", { submit: send }, part("x"), part("y"), h("button", { type: "submit" }, "choose")));
  }

  choose(plot, selection) {
    state.set({ sel: selection ? writtenChoice({ plot, ...selection }) : null, page: null }, { push: true });
    this.mark();
    this.list.open();
  }

  /** Say below the plots, always in view, how many are chosen; the page stays where it is, and all plots can be compared. */
  tell(line) {
    const show = () => {
      this.list.element.scrollIntoView({ block: "start" });
      this.list.element.querySelector("td a")?.focus({ preventScroll: true });
    };
    this.chosen.hidden = !line;
    this.chosen.replaceChildren(h("b", {}, line ?? ""), h("button", { type: "button", click: show }, "go to them"), h("button", { type: "button", click: () => this.choose(null, null) }, "clear"));
  }

  mark() {
    const chosen = parsedChoice(state.get("sel"));
    const rows = chosen && this.drawn.get(chosen.plot) ? new Set(this.drawn.get(chosen.plot).inside(chosen)) : null;
    for (const [name, panel] of this.drawn) {
      panel.mark(rows);
      panel.outline(chosen?.plot === name ? chosen : null);
    }
  }
}

/** The answer: the verdict where it was read, or that it is being read. */
function verdictOf(found) {
  const { verdict } = found;
  if (!verdict) {
    const line = found.judging ? "The verdict is being read …" : "This run has no verdict";
    return [h("h1", {}, line), found.problem ? h("p", { class: "lead" }, visible(found.problem, 400)) : ""];
  }
  return [h("h1", {}, visible(verdict.headline, 300)), answers(verdict.goals ?? []), verdict.lines?.length ? lines(verdict.lines) : ""];
}

/** Ask again while the verdict is being read; of very many texts that takes minutes. */
function waitFor(where, times = 0) {
  if (times > 400) return;
  setTimeout(async () => {
    const found = await get(`${run}.json`);
    if (found.judging) waitFor(where, times + 1);
    else where.replaceChildren(...verdictOf(found));
  }, Math.min(700 + 100 * times, 5000));
}

start(async (main) => {
  const found = await get(`${run}.json`);
  const list = new TextList();
  const panels = new Panels(found.plots ?? [], list);
  list.clear = () => panels.choose(null, null);
  const about = [found.corpus, found.model, found.attention, found.seed === undefined || found.seed === null ? null : `seed ${found.seed}`].filter(Boolean).join(" · ");
  const verdict = h("section", { id: "verdict", "aria-live": "polite" }, verdictOf(found));
  const own = (text, second) => location.assign(`${run}/read?${new URLSearchParams({ text, ...(second && { second }) })}`);
  main.replaceChildren(
    h("p", { class: "crumbs" }, h("a", { href: "/" }, "Runs"), ` › ${visible(found.id ?? run.split("/").at(-1), 80)}`),
    h("p", { class: "lead" }, visible(about, 300), found.report ? [" · ", h("a", { href: `${run}/report` }, "the report")] : ""),
    verdict,
    found.plots?.length ? h("section", { id: "plots" }, h("h2", {}, "Every point is a text"), h("p", { class: "small" }, HOW), panels.element, panels.chosen) : "",
    list.element,
    h("section", { id: "own" }, h("h2", {}, "Your own text"), ownText({ second: ["pair", "answer"].includes(found.task), submit: own })),
  );
  if (found.judging) waitFor(verdict);
  addEventListener("popstate", () => {
    panels.mark();
    list.open();
  });
  await Promise.all([panels.open(), list.open()]);
});
