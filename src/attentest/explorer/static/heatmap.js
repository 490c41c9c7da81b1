// Words shaded by scores: one hue for sizes, two for scores with a sign. Several explainers stand aligned word by word.
import { direction, h, inWords, number, roving, visible, visibleToken } from "./base.js";

const LONGEST = 36; // characters of a word in an aligned column; the whole word is in its title

/** Whether any score lies below zero. */
export const isSigned = (scores) => scores.some((score) => score < 0);

/** Every score as a share of the largest, from −1 to 1; 0 where it is not a number. */
export function shades(scores) {
  const largest = scores.reduce((most, score) => (Number.isFinite(score) ? Math.max(most, Math.abs(score)) : most), 0);
  return scores.map((score) => (Number.isFinite(score) && largest > 0 ? score / largest : 0));
}

const hue = (row, shade) => (row.signed ? (shade < 0 ? "against" : "for") : (row.hue ?? "most"));

const shaded = (row, place) => ({
  class: `heat ${hue(row, row.shades[place])}`,
  style: { "--a": Math.abs(row.shades[place]).toFixed(3) },
});

/**
 * Draw heat maps into a container.
 *
 * tokens: the words. rows: [{name, scores, signed?, hue?, what?}], one a map. mode: "aligned" or "texts".
 * onWord(place, button): what a press on a word does; without it words are text. numbers: always shown.
 * whose: what a score with a sign speaks for. names: pixels of the column with the names of rows, at most.
 */
export function heatmap(container, { tokens, rows, mode = "aligned", onWord = null, numbers = false, legend = true, label = "Heat maps", whose = "the class", names = 150 }) {
  const known = rows
    .filter((row) => row.scores?.length === tokens.length)
    .map((row) => ({ ...row, signed: row.signed ?? isSigned(row.scores), shades: shades(row.scores) }));
  const body = h("div", { class: `heatmap ${mode}${numbers ? " numbered" : ""}`, role: "group", "aria-label": label });
  container.replaceChildren(body, ...(legend ? [legendOf(known, whose)] : []));
  if (mode === "texts") texts(body, tokens, known, onWord);
  else aligned(body, tokens, known, onWord, names);
  return body;
}

/** What the shades mean. */
export function legendOf(rows, whose = "the class", how = "Hover over a cell, or walk there with the arrow keys, for the number.") {
  const some = rows.some((row) => row.signed);
  const sizes = rows.some((row) => !row.signed);
  return h(
    "p",
    { class: "legend" },
    "Shade: the score as a share of the largest in its row. ",
    sizes && h("span", { class: "key" }, h("span", { class: "ramp most" }), " a size."), // the space stands outside, where a line may break
    " ",
    some && h("span", { class: "key" }, h("span", { class: "ramp both" }), ` against · for ${whose}.`),
    " ",
    how,
  );
}

function texts(body, tokens, rows, onWord) {
  for (const row of rows) {
    const words = tokens.map((token, place) => {
      const value = h("span", { class: "value" }, ` ${number(row.scores[place])} `);
      const { class: name, style } = shaded(row, place);
      const act = onWord && { click: (event) => onWord(place, event.currentTarget) };
      return h(onWord ? "button" : "span", { class: `${name} token`, style, tabindex: -1, dir: "auto", ...act }, visibleToken(token), value);
    });
    const text = h("p", { class: "text", dir: direction(tokens) }, words.flatMap((word) => [word, " "]));
    roving(text, ".token");
    body.append(h("section", { class: "map" }, h("h4", {}, inWords(row.name)), text));
  }
}

function aligned(body, tokens, rows, onWord, most) {
  let width = 0;
  const draw = () => {
    const now = body.clientWidth;
    if (!now || Math.abs(now - width) < 2) return;
    width = now;
    const names = Math.min(most, Math.max(74, now * (most > 150 ? 0.24 : 0.17)));
    body.style.setProperty("--names", `${names}px`);
    const measure = h("div", { class: "measure", "aria-hidden": "true" }, tokens.map((token) => h("span", { class: "column" }, visibleToken(token, LONGEST))));
    body.replaceChildren(measure);
    const room = now - names - 2;
    const widths = [...measure.children].map((one) => Math.min(one.getBoundingClientRect().width, room));
    const lines = broken(widths, room);
    body.replaceChildren(...lines.map(([from, to]) => lineOf(tokens, rows, widths, from, to, onWord)));
    roving(body, "button.column");
    walk(body);
  };
  draw();
  new ResizeObserver(draw).observe(body);
}

/** Where lines begin and end, so that none is wider than there is room. */
export function broken(widths, room) {
  const lines = [];
  let from = 0;
  let used = 0;
  widths.forEach((width, place) => {
    if (place > from && used + width > room) {
      lines.push([from, place]);
      from = place;
      used = 0;
    }
    used += width;
  });
  if (from < widths.length) lines.push([from, widths.length]);
  return lines;
}

function lineOf(tokens, rows, widths, from, to, onWord) {
  const places = Array.from({ length: to - from }, (_, i) => from + i);
  const columns = h("colgroup", {}, h("col", { class: "names" }), places.map((place) => h("col", { style: { width: `${widths[place]}px` } })));
  const heads = places.map((place) => {
    const word = visibleToken(tokens[place], LONGEST);
    const title = Array.from(tokens[place]).length > LONGEST ? visible(tokens[place], 400) : null;
    const press = onWord && h("button", { class: "column", type: "button", tabindex: -1, title, click: (event) => onWord(place, event.currentTarget) }, word);
    return h("th", { scope: "col", dir: "auto", title }, press ?? h("span", { class: "column" }, word));
  });
  const body = rows.map((row) =>
    h(
      "tr",
      {},
      h("th", { scope: "row", title: row.what ?? inWords(row.name) }, inWords(row.name)),
      places.map((place) => h("td", { ...shaded(row, place), tabindex: -1 }, h("span", { class: "value" }, number(row.scores[place])))),
    ),
  );
  const total = places.reduce((sum, place) => sum + widths[place], 0);
  return h(
    "table",
    { dir: direction(tokens), style: { width: `calc(var(--names) + ${total}px)` } },
    h("caption", { class: "unseen" }, `Words ${from + 1} to ${to}`),
    columns,
    h("thead", {}, h("tr", {}, h("td", { class: "corner" }), heads)),
    h("tbody", {}, body),
  );
}

/** Arrow keys move from cell to cell, over lines too; one cell is a tab stop. */
export function walk(body) {
  const cells = () => [...body.querySelectorAll("td.heat")];
  const first = body.querySelector("td.heat");
  if (first) first.tabIndex = 0;
  body.onfocusin = null;
  body.addEventListener("focusin", ({ target }) => {
    if (!target.matches("td.heat")) return;
    for (const other of body.querySelectorAll('td.heat[tabindex="0"]')) other.tabIndex = -1;
    target.tabIndex = 0;
  });
  body.addEventListener("keydown", (event) => {
    if (!event.target.matches("td.heat")) return;
    const cell = event.target;
    const row = cell.parentElement;
    const place = [...row.children].indexOf(cell);
    const around = { ArrowUp: row.previousElementSibling, ArrowDown: row.nextElementSibling };
    const list = cells();
    const step = getComputedStyle(cell).direction === "rtl" ? -1 : 1;
    const beside = { ArrowLeft: list[list.indexOf(cell) - step], ArrowRight: list[list.indexOf(cell) + step] };
    const next = event.key in around ? around[event.key]?.children[place] : beside[event.key];
    if (!(event.key in around) && !(event.key in beside)) return;
    event.preventDefault();
    next?.focus();
  });
}
