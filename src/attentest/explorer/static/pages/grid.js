// A study as a grid: corpora by models, a small picture of one experiment in every cell, captioned with its score.
import { get, h, number, state, visible } from "../base.js";
import { ends, small } from "../plot.js";

const unique = (values) => [...new Set(values)];
const modelOf = (cell) => [cell.encoder, cell.attention].filter(Boolean).join(", ");

function multiple(cell, drawn, plot, scales) {
  if (!cell.run) return h("span", { class: "multiple missing", title: visible(cell.problem ?? "", 300) }, h("small", {}, cell.problem ? "cannot be run" : "not run here"));
  const seed = cell.seed === null || cell.seed === undefined ? "" : `seed ${cell.seed}`;
  const label = `${cell.label}: ${plot?.y.title ?? ""}`;
  return h(
    "a",
    { class: "multiple", href: `/runs/${encodeURIComponent(cell.run)}`, title: visible(label, 300) },
    drawn?.points.length ? small(drawn.points, scales, visible(label, 200)) : h("small", {}, "not asked"),
    h("span", {}, drawn?.score ? ["mean ", h("b", {}, number(drawn.score.value)), " "] : "", h("small", {}, seed)),
  );
}

/** A study by its address: {found, parts}, what it is and what is shown of it. changed(): another experiment was chosen and stands in the address. */
export async function gridOf(address, changed) {
  const found = await get(`${address}.json`);
  const asked = found.plots.find((plot) => plot.name === state.get("experiment"));
  const name = (asked ?? found.plots.find((plot) => plot.name !== "attention") ?? found.plots[0])?.name;
  const grid = name ? await get(`${address}/plots/${encodeURIComponent(name)}.json`) : null;
  const drawn = new Map((grid?.cells ?? []).map((cell) => [cell.run, cell]));
  const points = [...drawn.values()].flatMap((cell) => cell.points);
  const scales = grid && { x: ends(points.map((point) => point.x), grid.plot.x), y: ends(points.map((point) => point.y), grid.plot.y) };
  const corpora = unique(found.cells.map((cell) => cell.corpus));
  const models = unique(found.cells.map(modelOf));
  const change = (event) => {
    state.set({ experiment: event.target.value }, { push: true });
    return changed();
  };
  const select = h("select", { id: "experiment", change }, found.plots.map((plot) => h("option", { value: plot.name }, visible(plot.title, 120))));
  select.value = name ?? "";
  const cellsOf = (corpus, model) => found.cells.filter((cell) => cell.corpus === corpus && modelOf(cell) === model);
  const rows = corpora.map((corpus) => h("tr", {}, h("th", { scope: "row" }, visible(corpus ?? "", 60)), models.map((model) => h("td", {}, cellsOf(corpus, model).map((cell) => multiple(cell, drawn.get(cell.run), grid?.plot, scales))))));
  const parts = [
    found.plots.length ? h("form", { class: "line", submit: (event) => event.preventDefault() }, h("label", {}, "Experiment ", select)) : "",
    grid ? h("p", { class: "small" }, `Across: ${visible(grid.plot.x.title, 80)}. Up: ${visible(grid.plot.y.title, 80)}; its mean stands below. Press a picture for its run.`) : "",
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Grid of the study" }, h("table", { class: "grid" }, h("thead", {}, h("tr", {}, h("td", {}), models.map((model) => h("th", { scope: "col" }, visible(model, 60))))), h("tbody", {}, rows))),
  ];
  return { found, parts };
}
