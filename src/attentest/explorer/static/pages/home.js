// The folder of runs: studies as grids, papers with their claims, and a list of runs with filters in the address.
import { count, fail, get, h, inWords, number, start, state, visible } from "../base.js";
import { gridOf } from "./grid.js";
import { tone } from "./parts.js";

const FILTERS = ["paper", "study", "corpus", "model", "attention", "seed", "verdict"];
const USES = { reason: "say which words mattered", check: "check where the model looks", one: "give the one reason" };
const ANSWERS = ["yes", "with care", "no", "cannot say"];
const PAGE = 100;
/** A study of more runs is drawn on its own page alone: every picture reads the findings of a run. */
const MOST = 200;

const asked = () => {
  const query = new URLSearchParams();
  for (const name of FILTERS) if (state.get(name)) query.set(name, state.get(name));
  return query;
};

class Home {
  constructor(main) {
    this.main = main;
    this.list = h("section", { id: "runs" });
    this.filters = h("form", { class: "line", id: "filters", role: "search", "aria-label": "Filter the runs", submit: (event) => event.preventDefault() });
    this.title = h("h1", {});
    this.studies = h("div", {});
    this.grid = h("div", { id: "grid" });
    this.papers = h("div", {});
    this.count = h("b", { role: "status" });
  }

  async open() {
    this.found = await get(`/home.json?${asked()}`);
    this.drawHead();
    this.drawFilters();
    this.drawList();
    this.main.replaceChildren(this.title, this.studies, this.grid, h("h2", {}, "Runs"), this.filters, this.list, this.papers);
    this.wait(0);
    this.drawGrid();
  }

  /** The grid of the study in the address, or the first; it comes after the page, which waits for no plot. */
  async drawGrid() {
    const study = this.found.studies.find((each) => each.study === state.get("study")) ?? this.found.studies[0];
    if (!study || study.done > MOST) return this.grid.replaceChildren();
    const change = async () => {
      await this.drawGrid();
      this.grid.querySelector("#experiment").focus();
    };
    try {
      const { found, parts } = await gridOf(`/studies/${encodeURIComponent(study.study)}`, change);
      this.grid.replaceChildren(h("h3", { class: this.found.studies.length > 1 ? null : "unseen" }, visible(found.title || found.study, 200)), ...parts);
    } catch (error) {
      fail(this.grid, error);
    }
  }

  /** Verdicts are read in the background; ask again while some are missing. */
  wait(times) {
    if (!this.found.judging || times > 60) return;
    setTimeout(async () => {
      this.found = await get(`/home.json?${asked()}`);
      this.drawList();
      this.wait(times + 1);
    }, 1500);
  }

  drawHead() {
    const { total, studies, papers } = this.found;
    this.title.textContent = total ? `${count(total)} ${total === 1 ? "run" : "runs"} to look into` : "No run is here yet";
    const claimed = papers.filter((paper) => Object.keys(paper.claims).length);
    this.studies.replaceChildren(
      total ? "" : h("p", { class: "lead" }, "Run ", h("code", {}, "attentest audit"), " in this folder, and reload the page."),
      studies.length || total > 1 ? h("section", { id: "studies" }, h("h2", {}, "Studies"), h("ul", { class: "plain" }, h("li", {}, h("a", { href: "/studies/all" }, "All runs as a grid")), studies.map((study) => h("li", {}, h("a", { href: `/studies/${encodeURIComponent(study.study)}` }, visible(study.title || study.study, 120)), h("small", {}, ` ${count(study.done)} of ${count(study.cells)} runs are here`))))) : "",
    );
    this.papers.replaceChildren(
      claimed.length ? h("section", { id: "papers" }, h("h2", {}, "Papers"), h("div", { class: "cards" }, claimed.map((paper) => this.paper(paper)))) : "",
    );
  }

  paper({ name, title, citation, claims }) {
    const said = Object.entries(claims).sort((a, b) => b[1] - a[1]).map(([status, found]) => `${count(found)} ${inWords(status)}`).join(", ");
    return h("article", { class: "card" }, h("h3", {}, h("a", { href: `/claims/${encodeURIComponent(name)}` }, visible(title, 160))), h("p", { class: "small" }, visible(citation, 160)), h("p", { class: "small" }, `Claims against findings: ${said}`));
  }

