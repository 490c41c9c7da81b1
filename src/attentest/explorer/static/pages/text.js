// One text: what the model says of it, why by every explainer, and what happens with other weights and other words.
import { fail, get, h, percent, post, start, state, visible, visibleToken } from "../base.js";
import { editor } from "../editor.js";
import { heatmap } from "../heatmap.js";
import { argmax } from "../maths.js";
import { ownText, runPath, textName } from "./parts.js";

const run = runPath();
const row = Number(location.pathname.split("/").at(-1));

/** Edits of words as the address has them: "3" takes word 3 out, "5=good" puts another in its place. */
export const writtenWords = (edits) =>
  [...edits].map(([place, word]) => (word === null ? `${place}` : `${place}=${encodeURIComponent(word).replaceAll("~", "%7E")}`)).join("~");

export function parsedWords(text) {
  const edits = new Map();
  for (const part of (text ?? "").split("~").filter(Boolean)) {
    const [place, word] = part.split("=");
    try {
      if (Number.isInteger(Number(place))) edits.set(Number(place), word === undefined ? null : decodeURIComponent(word));
    } catch {
      // A link that was cut off: the edit is left out.
    }
  }
  return edits;
}

/** The words that are left, and for each where it stood. */
export function applied(tokens, edits) {
  const kept = tokens.map((token, place) => ({ token: edits.has(place) ? edits.get(place) : token, place })).filter(({ token }) => token !== null && token !== "");
  return { tokens: kept.map(({ token }) => token), places: kept.map(({ place }) => place) };
}

const className = (text, value) => (value === null || value === undefined ? null : visible(text.classes?.[value] ?? value, 60));

const scoresOf = (given) => (Array.isArray(given) ? { scores: given } : given);

/** The rows of the heat map: attention first, then every explainer, then people's rationale. */
export function rowsOf(text, prefix = "") {
  const rows = [{ name: `${prefix}attention`, scores: text.attention, signed: false }];
  for (const [name, given] of Object.entries(text.explainers ?? {}))
    if (name !== "attention" && scoresOf(given).scores) rows.push({ name: prefix + name, ...scoresOf(given) });
  if (!prefix && text.rationale) rows.push({ name: "people’s rationale", scores: text.rationale.map(Number), signed: false, hue: "other" });
  return rows;
}

class Page {
  constructor(main) {
    this.main = main;
    this.edits = parsedWords(state.get("x"));
  }

  async open() {
    this.given = await get(`${run}/texts/${row}.json`);
    await this.read();
  }

  /** Read the text that the address asks for: the corpus's, with words changed, or one's own. */
  async read() {
    const own = state.get("text");
    const second = state.get("second") ?? this.given.second ?? null;
    if (own !== null) this.text = await post(`${run}/read.json`, { text: own, ...(second && { second }) });
    else if (this.edits.size) this.text = await post(`${run}/read.json`, { tokens: applied(this.given.tokens, this.edits).tokens, ...(second && { second }) });
    else this.text = this.given;
    this.own = own !== null;
    this.changed = this.own || this.edits.size > 0;
    this.draw();
    await this.beside();
  }

  draw() {
    const { text } = this;
    const places = this.changed && !this.own ? applied(this.given.tokens, this.edits).places : text.tokens.map((_, i) => i);
    this.maps = h("div", {});
    this.wordForm = h("div", { class: "word-form", "aria-live": "polite" });
    this.editorPart = h("div", { class: "card editor" });
    this.otherPart = h("div", {});
    this.main.replaceChildren(...this.head(), this.mapsPart(places), this.weightsPart(), this.wordsPart(), this.modelsPart());
    this.drawMaps(places);
    this.drawEditor();
  }

  head() {
    const { text } = this;
    const predicted = text.predicted ?? argmax(text.probabilities);
    const sure = percent(Math.max(...text.probabilities));
    const label = this.changed ? this.given.label : text.label;
    const right = label === null || label === undefined || this.own ? "" : label === predicted ? ", as labelled" : `; the label is ${className(text, label)}`;
    const place = this.own ? "a text of your own" : textName(this.given, row);
    return [
      h("p", { class: "crumbs" }, h("a", { href: "/" }, "Runs"), " › ", h("a", { href: run }, this.given.run ? visible(this.given.run, 80) : run.split("/").at(-1)), ` › ${place}`),
      h("h1", {}, `The model predicts ${className(text, predicted)} (${sure})${right}`),
      this.grade(),
      text.second ? h("p", { class: "lead", dir: "auto" }, h("b", {}, "with "), visible(Array.isArray(text.second) ? text.second.join(" ") : text.second, 3000)) : "",
      this.changed ? this.changes() : "",
    ];
  }

