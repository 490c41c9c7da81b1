// A list of texts: paged, in any order, all or those chosen in a plot; its state stands in the address.
import { count, fail, get, h, inWords, number, state, visible } from "../base.js";
import { askedChoice, parsedChoice } from "../lasso.js";
import { runPath } from "./parts.js";

const run = runPath();

export class TextList {
  constructor() {
    this.element = h("section", { id: "texts" }, h("h2", {}, "Texts"));
    this.body = h("div", {});
    this.element.append(this.body);
    this.asked = 0;
  }

  query() {
    const query = new URLSearchParams({ size: "25" });
    for (const name of ["sort", "grade", "page"]) if (state.get(name)) query.set(name, state.get(name));
    const chosen = parsedChoice(state.get("sel"));
    for (const [name, value] of Object.entries(chosen ? askedChoice(chosen) : {})) query.set(name, value);
    return query;
  }

  async open() {
    const mine = (this.asked += 1);
    try {
      const found = await get(`${run}/texts.json?${this.query()}`);
      if (mine === this.asked) this.draw(found, parsedChoice(state.get("sel")));
    } catch (error) {
      this.told?.(null);
      fail(this.body, error);
    }
  }

  set(changes) {
    state.set({ page: null, ...changes }, { push: true });
    return this.open();
  }

  draw(found, chosen) {
    const what = chosen ? `${count(found.total)} of ${count(found.texts)} texts chosen in the plot` : `${count(found.total)} texts`;
    this.told?.(chosen ? what : null);
    const name = (value) => (value === null || value === undefined ? "–" : visible(found.classes?.[value] ?? value, 40));
    const rows = found.rows.map((text) =>
      h(
        "tr",
        {},
        h("td", { class: "clip", dir: "auto" }, h("a", { href: `${run}/texts/${text.row}` }, visible(text.excerpt || text.id || `text ${text.row}`, 240))),
        h("td", { "data-head": "predicted" }, text.written ?? name(text.predicted)),
        h("td", { "data-head": "label" }, text.word ?? name(text.label)),
        h("td", { class: "n", "data-head": "confidence" }, number(text.confidence)),
        h("td", {}, text.grade ? h("span", { class: `chip ${text.tone === "against" ? "against-use" : visible(text.tone ?? "", 30)}` }, visible(text.grade, 60)) : ""),
      ),
    );
    const heads = ["Text", "Predicted", "Label", "Confidence", "Attention"].map((head, i) => h("th", { scope: "col", class: i === 3 ? "n" : null }, head));
    this.body.replaceChildren(
      this.controls(found, chosen, what),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Texts" }, h("table", { class: "stack" }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows))),
      this.pager(found),
    );
  }

  controls(found, chosen, what) {
    const sort = state.get("sort") ?? "";
    const options = found.sorts.flatMap((key) => (key === "row" ? [["", "as in the corpus"]] : [[key, `${inWords(key)}, rising`], [`-${key}`, `${inWords(key)}, falling`]]));
    const select = h("select", { change: (event) => this.set({ sort: event.target.value }) }, options.map(([value, label]) => h("option", { value }, label)));
    select.value = sort;
    return h("div", { class: "line" }, h("b", { id: "how-many", role: "status" }, what), chosen ? h("button", { type: "button", click: () => (this.clear ?? (() => this.set({ sel: null })))() }, "all texts") : "", h("label", {}, "in the order of ", select));
  }

  pager({ page, pages }) {
    const to = (at, label) => h("button", { type: "button", disabled: at < 1 || at > pages, click: () => this.set({ page: at }) }, label);
    return pages > 1 ? h("nav", { class: "pager", "aria-label": "Pages of texts" }, to(page - 1, "earlier"), `page ${count(page)} of ${count(pages)}`, to(page + 1, "later")) : "";
  }
}
