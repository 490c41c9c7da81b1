// One question over sources: every passage shaded by a method, all methods beside each other, what happens without each.
import { count, direction, get, h, number, percent, roving, start, state, visible } from "../base.js";
import { heatmap, isSigned, legendOf, shades } from "../heatmap.js";
import { runPath, twin } from "./parts.js";

const here = runPath();
const LONGEST = 4000;
const SAID = {
  sources: "This answer hangs on its sources",
  known: "The model knew this answer anyway, without its sources",
  none: "No source mattered for this answer, and the model did not know it",
};

const judged = (found) => found.methods.filter((one) => one.scores.length);

/** The method of the address, or the first; leaving out is a method too, under this name. */
const chosen = (found) => judged(found).find((one) => one.method === state.get("method")) ?? judged(found)[0] ?? null;

/** By how much the answer falls without a source: the sum over its words, where words were left out one by one. */
function fallOf(found, source) {
  return found.drops.reduce((sum, drop, item) => (found.of_source[item] === source ? sum + drop : sum), 0);
}

function said(fall) {
  return `${fall >= 0 ? "falls by" : "rises by"} ${number(Math.abs(fall), 2)} without it`;
}

/** The passages, shaded by one method. */
function passages(found, method) {
  const scores = method?.scores ?? found.items.map(() => 0);
  const shade = shades(scores);
  const hue = (item) => (isSigned(scores) ? (shade[item] < 0 ? "against" : "for") : "most");
  const words = found.items.length !== found.sources.length;
  const piece = (item) => {
    const style = { "--a": (0.9 * Math.abs(shade[item])).toFixed(3) };
    const value = method && h("span", { class: "value" }, ` ${number(scores[item])} `);
    return [h("span", { class: `heat ${hue(item)} token`, style, tabindex: -1 }, visible(found.items[item], LONGEST), value), " "];
  };
  const list = h(
    "ol",
    { class: "passages" },
    found.sources.map((_, source) => {
      const items = found.of_source.flatMap((of, item) => (of === source ? [item] : []));
      const marks = [
        method && method.first_source === source && h("span", { class: "chip context" }, `first by ${visible(method.name, 60)}`),
        found.deciding.includes(source) && h("span", { class: "chip supports" }, "decides, by exchange"),
        !found.deciding.includes(source) && found.planted.includes(source) && h("span", { class: "chip context" }, "planted"),
        found.injected === source && h("span", { class: "chip against-use" }, "injected instruction"),
      ].filter(Boolean);
      const score = words ? "" : `score ${number(scores[items[0]])} · `;
      return h(
        "li",
        { id: `source-${source + 1}`, tabindex: -1 },
        h("p", { class: "text", dir: direction(items.map((item) => found.items[item])) }, items.flatMap(piece)),
        h("p", { class: "small" }, method ? score : "", `the answer ${said(fallOf(found, source))}${words ? " (its words left out one by one)" : ""} `, marks.flatMap((mark) => [mark, " "])),
      );
    }),
  );
  roving(list, ".token", { along: list });
  return list;
}

class Question {
  constructor(main, found) {
    this.main = main;
    this.found = found;
    this.shaded = h("div", {});
    this.worth = h("tbody", {});
  }

