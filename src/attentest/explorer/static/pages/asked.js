// A study of people: how far everybody is, and what they answered; simulated annotators in a part of their own.
import { count, fail, get, h, number, percent, start, visible } from "../base.js";
import { tone, twin } from "./parts.js";

const here = () => twin().replace(/\.json$/, "");
const KINDS = { person: "on these pages", imported: "elsewhere, imported", simulated: "simulated" };

/** An estimate with its interval; a dash where it has no meaning. */
function between(found, digits, { scale = 1, unit = "" } = {}) {
  if (typeof found?.value !== "number") return "–";
  const written = (value) => number(typeof value === "number" ? scale * value : null, digits);
  return `${written(found.value)}${unit} [${written(found.low)}, ${written(found.high)}]`;
}

const share = (found) => between(found, 1, { scale: 100, unit: " %" });

function tableOf(label, heads, rows) {
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    h("table", { class: "stack" }, h("thead", {}, h("tr", {}, heads.map(([name, right]) => h("th", { scope: "col", class: right ? "n" : null }, name)))), h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell, i) => h(i ? "td" : "th", { scope: i ? null : "row", class: heads[i][1] ? "n" : null, "data-head": heads[i][0] }, cell)))))),
  );
}

function progressOf(rows) {
  const bar = (row) => [h("progress", { max: row.total || 1, value: row.done, "aria-label": `${visible(row.annotator, 80)}: ${row.done} of ${row.total}` }), ` ${count(row.done)} of ${count(row.total)}`];
  return tableOf(
    "How far everybody is",
    [["Annotator"], ["Answered"], ["Where"], ["Agreed to the texts"], ["Last answer"]],
    rows.map((row) => [visible(row.annotator, 80), bar(row), KINDS[row.kind] ?? row.kind, row.kind === "simulated" ? "–" : row.kind === "imported" ? "elsewhere" : row.agreed ? "yes" : "not yet", visible(row.last.slice(0, 16)).replace("T", " ")]),
  );
}

function resultsOf(found) {
  const { kept } = found;
  const { agreement, verdict } = kept;
  const met = verdict.met.map((one) => h("li", {}, `${one.requirement.words}: ${share(one.share)}, against ${percent(one.against)}`));
  const shares = kept.shares.map((one) => [visible(one.condition, 60), visible(one.outcome, 60), share(one.share), count(one.answers), count(one.items)]);
  const sheets = found.sheets.map((one) => [
    [visible(one.annotator, 80), one.left_out ? h("small", {}, " left out") : ""],
    count(one.answered),
    one.checks ? `${count(one.failed)} of ${count(one.checks)}` : "–",
    one.gold ? `${count(one.gold_right)} of ${count(one.gold)}` : "–",
    one.median_seconds === null ? "–" : `${number(one.median_seconds, 1)} s`,
    number(one.kappa, 2),
  ]);
  return [
    h("div", { class: "answers" }, h("div", { class: `card ${tone(verdict.answer)}` }, h("p", { class: "answer" }, visible(found.verdict, 200)), h("p", {}, visible(verdict.reason, 400)))),
    met.length ? h("ul", {}, met) : "",
    shares.length ? [h("h3", { class: "over" }, "How often which answer was given"), tableOf("How often which answer was given", [["Condition"], ["Answer"], ["Share and 95 % interval", true], ["Answers", true], ["Items", true]], shares)] : "",
    agreement.items ? h("p", { class: "over" }, `Agreement on ${count(agreement.items)} items: Cohen’s κ ${between(agreement.cohen, 2)} (${count(agreement.pairs.length)} pairs), Fleiss’ κ ${between(agreement.fleiss, 2)}, Krippendorff’s α ${between(agreement.alpha, 2)}.`, found.expected === null ? "" : ` Slips at this rate should give κ ${number(found.expected, 2)}.`) : "",
    sheets.length ? [h("h3", { class: "over" }, "Everybody"), tableOf("A sheet for everybody", [["Annotator"], ["Answered", true], ["Checks failed", true], ["Gold right", true], ["Median time", true], ["Mean κ", true]], sheets)] : "",
    h("p", {}, h("a", { href: `${here()}/report?whose=${found.whose}` }, "The report with all tables")),
  ];
}

async function results(section, whose) {
  const place = h("div", { "aria-busy": "true" }, h("p", { class: "small" }, "Results are computed…"));
  section.append(place);
  try {
    const found = await get(`${here()}/results.json?whose=${whose}`);
    place.removeAttribute("aria-busy");
    place.replaceChildren(...resultsOf(found).flat());
  } catch (error) {
    place.replaceChildren();
    fail(place, error);
  }
}

start(async (main) => {
  const found = await get(twin());
  const of = (simulated) => found.annotators.filter((row) => (row.kind === "simulated") === simulated);
  const people = h("section", { id: "people" }, h("h2", {}, "People"));
  const simulated = h("section", { id: "simulated" }, h("h2", {}, "Simulated annotators"), h("p", { class: "small" }, "No person gave these answers. They are in none of the figures above."));
  const parts = Object.entries(found.conditions).map(([name, many]) => `${count(many)} ${visible(name, 60)}`).join(", ");
  const beside = ["check", "gold"].filter((kind) => found.counts[kind]).map((kind) => `${count(found.counts[kind])} ${kind}`).join(", ");
  main.replaceChildren(
    h("p", { class: "crumbs" }, h("a", { href: "/people" }, "People"), ` › ${visible(found.study, 80)}`),
    h("h1", {}, visible(found.study, 80)),
    h("p", { class: "lead" }, `${visible(found.summary, 200)}`),
    h("p", { class: "small" }, `${count(found.items)} items (${parts})${beside ? `; beside them ${beside}` : ""}. Runs: ${found.runs.map((run) => visible(run.id, 80)).join(", ")}.${found.withdrawn ? ` ${count(found.withdrawn)} withdrew; nothing of theirs is left.` : ""}`),
    people,
    of(true).length ? simulated : "",
  );
  people.append(of(false).length ? progressOf(of(false)) : h("p", {}, "Nobody is invited yet: ", h("code", {}, `attentest people invite ${visible(found.study, 60)} NAME`)));
  const waiting = [];
  if (found.answers) waiting.push(results(people, "people"));
  if (of(true).length) {
    simulated.append(progressOf(of(true)));
    waiting.push(results(simulated, "simulated"));
  }
  await Promise.all(waiting);
});
