// Source × target: what every step of writing weighs. A step can be opened.
import { direction, h, number, visibleToken } from "./base.js";
import { shades, walk } from "./heatmap.js";

/** The matrix of {source, target, written, weights, rows} as a table; open(step): a step was pressed. */
export function matrix(container, { source, target, written, weights }, { step = 0, open = null } = {}) {
  const row = (scores, i) => {
    const shade = shades(scores);
    const name = visibleToken(target[i] ?? "", 24);
    const other = written?.[i] !== undefined && written[i] !== null && written[i] !== target[i] ? ` (would write ${visibleToken(written[i], 24)})` : "";
    const head = open ? h("button", { type: "button", "aria-current": i === step ? "true" : null, title: `Step ${i + 1}${other}`, click: () => open(i) }, name) : name;
    return h(
      "tr",
      { class: i === step ? "chosen" : null },
      h("th", { scope: "row" }, head),
      scores.map((score, place) => h("td", { class: "heat most", tabindex: -1, style: { "--a": Math.abs(shade[place]).toFixed(3) } }, h("span", { class: "value" }, number(score)))),
    );
  };
  const table = h(
    "table",
    { class: "matrix", dir: direction(source) },
    h("caption", { class: "unseen" }, "Rows: words written. Columns: words read. Shade: the share of the largest weight in the row."),
    h("thead", {}, h("tr", {}, h("td", {}), source.map((token) => h("th", { scope: "col" }, h("span", { dir: "auto" }, visibleToken(token, 24)))))),
    h("tbody", {}, weights.map(row)),
  );
  container.replaceChildren(h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Weights of every step" }, table));
  walk(table);
}
