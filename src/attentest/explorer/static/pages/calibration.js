// How well every test tells attention that is faithful from attention that is not, on models whose truth is known.
import { count, get, h, number, percent, start, state, svg, visible } from "../base.js";
import { table } from "../table.js";
import { rocPanel } from "./roc.js";

const TRUTHS = { words: "say which words mattered", states: "check where the model looks", one: "give it as the one reason" };

/** An estimate with its interval on a scale from 0 to 1, with a line at chance. */
function ruler({ value, low, high }, label) {
  const at = (x) => 4 + 112 * x;
  return svg(
    "svg",
    { class: "ruler", viewBox: "0 0 120 16", role: "img", "aria-label": label },
    svg("line", { class: "diagonal", x1: at(0.5), x2: at(0.5), y1: 1, y2: 15 }),
    svg("line", { class: "curve", x1: at(low), x2: at(high), y1: 8, y2: 8 }),
    svg("circle", { class: "dot", cx: at(value), cy: 8, r: 3.4 }),
  );
}

function errors(found) {
  const uses = { reason: "words", check: "states", one: "one", text: "text" };
  const words = { reason: "Say which words mattered", check: "Check where the model looks", one: "Give it as the one reason", text: "Say it of a single text" };
  return h(
    "table",
    { class: "narrow" },
    h("thead", {}, h("tr", {}, ["Answer of the verdict", "", "Wrong", "95 % interval"].map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, found.filter((row) => row.use in uses).map((row) => h("tr", {}, h("th", { scope: "row" }, words[row.use]), h("td", {}, h("span", { class: `chip ${row.answer}` }, visible(row.answer, 20))), h("td", { class: "n" }, `${count(row.wrong)} of ${count(row.of)} (${percent(row.share)})`), h("td", { class: "n" }, `${percent(row.low)} to ${percent(row.high)}`)))),
  );
}

start(async (main) => {
  const found = await get("/calibration.json");
  const list = h("section", { id: "tests" });
  const curves = h("section", { id: "roc", tabindex: -1 });
  const open = async (row, { focus = true } = {}) => {
    await rocPanel(curves, row, TRUTHS);
    if (focus) curves.focus();
  };
  const cell = (truth) => (row) => {
    const auroc = row.auroc[truth];
    if (!auroc) return "";
    return [ruler(auroc, `${number(auroc.value, 2)}, from ${number(auroc.low, 2)} to ${number(auroc.high, 2)}`), " ", number(auroc.value, 2)];
  };
  main.replaceChildren(
    h("h1", {}, "Which tests can be trusted?"),
    h("p", { class: "lead" }, `${count(found.members)} models of ${count(found.mechanisms)} mechanisms, each with a truth known by intervention. AUROC: how well a test tells clearly faithful attention from clearly unfaithful; 0.5 is a coin, 1 is perfect.`),
    h("h2", {}, "How often the verdict was wrong"),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Errors of the verdict" }, errors(found.errors)),
    h("h2", {}, "Every test, by what attention is used for"),
    h("p", { class: "small" }, "Press a test for its ROC curves, in which each point is a model."),
    curves,
    list,
  );
  table(list, {
    rows: found.tests,
    label: "Tests",
    unit: "tests",
    filters: [{ key: "challenge", label: "challenge", value: (row) => row.challenge }],
    columns: [
      { key: "name", label: "Test", cell: (row) => (row.challenge === "verdict" ? visible(row.words, 90) : h("button", { class: "link", type: "button", click: () => (state.set({ test: row.name }), open(row)) }, visible(row.words, 90))) },
      ...Object.entries(TRUTHS).map(([truth, label]) => ({ key: truth, label: `To ${label}`, value: (row) => row.auroc[truth]?.value ?? null, cell: cell(truth), class: "auroc" })),
    ],
  });
  const asked = found.tests.find((row) => row.name === (state.get("test") ?? "importance.attention.held.delete")) ?? found.tests.find((row) => row.challenge === "importance") ?? null;
  if (asked) await open(asked, { focus: false });
});
