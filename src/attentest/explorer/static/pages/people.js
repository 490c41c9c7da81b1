// All studies of people: what each asks, and how many answered.
import { count, get, h, start, visible } from "../base.js";
import { table } from "../table.js";

const address = (study) => `/people/${encodeURIComponent(study)}`;

start(async (main) => {
  const { studies } = await get("/people.json");
  const place = h("div", {});
  main.replaceChildren(
    h("h1", {}, studies.length ? "Studies of people" : "No study of people is here yet"),
    h("p", { class: "lead" }, studies.length ? "What people were asked about the explanations of runs, and how many answered. Simulated annotators are counted apart." : ["Make one of a finished run: ", h("code", {}, "attentest people new RUN --name NAME")]),
    place,
  );
  if (!studies.length) return;
  table(place, {
    rows: studies,
    label: "Studies of people",
    unit: studies.length === 1 ? "study" : "studies",
    columns: [
      { key: "study", label: "Study", cell: (row) => (row.problem ? `${visible(row.study, 60)} (${visible(row.problem, 300)})` : h("a", { href: address(row.study) }, visible(row.study, 60))) },
      { key: "design", label: "Design", cell: (row) => visible(row.design ?? "", 80) },
      { key: "corpus", label: "Corpus", cell: (row) => visible(row.corpus ?? "", 60) },
      { key: "items", label: "Items", number: true, cell: (row) => count(row.items) },
      { key: "people", label: "People", number: true, cell: (row) => count(row.people) },
      { key: "answers", label: "Their answers", number: true, cell: (row) => count(row.answers) },
      { key: "simulated", label: "Simulated annotators", number: true, cell: (row) => count(row.simulated) },
    ],
  });
});