  drawFilters() {
    const { choices } = this.found;
    const selects = FILTERS.filter((name) => name === "verdict" || choices[name]?.length > 1 || state.get(name)).map((name) => {
      const options = name === "verdict" ? Object.keys(USES).flatMap((use) => ANSWERS.map((answer) => [`${use}:${answer}`, `${USES[use]}: ${answer}`])) : [...new Set([...(choices[name] ?? []), ...(state.get(name) ? [state.get(name)] : [])])].map((value) => [value, visible(value, 60)]);
      const select = h("select", { "data-filter": name, change: (event) => this.filter({ [name]: event.target.value }) }, h("option", { value: "" }, "any"), options.map(([value, label]) => h("option", { value }, label)));
      select.value = state.get(name) ?? "";
      return h("label", {}, `${name} `, select);
    });
    const clear = h("button", { type: "button", click: () => this.filter(Object.fromEntries(FILTERS.map((name) => [name, null]))) }, "all runs");
    this.filters.replaceChildren(this.count, ...selects, asked().size ? clear : "");
  }

  async filter(changes) {
    const used = document.activeElement?.dataset?.filter;
    state.set({ ...changes, page: null }, { push: true });
    await this.refresh();
    (this.filters.querySelector(`[data-filter="${used}"]`) ?? this.filters.querySelector("select"))?.focus();
  }

  async refresh() {
    this.found = await get(`/home.json?${asked()}`);
    this.drawFilters();
    this.drawList();
    this.drawGrid();
  }

  drawList() {
    const { runs, total, judging } = this.found;
    const page = Math.max(1, Number(state.get("page")) || 1);
    const shown = runs.slice((page - 1) * PAGE, page * PAGE);
    this.count.textContent = `${count(runs.length)}${runs.length === total ? "" : ` of ${count(total)}`} runs${judging ? `; ${count(judging)} verdicts are being read` : ""}`;
    const heads = ["Run", "Corpus", "Model and attention", "Seed", "Texts", "Score"];
    const first = h("tr", {}, heads.map((head, i) => h("th", { scope: "col", rowspan: 2, class: i > 2 ? "n" : null }, head)), h("th", { scope: "colgroup", colspan: 3 }, "May its attention …"));
    const second = h("tr", {}, Object.values(USES).map((use) => h("th", { scope: "col" }, `${use}?`)));
    const to = (at, label) => h("button", { type: "button", disabled: at < 1 || (at - 1) * PAGE >= runs.length, click: () => (state.set({ page: at }, { push: true }), this.drawList()) }, label);
    this.list.replaceChildren(
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Runs" }, h("table", { class: "runs stack" }, h("thead", {}, first, second), h("tbody", {}, shown.map((run) => this.row(run))))),
      runs.length > PAGE ? h("nav", { class: "pager", "aria-label": "Pages of runs" }, to(page - 1, "earlier"), `page ${page} of ${Math.ceil(runs.length / PAGE)}`, to(page + 1, "later")) : "",
    );
  }

  row(run) {
    const answers = Object.keys(USES).map((use) => h("td", { "data-head": `may it ${USES[use]}` }, run.answers ? h("span", { class: `chip ${tone(run.answers[use])}` }, visible(run.answers[use], 30)) : h("span", { class: "small", title: run.unjudged ? visible(run.unjudged, 300) : null }, run.problem || run.unjudged ? "–" : "…")));
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, run.problem ? h("span", { title: visible(run.problem, 300) }, `${visible(run.id, 80)} (cannot be read)`) : h("a", { href: `/runs/${encodeURIComponent(run.id)}` }, visible(run.id, 80))),
      h("td", { "data-head": "corpus" }, visible(run.corpus, 60)),
      h("td", { "data-head": "model", title: visible(run.model, 200) }, visible(run.model, 44), run.attention ? h("small", {}, ` ${visible(run.attention, 40)}`) : ""),
      h("td", { class: "n", "data-head": "seed" }, run.seed === null || run.seed === undefined ? "" : String(run.seed)),
      h("td", { class: "n", "data-head": "texts" }, count(run.texts)),
      h("td", { class: "n", "data-head": "score", title: run.score ? visible(run.score.name, 60) : null }, run.score ? number(run.score.value) : ""),
      ...answers,
    );
  }
}

start(async (main) => {
  const home = new Home(main);
  await home.open();
  addEventListener("popstate", () => home.refresh());
});