  draw() {
    const { found } = this;
    const to = (row, label) => (row >= 0 && row < found.questions ? h("a", { href: `${here}/questions/${row}${location.search}` }, label) : h("span", { class: "small" }, label));
    const rest = Object.entries(found.elsewhere).map(([name, share]) => `${name} ${percent(share, 0)}`).join(", ");
    const maps = h("div", {});
    this.main.replaceChildren(
      h("p", { class: "crumbs" }, h("a", { href: "/sources" }, "Sources"), " › ", h("a", { href: here }, visible(found.audit, 80)), ` › question ${visible(found.id, 60)}`),
      h("h1", { dir: "auto" }, visible(found.question, 1000)),
      h("p", { class: "said", dir: "auto" }, "“", visible(found.answer, LONGEST), "”"),
      h("p", { class: "lead" }, `${SAID[found.status]}. `, `Its log-probability is ${number(found.whole, 2)} with all sources and ${number(found.without_any, 2)} with none.`, found.span && found.span !== found.answer ? [" Explained is ", h("b", { dir: "auto" }, `“${visible(found.span, 300)}”`), "."] : "", found.kind ? ` Planted: ${visible(found.kind, 60)}.` : ""),
      h("nav", { class: "pager", "aria-label": "Questions" }, to(found.row - 1, "earlier question"), `question ${count(found.row + 1)} of ${count(found.questions)}`, to(found.row + 1, "later question")),
      h("section", { id: "sources" }, h("h2", {}, "Its sources"), this.control(), this.shaded),
      h(
        "section",
        { id: "methods" },
        h("h2", {}, "What every method says of each"),
        maps,
        h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "What every method is worth here" }, h("table", { class: "methods" }, h("thead", {}, h("tr", {}, ["Method", "Its first source", "Fall without that", "Of the largest fall", "Held out", "Passes", "Seconds"].map((head, i) => h("th", { scope: "col", class: i > 1 ? "n" : null }, head)))), this.worth)),
        rest ? h("p", { class: "small" }, `What the answer’s tokens attend to beside the sources, over all layers and heads: ${rest}.`) : "",
      ),
      this.layersPart(),
    );
    this.drawShaded();
    this.drawWorth();
    this.drawMaps(maps);
  }

  control() {
    const options = judged(this.found).map((one) => h("option", { value: one.method }, visible(one.name, 80)));
    if (!options.length) return h("p", {}, "No method gave scores for this question.");
    const select = h("select", { id: "method", change: (event) => this.choose(event.target.value) }, options);
    select.value = chosen(this.found).method;
    this.select = select;
    return h("div", { class: "line" }, h("label", {}, "shaded by ", select));
  }

  choose(method) {
    state.set({ method }, { push: true });
    this.follow();
  }

  /** Show what the address says. */
  follow() {
    if (this.select) this.select.value = chosen(this.found).method;
    this.drawShaded();
    this.drawWorth();
  }

  drawShaded() {
    const method = chosen(this.found);
    const rows = method ? [{ ...method, signed: isSigned(method.scores) }] : [];
    this.shaded.replaceChildren(passages(this.found, method), method ? legendOf(rows, "the answer", "Hover over a passage, or walk there with the arrow keys, for the number.") : "");
  }

  drawWorth() {
    const now = chosen(this.found)?.method;
    const row = (one) => {
      const press = one.scores.length ? h("button", { class: "link", type: "button", click: () => this.choose(one.method) }, visible(one.name, 80)) : visible(one.name, 80);
      if (!one.scores.length) return h("tr", {}, h("th", { scope: "row" }, press), h("td", { colspan: 6 }, visible(one.not_judged ?? "no scores", 300)));
      return h(
        "tr",
        { class: one.method === now ? "chosen" : null },
        h("th", { scope: "row" }, press),
        h("td", { class: "first" }, h("a", { href: `#source-${one.first_source + 1}` }, `source ${one.first_source + 1}`), one.hit === null ? "" : one.hit ? ", which decides" : ", which does not decide"),
        h("td", { class: "n" }, number(one.drop, 2)),
        h("td", { class: "n" }, number(one.share, 2)),
        h("td", { class: "n" }, number(one.lds, 2)),
        h("td", { class: "n" }, count(one.passes)),
        h("td", { class: "n" }, number(one.seconds, 2)),
      );
    };
    const focused = document.activeElement?.closest?.("#methods tbody tr");
    const place = focused ? [...this.worth.children].indexOf(focused) : -1;
    this.worth.replaceChildren(...this.found.methods.map(row));
    if (place >= 0) this.worth.children[place].querySelector("button")?.focus();
  }

  tokens() {
    const { items, sources } = this.found;
    return items.length === sources.length ? items.map((_, item) => `source ${item + 1}`) : items;
  }

  drawMaps(where) {
    const { found } = this;
    const rows = [{ name: "fall without it", scores: found.drops }, ...judged(found)].map((one) => ({ name: one.name, scores: one.scores }));
    const go = (place) => {
      const one = document.getElementById(`source-${found.of_source[place] + 1}`);
      one.scrollIntoView({ block: "center" });
      one.focus({ preventScroll: true });
    };
    heatmap(where, { tokens: this.tokens(), rows, numbers: found.items.length === found.sources.length, onWord: go, label: "Methods by sources", whose: "the answer", names: 210 });
  }

  layersPart() {
    const { layers } = this.found;
    if (!layers.length) return "";
    const where = h("div", {});
    const part = h("details", { toggle: () => part.open && !where.firstChild && heatmap(where, { tokens: this.tokens(), rows: layers.map((scores, layer) => ({ name: `layer ${layer + 1}`, scores })), label: "Layers by sources" }) }, h("summary", {}, `The attention of each of ${count(layers.length)} layers, heads averaged`), where);
    return h("section", { id: "layers" }, part);
  }
}

start(async (main) => {
  const question = new Question(main, await get(twin()));
  question.draw();
  addEventListener("popstate", () => question.follow());
});
