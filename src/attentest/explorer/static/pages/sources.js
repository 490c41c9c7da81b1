// Audits of sources: of which models, and what each found; the verdict of an audit is read when nobody has yet.
import { count, get, h, start, visible } from "../base.js";
import { table } from "../table.js";

const address = (audit) => `/sources/${encodeURIComponent(audit)}`;

function verdict(row) {
  if (row.problem) return visible(row.problem, 300);
  if (!row.finished) return "not finished: run the same command again";
  return row.headline ? visible(row.headline, 300) : h("span", { class: "small", "data-audit": row.id }, "is being read …");
}

/** One after the other, so that a page of many audits holds nobody up. */
async function readAll(place) {
  for (const one of place.querySelectorAll("[data-audit]")) {
    try {
      const found = await get(`${address(one.dataset.audit)}.json`);
      one.replaceWith(visible(found.headline, 300));
    } catch (error) {
      one.replaceWith(visible(error.message, 300));
    }
  }
}

start(async (main) => {
  const { audits } = await get("/sources.json");
  const place = h("div", {});
  main.replaceChildren(
    h("h1", {}, audits.length ? "Where did the answers come from?" : "No audit of sources is here yet"),
    h("p", { class: "lead" }, audits.length ? "Questions over passages, asked of a language model: which passage an answer hangs on, and whether attention tells." : ["Ask a language model: ", h("code", {}, "attentest sources --model PATH --data questions.jsonl")]),
    place,
  );
  if (!audits.length) return;
  table(place, {
    rows: audits,
    label: "Audits of sources",
    unit: audits.length === 1 ? "audit" : "audits",
    columns: [
      { key: "id", label: "Audit", cell: (row) => (row.problem || !row.finished ? visible(row.id, 60) : h("a", { href: address(row.id) }, visible(row.id, 60))) },
      { key: "model", label: "Model", cell: (row) => visible(row.model ?? "", 120) },
      { key: "questions", label: "Questions", number: true, cell: (row) => count(row.questions) },
      { key: "headline", label: "Verdict", cell: verdict },
      { key: "made", label: "Made", cell: (row) => visible(row.made.slice(0, 16)).replace("T", " ") },
    ],
  });
  readAll(place);
});
