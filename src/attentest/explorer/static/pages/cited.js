// An audit of sources: the verdict, what every method is worth, and the questions, paged and filtered by the address.
import { count, fail, get, h, number, start, state, visible } from "../base.js";
import { runPath } from "./parts.js";

const here = runPath();
const TONES = { supports: "supports", against: "against-use", mixed: "mixed", "too few": "context" };
const FILTERS = ["status", "kind", "missed"];

/** An estimate, and below it its interval and how many questions it stands on; a dash where there is none. */
function between(found, { percent = false, of = null } = {}) {
  const [value, low, high] = found.map((each) => (each === null ? null : percent ? 100 * each : each));
  if (value === null) return "–";
  const written = (each) => (each < 0 ? "−" : "") + Math.abs(each).toFixed(percent ? 0 : 2);
  const under = [low === null ? "" : `[${written(low)}, ${written(high)}]`, of === null ? "" : `of ${count(of)}`].filter(Boolean).join(" ");
  return [written(value), h("small", { class: "interval" }, under)];
}

function methodsOf(found) {
  const planted = found.methods.some((one) => one.counts.hits);
  const injected = found.methods.some((one) => one.counts.injected);
  const columns = [
    ["Of the largest fall", (one) => between(one.share, { of: one.counts.share })],
    ["Fall, nats", (one) => between(one.drop)],
    ["Held out", (one) => between(one.lds, { of: one.counts.lds })],
    planted && ["Hits, %", (one) => between(one.hits, { percent: true, of: one.counts.hits })],
    injected && ["Injected found, %", (one) => between(one.injected, { percent: true, of: one.counts.injected })],
    ["Passes", (one) => [number(one.passes, 0), h("small", { class: "interval" }, `${number(one.seconds, 2)} s`)]],
  ].filter(Boolean);
  const row = (one) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, visible(one.name, 80), h("small", { class: "under" }, visible(one.reading, 300))),
      h("td", {}, h("span", { class: `chip ${TONES[one.tone] ?? "context"}` }, visible(one.tone, 30))),
      columns.map(([, cell]) => h("td", { class: "n" }, cell(one))),
    );
  const heads = ["Method", "Verdict", ...columns.map(([head]) => head)];
  const drawn = (label, rows) => h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, h("table", { class: "methods" }, h("thead", {}, h("tr", {}, heads.map((head, i) => h("th", { scope: "col", class: i > 1 ? "n" : null }, head)))), h("tbody", {}, rows.map(row))));
  return h(
    "section",
    { id: "methods" },
    h("h2", {}, "What every method is worth"),
    drawn("Methods", found.methods),
    h("p", { class: "small" }, "Of the largest fall: without the source that matters most, the answer is less probable; of that fall of its log-probability, the share that leaving out the method’s first source has. Leave-one-out has all of it by definition. Held out: Spearman’s correlation of what a method predicts and what happens when some sources are left out that nothing was fitted on. Intervals of 95 % over questions. ", visible(found.of_layers ?? "", 300)),
    found.layers.length ? h("details", {}, h("summary", {}, `The attention of each of ${count(found.layers.length)} layers alone, heads averaged`), drawn("Layers", found.layers)) : "",
  );
}

class Questions {
  constructor(audit) {
    this.audit = audit;
    this.body = h("div", {});
    this.element = h("section", { id: "questions" }, h("h2", {}, "Questions"), this.body);
    this.asked = 0;
  }

  async open() {
    const mine = (this.asked += 1);
    const query = new URLSearchParams();
    for (const name of [...FILTERS, "page"]) if (state.get(name)) query.set(name, state.get(name));
    try {
      const found = await get(`${here}/questions.json?${query}`);
      if (mine === this.asked) this.draw(found);
    } catch (error) {
      if (mine === this.asked) {
        this.body.replaceChildren(this.controls(null));
        fail(this.body, error);
      }
    }
  }

  async set(changes) {
    const used = document.activeElement?.dataset?.filter;
    state.set({ page: null, ...changes }, { push: true });
    await this.open();
    if (used) this.body.querySelector(`[data-filter="${used}"]`)?.focus();
  }

  controls(found) {
    const { statuses, kinds, methods } = this.audit;
    const choices = {
      status: ["where the answer", Object.entries(statuses)],
      kind: ["planted", kinds.map((kind) => [kind, visible(kind, 60)])],
      missed: ["where another source than the one that matters most is first, by", methods.map((one) => [one.method, visible(one.name, 60)])],
    };
    const selects = FILTERS.filter((name) => choices[name][1].length).map((name) => {
      const select = h("select", { "data-filter": name, change: (event) => this.set({ [name]: event.target.value }) }, h("option", { value: "" }, "any"), choices[name][1].map(([value, label]) => h("option", { value }, label)));
      select.value = state.get(name) ?? "";
      return h("label", {}, `${choices[name][0]} `, select);
    });
    const clear = FILTERS.some((name) => state.get(name)) ? h("button", { type: "button", click: () => this.set({ status: null, kind: null, missed: null }) }, "all questions") : "";
    const said = found ? `${count(found.total)}${found.total === found.questions ? "" : ` of ${count(found.questions)}`} questions` : "";
    return h("form", { class: "line", role: "search", "aria-label": "Filter the questions", submit: (event) => event.preventDefault() }, h("b", { role: "status" }, said), selects, clear);
  }

  draw(found) {
    const rows = found.rows.map((one) =>
      h(
        "tr",
        {},
        h("td", { class: "clip", dir: "auto" }, h("a", { href: `${here}/questions/${one.row}` }, visible(one.question || one.id, 240))),
        h("td", { class: "clip", dir: "auto", "data-head": "answer" }, visible(one.answer, 160)),
        h("td", { "data-head": "its answer" }, visible(one.status_in_words, 80)),
        h("td", { "data-head": "planted" }, visible(one.kind, 40)),
        h("td", { class: "n", "data-head": "fall without any source" }, number(one.fall, 2)),
        h("td", { class: "n", "data-head": "matters most" }, one.most_drop > 0 ? [`${one.most + 1} of ${one.sources}`, h("small", {}, ` (${number(one.most_drop, 2)})`)] : "–"),
      ),
    );
    const heads = ["Question", "Answer", "Where it came from", "Planted", "Fall without any, nats", "Source that matters most (fall)"];
    const to = (at, label) => h("button", { type: "button", disabled: at < 1 || at > found.pages, click: () => this.set({ page: at }) }, label);
    this.body.replaceChildren(
      this.controls(found),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Questions" }, h("table", { class: "stack" }, h("thead", {}, h("tr", {}, heads.map((head, i) => h("th", { scope: "col", class: i > 3 ? "n" : null }, head)))), h("tbody", {}, rows))),
      found.pages > 1 ? h("nav", { class: "pager", "aria-label": "Pages of questions" }, to(found.page - 1, "earlier"), `page ${count(found.page)} of ${count(found.pages)}`, to(found.page + 1, "later")) : "",
    );
  }
}

start(async (main) => {
  const found = await get(`${here}.json`);
  const questions = new Questions(found);
  main.replaceChildren(
    h("p", { class: "crumbs" }, h("a", { href: "/sources" }, "Sources"), ` › ${visible(found.id, 80)}`),
    h("h1", {}, visible(found.headline, 300)),
    h("p", { class: "lead" }, h("b", {}, visible(found.model, 160)), ` · ${visible(found.came_from, 400)}`, found.report ? [" ", h("a", { href: `${here}/report` }, "The report")] : ""),
    methodsOf(found),
    questions.element,
  );
  addEventListener("popstate", () => questions.open());
  await questions.open();
});