  grade() {
    const grade = this.text.grade;
    if (!grade) return "";
    const words = typeof grade === "string" ? grade : `${grade.name ?? grade.grade}${grade.why ? `: ${grade.why}` : ""}`;
    return h("p", { class: "lead" }, h("b", {}, "Attention of this text: "), visible(words, 400));
  }

  /** What was changed in the text, and what that did to the prediction. */
  changes() {
    const back = h("button", { type: "button", click: () => this.reset() }, "back to the text as it is");
    if (this.own) return h("p", { class: "line" }, back);
    const undo = [...this.edits].map(([place, word]) =>
      h(
        "button",
        { type: "button", title: "Take this change back", click: () => this.change(place, undefined) },
        word === null ? `without “${visibleToken(this.given.tokens[place] ?? "", 30)}” ×` : `“${visibleToken(this.given.tokens[place] ?? "", 30)}” → “${visible(word, 30)}” ×`,
      ),
    );
    const old = this.given.predicted ?? argmax(this.given.probabilities);
    const now = this.text.predicted ?? argmax(this.text.probabilities);
    const moved = `${className(this.given, old)} ${percent(this.given.probabilities[old])} → ${percent(this.text.probabilities[old])}${old === now ? "" : `: the decision changes to ${className(this.text, now)}`}`;
    return h("div", { class: "line", id: "changes" }, undo, h("span", {}, h("b", {}, moved)), back);
  }

  mapsPart() {
    const pressed = (name, value, label) =>
      h("button", { type: "button", "aria-pressed": String((state.get(name) ?? "") === value), click: () => this.setView(name, state.get(name) === value ? null : value) }, label);
    return h(
      "section",
      { id: "maps" },
      h("h2", {}, "Which words mattered, by every explainer"),
      h("div", { class: "line" }, pressed("view", "texts", "as running texts"), pressed("numbers", "1", "with numbers"), h("small", {}, "Press a word to take it out or to put another in its place.")),
      this.wordForm,
      this.maps,
    );
  }

  setView(name, value) {
    state.set({ [name]: value });
    for (const [i, [key, at]] of [["view", "texts"], ["numbers", "1"]].entries())
      this.main.querySelectorAll("#maps .line button")[i].setAttribute("aria-pressed", String(state.get(key) === at));
    this.drawMaps();
  }

  drawMaps(places = this.places) {
    this.places = places;
    const rows = rowsOf(this.text);
    const same = this.other && this.other.tokens.join("\u0000") === this.text.tokens.join("\u0000");
    if (same) rows.push(...rowsOf(this.other, `${state.get("with")}: `));
    heatmap(this.maps, {
      tokens: this.text.tokens,
      rows,
      mode: state.get("view") === "texts" ? "texts" : "aligned",
      numbers: state.get("numbers") === "1",
      onWord: (place) => this.askWord(place),
    });
  }

  /** A line to delete or exchange one word. */
  askWord(place) {
    const token = this.text.tokens[place];
    const input = h("input", { type: "text", maxlength: 100, "aria-label": "Another word", placeholder: "another word" });
    const close = () => {
      this.wordForm.replaceChildren();
      this.main.querySelectorAll("button.column, button.token")[place]?.focus();
    };
    const form = h(
      "form",
      { class: "line", submit: (event) => (event.preventDefault(), input.value.trim() && this.changeNow(place, input.value.trim())), keydown: (event) => event.key === "Escape" && close() },
      h("b", { dir: "auto" }, visibleToken(token, 40)),
      h("button", { type: "button", click: () => this.changeNow(place, null) }, "take it out"),
      h("label", {}, "or put ", input, " in its place"),
      h("button", { type: "submit" }, "exchange"),
      h("button", { type: "button", click: close }, "cancel"),
    );
    this.wordForm.replaceChildren(form);
    form.querySelector("button").focus();
  }

  changeNow(place, word) {
    if (this.own) {
      const tokens = this.text.tokens.map((token, i) => (i === place ? word : token)).filter((token) => token !== null);
      return this.go({ text: tokens.join(" ") });
    }
    return this.change(this.places[place], word);
  }

  /** Change a word of the corpus's text; undefined takes the change back. */
  change(place, word) {
    if (word === undefined) this.edits.delete(place);
    else this.edits.set(place, word);
    return this.go({ x: writtenWords(this.edits) });
  }

