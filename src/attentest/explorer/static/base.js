// What every module needs: elements made of text alone, characters made visible, numbers, the address, JSON.

/** An element. Strings become text nodes, so nothing that a corpus holds is ever markup. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "style") for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/u;
const KEPT = new Set(["\u200c", "\u200d"]); // they hold emoji and Persian words together

/** The text with control characters, overrides and other invisible ones spelled out; cut where it is too long. */
export function visible(text, longest = Infinity) {
  let characters = Array.from(String(text));
  if (characters.length > longest) characters = [...characters.slice(0, longest - 1), "…"];
  return characters
    .map((one) => {
      if (one === "\n") return "↵";
      if (one === "\t") return "⇥";
      if (KEPT.has(one) || !HIDDEN.test(one)) return one;
      return `‹U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`;
    })
    .join("");
}

/** A token as it is shown: blank and empty ones get a sign. */
export function visibleToken(token, longest = Infinity) {
  const text = String(token);
  if (text === "") return "∅";
  return text.replaceAll(" ", "") === "" ? "␣".repeat(Math.min(text.length, 40)) : visible(text, longest);
}

/** Whether a text runs from right to left: most of its words with letters do. */
export function direction(tokens) {
  let right = 0;
  let left = 0;
  for (const token of tokens.slice(0, 500)) {
    if (/[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u.test(token)) right += 1;
    else if (/\p{L}/u.test(token)) left += 1;
  }
  return right > left ? "rtl" : "ltr";
}

/** A number for people: three decimals, with a minus that is as wide as a plus. */
export function number(value, decimals = 3) {
  if (value === null || value === undefined || Number.isNaN(Number(value))) return "–";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size >= 100) return (value < 0 ? "−" : "") + count(size);
  const written = size !== 0 && size < 10 ** -decimals / 2 ? size.toExponential(1) : size.toFixed(decimals);
  return (value < 0 ? "−" : "") + written;
}

/** A share as a percentage. */
export const percent = (value, decimals = 1) =>
  value === null || value === undefined ? "–" : `${(100 * value).toFixed(decimals)}\u00a0%`;

/** 12,345. */
export const count = (value) => (value === null || value === undefined ? "–" : Number(value).toLocaleString("en"));

/** A name with its underscores opened: leave_one_out → leave-one-out. */
export const inWords = (name) => visible(String(name).replaceAll("_", "-"), 80);

/** JSON from this server; an error becomes the server's one line. */
export async function get(path, options = {}) {
  const answer = await fetch(path, { headers: { accept: "application/json" }, ...options });
  let found = null;
  try {
    found = await answer.json();
  } catch {
    found = null;
  }
  if (!answer.ok) throw Object.assign(new Error(found?.error ?? `The server answered ${answer.status} for ${path.split("?")[0]}.`), { status: answer.status });
  return found;
}

/** The same with a body. */
export const post = (path, body, signal) =>
  get(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", accept: "application/json" },
    signal,
  });

/** The part of the address behind the question mark, as state that a link carries. */
export const state = {
  get: (name) => new URLSearchParams(location.search).get(name),
  /** Change some; null or "" takes one out. The page stays. */
  set(changes, { push = false } = {}) {
    const query = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === undefined || value === "") query.delete(name);
      else query.set(name, value);
    }
    // A colon, a comma and a tilde may stand in a query: a link stays short and can be read.
    const words = query.toString().replaceAll("%2C", ",").replaceAll("%3A", ":").replaceAll("%7E", "~");
    const address = location.pathname + (words ? `?${words}` : "") + location.hash;
    if (push) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  },
};

/** Run a page; what goes wrong is one line on it. */
export async function start(page) {
  const main = document.getElementById("page");
  try {
    await page(main);
    main.removeAttribute("aria-busy");
  } catch (error) {
    fail(main, error);
  }
}

/** Say what went wrong, once, at the top of a part of the page. */
export function fail(where, error) {
  where.removeAttribute("aria-busy");
  where.querySelector(":scope > .failed")?.remove();
  where.prepend(h("p", { class: "failed", role: "alert" }, visible(error?.message ?? String(error), 400)));
}

/** One tab stop for many: arrow keys move among them, the one last used keeps the stop; along: whose direction counts. */
export function roving(container, selector, { keys = ["ArrowLeft", "ArrowRight"], along = null } = {}) {
  const all = () => [...container.querySelectorAll(selector)];
  const take = (one) => {
    for (const other of container.querySelectorAll(`${selector}[tabindex="0"]`)) other.tabIndex = -1;
    one.tabIndex = 0;
  };
  const first = container.querySelector(`${selector}[tabindex="0"]`) ?? container.querySelector(selector);
  if (first) take(first);
  container.addEventListener("focusin", (event) => {
    const one = event.target.closest?.(selector);
    if (one && container.contains(one)) take(one);
  });
  container.addEventListener("keydown", (event) => {
    const step = keys.indexOf(event.key);
    const here = event.target.closest?.(selector);
    if (step < 0 || !here || event.target !== here || event.altKey || event.ctrlKey || event.metaKey) return;
    const list = all();
    const back = getComputedStyle(along ?? here).direction === "rtl" && event.key.match(/Left|Right/) ? step === 1 : step === 0;
    const next = list[list.indexOf(here) + (back ? -1 : 1)];
    if (next) {
      event.preventDefault();
      next.focus();
    }
  });
}
