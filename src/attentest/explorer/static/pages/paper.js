// One paper: every published figure beside ours, sortable, each linked to its run.
import { count, get, h, number, start, visible } from "../base.js";
import { table } from "../table.js";
import { STATUSES, twin } from "./parts.js";

const interval = (row) => (row.low === null || row.low === undefined ? "" : `[${number(row.low)}, ${number(row.high)}]`);

/** A figure as the paper has it; a whole number of thousands as ours is written. */
const published = (row) => {
  const said = /^\d{4,}$/.test(row.published) ? count(row.published) : row.published;
  return visible(`${said}${row.published_spread ? ` ± ${row.published_spread}` : ""}`, 400);
};

const ours = (row) => {
  if (row.ours === null || row.ours === undefined) return h("span", { class: "small" }, "–");
  const text = [number(row.ours), " ", h("small", {}, interval(row))];
  return row.run ? h("a", { href: `/runs/${encodeURIComponent(row.run)}`, title: visible(row.runs, 300) }, text) : h("span", { title: visible(row.runs ?? "", 300) }, text);
};

const status = (row) => [
  h("span", { class: `chip ${STATUSES[row.status] ?? "context"}` }, visible(row.status, 30)),
  row.reason || (row.difference && !row.like_for_like) ? h("small", { class: "under" }, visible(row.reason || `not like for like: ${row.difference}`, 140)) : "",
];

start(async (main) => {
  const found = await get(twin());
  const body = h("section", { id: "claims" });
  const here = found.rows.filter((row) => row.run).length;
  const chips = Object.keys(STATUSES).filter((name) => found.claims[name]).map((name) => h("span", { class: `chip ${STATUSES[name]}` }, `${count(found.claims[name])} ${name}`));
  main.replaceChildren(
    h("p", { class: "crumbs" }, h("a", { href: "/claims" }, "Claims"), ` › ${visible(found.citation, 120)}`),
    h("h1", {}, visible(found.title, 200)),
    h("p", { class: "lead" }, h("i", {}, visible(found.conclusion ?? "", 600))),
    h("p", { class: "chips" }, chips),
    h("p", { class: "small" }, here ? `The runs of ${count(here)} claims are in this folder: our figure is a link to them.` : "The runs behind our figures are not in this folder; run the paper’s studies here, and each figure becomes a link."),
    body,
  );
  table(body, {
    rows: found.rows,
    label: "Claims",
    unit: "claims",
    filters: [
      { key: "status", label: "status", value: (row) => row.status },
      { key: "corpus", label: "corpus", value: (row) => row.corpus },
      { key: "model", label: "model", value: (row) => row.model },
      { key: "table", label: "table", value: (row) => row.table },
    ],
    columns: [
      { key: "measure", label: "Measure", cell: (row) => [visible(row.measure.replaceAll("_", " "), 120), row.group ? h("small", { class: "under" }, visible(row.group, 80)) : ""] },
      { key: "corpus", label: "Corpus", cell: (row) => visible(row.corpus, 60) },
      { key: "model", label: "Model", cell: (row) => visible([row.model, row.attention].filter(Boolean).join(", "), 80) },
      { key: "table", label: "Where", cell: (row) => visible(row.table, 60) },
      { key: "published", label: "Published", value: (row) => row.published_value, class: "published", cell: published },
      { key: "ours", label: "Ours [95 %]", number: true, cell: ours },
      { key: "status", label: "Status", cell: status },
    ],
  });
});