  reset() {
    this.edits = new Map();
    return this.go({ x: null, text: null, second: null });
  }

  async go(changes) {
    const before = location.href;
    state.set({ ...changes, w: null }, { push: true });
    this.main.setAttribute("aria-busy", "true");
    try {
      await this.read();
      this.main.removeAttribute("aria-busy");
      this.main.querySelector("h1").tabIndex = -1;
      this.main.querySelector("h1").focus();
    } catch (error) {
      history.replaceState(null, "", before);
      this.edits = parsedWords(state.get("x"));
      fail(this.main, error);
      scrollTo(0, 0);
    }
  }

  weightsPart() {
    const how = Array.isArray(this.text.token_logits)
      ? "Exact, in this browser: the head is affine, so the logits are the weighted sum of one vector for each word."
      : "Asked of the model at every change: its head is not affine.";
    return h("section", { id: "weights" }, h("h2", {}, "What if the weights were others?"), h("p", { class: "small" }, `Drag a bar, or choose a word and type its weight; arrow keys up and down change it, left and right move on. The other words scale, so that all sum to one. ${how}`), this.editorPart);
  }

  drawEditor() {
    const { text } = this;
    const asked = this.changed ? { tokens: text.tokens, ...(text.second && { second: text.second }) } : { row };
    editor(this.editorPart, text, {
      start: state.get("w") ?? "own",
      reread: (weights) => post(`${run}/reread.json`, { ...asked, weights }),
      changed: (w) => state.set({ w }),
    });
  }

  wordsPart() {
    return h("section", { id: "own" }, h("h2", {}, "Your own text"), ownText({ value: this.own ? state.get("text") : "", second: this.given.second !== null && this.given.second !== undefined, submit: (text, second) => this.go({ text, second, x: null }) }));
  }

  modelsPart() {
    this.select = h("select", { "aria-label": "Another run", change: (event) => this.setOther(event.target.value) }, h("option", { value: "" }, "no other model"));
    return h("section", { id: "models" }, h("h2", {}, "Another model on the same text"), h("form", { class: "line", submit: (event) => event.preventDefault() }, h("label", {}, "beside ", this.select)), this.otherPart);
  }

  async setOther(id) {
    state.set({ with: id });
    await this.beside();
  }

  async beside() {
    await this.fillSelect();
    const id = state.get("with");
    this.other = null;
    this.otherPart.replaceChildren();
    if (!id) return this.drawMaps();
    try {
      this.other = await post(`/runs/${encodeURIComponent(id)}/read.json`, { tokens: this.text.tokens, ...(this.text.second && { second: this.text.second }) });
    } catch (error) {
      return fail(this.otherPart, error);
    }
    const best = this.other.predicted ?? argmax(this.other.probabilities);
    const line = h("p", { id: "other-says" }, `${visible(id, 80)} predicts `, h("b", {}, `${className(this.other, best)} (${percent(this.other.probabilities[best])})`), `; its scores stand below this model’s in the heat maps.`);
    this.otherPart.replaceChildren(line);
    const same = this.other.tokens.join("\u0000") === this.text.tokens.join("\u0000");
    if (!same) {
      const maps = h("div", {});
      line.lastChild.textContent = "; it cuts the text into other words.";
      this.otherPart.append(maps);
      heatmap(maps, { tokens: this.other.tokens, rows: rowsOf(this.other), legend: false, label: "Heat maps of the other model" });
    }
    return this.drawMaps();
  }

  async fillSelect() {
    if (!this.runs) {
      try {
        this.runs = (await get("/home.json")).runs;
      } catch {
        this.runs = [];
      }
    }
    const here = decodeURIComponent(run.split("/").at(-1));
    const mine = this.runs.find((each) => each.id === here);
    const fit = this.runs.filter((each) => each.id !== here && (!mine || each.corpus === mine.corpus)).slice(0, 200);
    this.select.replaceChildren(
      h("option", { value: "" }, fit.length ? "no other model" : "no other run of this corpus"),
      ...fit.map((each) => h("option", { value: each.id }, visible([each.model, each.attention, each.seed !== undefined && each.seed !== null ? `seed ${each.seed}` : null, each.id].filter(Boolean).join(" · "), 90))),
    );
    this.select.value = state.get("with") ?? "";
    this.select.disabled = !fit.length;
  }
}

start(async (main) => {
  const page = new Page(main);
  await page.open();
  addEventListener("popstate", async () => {
    page.edits = parsedWords(state.get("x"));
    await page.read();
  });
});

