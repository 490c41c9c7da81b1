// A table that can be sorted by any column, filtered and paged; its order stands in the address.
import { count, h, state } from "./base.js";

const PAGE = 100;

/** How two values follow each other: numbers by size, words by letters, nothing last. */
export function compared(a, b) {
  const none = [a, b].map((value) => value === null || value === undefined || value === "" || Number.isNaN(value));
  if (none[0] || none[1]) return none[0] - none[1];
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

/** The rows in the order of a key; "-key" falls. What has no value stays last. */
export function ordered(rows, sort, value) {
  if (!sort) return rows;
  const falling = sort.startsWith("-");
  const key = falling ? sort.slice(1) : sort;
  return rows
    .map((row, i) => ({ row, i, at: value(row, key) }))
    .sort((a, b) => {
      const [none, other] = [a.at, b.at].map((at) => at === null || at === undefined || at === "" || Number.isNaN(at));
      const order = none || other ? compared(a.at, b.at) : compared(a.at, b.at) * (falling ? -1 : 1);
      return order || a.i - b.i;
    })
    .map(({ row }) => row);
}

/**
 * A table of rows. columns: [{key, label, number?, value?(row), cell?(row), header?}].
 * filters: [{key, label, value(row)}], each a choice in the address. label: what the table is.
 */
export function table(container, { rows, columns, filters = [], label, unit = "rows" }) {
  const valueOf = (row, key) => {
    const column = columns.find((each) => each.key === key);
    return column?.value ? column.value(row) : row[key];
  };
  const kept = () => rows.filter((row) => filters.every(({ key, value }) => !state.get(key) || String(value(row) ?? "") === state.get(key)));
  const status = h("b", { role: "status" });
  const body = h("tbody", {});
  const pager = h("nav", { class: "pager", "aria-label": `Pages: ${label}` });
  const heads = columns.map((column) =>
    h("th", { scope: "col", class: column.number ? "n" : null, "data-key": column.key }, h("button", { class: "sort", type: "button", click: () => sort(column.key) }, column.label)),
  );
  const choices = filters.map(({ key, label: name, value }) => {
    const options = [...new Set(rows.map((row) => value(row)).filter((each) => each !== null && each !== undefined && each !== "").map(String))].sort(compared);
    const select = h("select", { "data-filter": key, change: (event) => set({ [key]: event.target.value, page: null }) }, h("option", { value: "" }, "any"), options.map((each) => h("option", { value: each }, each.length > 60 ? `${each.slice(0, 59)}…` : each)));
    select.value = state.get(key) ?? "";
    return options.length > 1 ? h("label", {}, `${name} `, select) : "";
  });
  container.replaceChildren(
    h("form", { class: "line", role: "search", "aria-label": `Filter: ${label}`, submit: (event) => event.preventDefault() }, status, choices),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, h("table", { class: "stack" }, h("thead", {}, h("tr", {}, heads)), body)),
    pager,
  );

  function sort(key) {
    const now = state.get("sort");
    set({ sort: now === key ? `-${key}` : now === `-${key}` ? null : key, page: null });
  }

  function set(changes) {
    state.set(changes);
    draw();
  }

  function draw() {
    const found = ordered(kept(), state.get("sort"), valueOf);
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    const page = Math.min(Math.max(1, Number(state.get("page")) || 1), pages);
    const cell = (row, column, i) => {
      const content = column.cell ? column.cell(row) : (valueOf(row, column.key) ?? "");
      return h(i === 0 ? "th" : "td", { class: column.number ? "n" : column.class, scope: i === 0 ? "row" : null, "data-head": column.label }, content);
    };
    body.replaceChildren(...found.slice((page - 1) * PAGE, page * PAGE).map((row) => h("tr", {}, columns.map((column, i) => cell(row, column, i)))));
    status.textContent = found.length === rows.length ? `${count(rows.length)} ${unit}` : `${count(found.length)} of ${count(rows.length)} ${unit}`;
    for (const head of heads) {
      const key = head.dataset.key;
      const at = state.get("sort");
      head.setAttribute("aria-sort", at === key ? "ascending" : at === `-${key}` ? "descending" : "none");
    }
    const to = (at, name) => h("button", { type: "button", disabled: at < 1 || at > pages, click: () => set({ page: at }) }, name);
    pager.replaceChildren(...(pages > 1 ? [to(page - 1, "earlier"), `page ${page} of ${pages}`, to(page + 1, "later")] : []));
  }

  draw();
  return { draw };
}
