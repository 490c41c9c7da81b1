// One text: what the model says of it, why by every explainer, and what happens with other weights and other words.
import { fail, get, h, percent, post, state, visible, visibleToken } from "../base.js";
import { editor } from "../editor.js";
import { heatmap } from "../heatmap.js";
import { argmax } from "../maths.js";
import { matrix } from "../matrix.js";
import { layers } from "./layers.js";
import { ownText, runPath, textName } from "./parts.js";
import { applied, changedText, className, namesOf, parsedWords, rowsOf, sameTokens, writtenWords } from "./words.js";

const run = runPath();
/** Of more words than this, maps word by word are too long to look at first. */
const LONG = 60;

/** Open the page of a text: of the corpus by its row, or the one in the address. */
export async function openText(main, row) {
  const page = new Page(main, row);
  await page.open();
  addEventListener("popstate", async () => {
    page.edits = parsedWords(state.get("x"));
    await page.read();
  });
}

class Page {
  constructor(main, row) {
    this.main = main;
    this.row = row;
    this.own = row === null;
    this.edits = parsedWords(state.get("x"));
  }

  async open() {
    this.given = this.own ? await get(`${run}.json`) : await get(`${run}/texts/${this.row}.json`);
    if (this.own && !state.get("text")) return this.main.replaceChildren(...this.crumbs("a text of your own"), h("h1", {}, "Your own text"), this.box());
    return this.read();
  }

  /** Which text a question to the model is about. */
  asked() {
    const site = state.get("site");
    const second = state.get("second") ?? this.given.second ?? null;
    const about = { ...(site && { site }), ...(this.text?.step && { step: this.text.step }) };
    if (this.own) return { text: state.get("text"), ...(second && { second }), ...about };
    if (this.edits.size) return { tokens: applied(this.given.tokens, this.edits).tokens, ...(second && !this.given.matrix && { second }), ...about };
    return { row: this.row, ...(site && { site }) };
  }

  /** Read the text that the address asks for: the corpus's, with words changed, at another site, or one's own. */
  async read() {
    this.text = null;
    const step = Number(state.get("step")) || 0;
    const ask = this.own || this.edits.size || state.get("site");
    this.text = ask ? await post(`${run}/read.json`, { ...this.asked(), ...((this.own || this.edits.size) && { step }) }) : this.given;
    this.changed = this.own || this.edits.size > 0;
    this.names = namesOf(this.text);
    await this.fetchBase();
    this.draw();
    await this.beside();
  }

  /** Weights that the address begins from and the findings do not hold are asked of the model. */
  async fetchBase() {
    const base = (state.get("w") ?? "").split("~")[0];
    if (base === "adversary" && !this.text.adversary) await this.attack("adversary").catch(() => null);
    if (base === "flip" && !this.text.flip_set) await this.attack("flip_set").catch(() => null);
  }

  async attack(kind) {
    const found = await post(`${run}/attack.json`, { ...this.asked(), kind });
    if (kind === "adversary") {
      if (!found.weights) throw new Error(found.not_judged ?? "No adversary was found for this text.");
      this.text.adversary = { weights: found.weights, jsd: found.lower ?? found.jsd, tvd: found.tvd };
    } else this.text.flip_set = found.items ?? [];
    return this.text;
  }

  draw() {
    const { text } = this;
    this.places = this.changed && !this.own ? applied(this.given.tokens, this.edits).places : text.tokens.map((_, i) => i);
    this.maps = h("div", {});
    this.wordForm = h("div", { class: "word-form", "aria-live": "polite" });
    this.editorPart = h("div", { class: "card editor" });
    this.otherPart = h("div", {});
    this.main.replaceChildren(...this.head(), this.matrixPart(), this.mapsPart(), this.weightsPart(), this.layersPart(), h("section", { id: "own" }, h("h2", {}, "Your own text"), this.box()), this.modelsPart());
    this.drawMaps();
    this.drawEditor();
  }

  crumbs(name) {
    return [h("p", { class: "crumbs" }, h("a", { href: "/" }, "Runs"), " › ", h("a", { href: run }, visible(document.body.dataset.run, 80)), ` › ${name}`)];
  }

  head() {
    const { text } = this;
    const predicted = text.predicted ?? argmax(text.probabilities);
    const sure = percent(text.confidence ?? Math.max(...text.probabilities));
    const label = this.own ? null : (this.given.label ?? null);
    const right = label === null ? "" : label === predicted ? (text.matrix ? "" : ", as labelled") : `; the ${text.matrix ? "reference has" : "label is"} ${className(this.names, label)}`;
    const verb = text.matrix ? "would write" : "predicts";
    const site = state.get("site");
    return [
      ...this.crumbs(this.own ? "a text of your own" : textName(this.given, this.row)),
      h("h1", {}, `The model ${verb} ${className(this.names, predicted)} (${sure})${right}`),
      text.grade ? h("p", { class: "lead" }, h("b", {}, "For this text: "), visible(text.grade, 400)) : "",
      text.second?.length ? h("p", { class: "lead", dir: "auto" }, h("b", {}, text.matrix ? "after " : "with "), visible(Array.isArray(text.second) ? text.second.join(" ") : text.second, 3000)) : "",
      site ? h("p", { class: "line" }, h("span", {}, "Read at ", h("b", {}, visible(site, 80))), h("button", { type: "button", click: () => this.go({ site: null }) }, "back to the site of the run")) : "",
      text.unknown?.some(Boolean) ? h("p", { class: "small" }, `Not in the model’s vocabulary: ${text.tokens.filter((_, i) => text.unknown[i]).slice(0, 12).map((token) => visibleToken(token, 30)).join(", ")}`) : "",
      !this.own && this.edits.size ? changedText(this) : "",
    ];
  }

  matrixPart() {
    const { text } = this;
    if (!text.matrix) return "";
    const body = h("div", {});
    const open = (step) => (text.matrix.rows ? location.assign(`${run}/texts/${text.matrix.rows[step]}`) : this.go({ step: step || null }));
    matrix(body, text.matrix, { step: text.step ?? 0, open });
    return h("section", { id: "matrix" }, h("h2", {}, "What every step weighs"), h("p", { class: "small" }, "Rows are words written, columns words read. Press a word to edit its row below."), body);
  }

  mapsPart() {
    const pressed = (name, value, label) =>
      h("button", { type: "button", "data-view": name, "aria-pressed": String(state.get(name) === value), click: (event) => this.setView(event.currentTarget, name, value) }, label);
    const can = this.text.item === "word" || !this.text.item;
    return h(
      "section",
      { id: "maps" },
      h("h2", {}, "Which words mattered, by every explainer"),
      h("div", { class: "line" }, this.viewButton(), pressed("numbers", "1", "with numbers"), can ? h("small", {}, "Press a word to take it out or to put another in its place.") : ""),
      this.wordForm,
      this.maps,
    );
  }

  /** How the maps are drawn: word by word, and where that would be long, as running texts. */
  get view() {
    return state.get("view") ?? (this.text.tokens.length > LONG ? "texts" : "aligned");
  }

  viewButton() {
    const toggle = (event) => {
      state.set({ view: this.view === "texts" ? "aligned" : "texts" });
      event.currentTarget.setAttribute("aria-pressed", String(this.view === "texts"));
      this.drawMaps();
    };
    return h("button", { type: "button", "data-view": "view", "aria-pressed": String(this.view === "texts"), click: toggle }, "as running texts");
  }

  setView(button, name, value) {
    state.set({ [name]: state.get(name) === value ? null : value });
    button.setAttribute("aria-pressed", String(state.get(name) === value));
    this.drawMaps();
  }

  drawMaps() {
    const rows = rowsOf(this.text);
    if (this.other && sameTokens(this.other, this.text)) rows.push(...rowsOf(this.other, "beside: "));
    heatmap(this.maps, {
      tokens: this.text.tokens,
      rows,
      mode: this.view,
      numbers: state.get("numbers") === "1",
      onWord: (place) => this.askWord(place),
    });
  }

  /** A line to delete or exchange one word. */
  askWord(place) {
    const input = h("input", { type: "text", maxlength: 100, "aria-label": "Another word", placeholder: "another word" });
    const close = () => {
      this.wordForm.replaceChildren();
      this.main.querySelectorAll("#maps button.column, #maps button.token")[place]?.focus();
    };
    const send = (event) => {
      event.preventDefault();
      if (input.value.trim()) this.changeNow(place, input.value.trim());
    };
    const form = h(
      "form",
      { class: "line", submit: send, keydown: (event) => event.key === "Escape" && close() },
      h("b", { dir: "auto" }, visibleToken(this.text.tokens[place], 40)),
      this.text.tokens.length > 1 ? h("button", { type: "button", click: () => this.changeNow(place, null) }, "take it out") : "",
      h("label", {}, "or put ", input, " in its place"),
      h("button", { type: "submit" }, "exchange"),
      h("button", { type: "button", click: close }, "cancel"),
    );
    this.wordForm.replaceChildren(form);
    form.querySelector("button").focus();
  }

  changeNow(place, word) {
    if (!this.own) return this.change(this.places[place], word);
    const tokens = this.text.tokens.map((token, i) => (i === place ? word : token)).filter((token) => token !== null);
    return this.go({ text: tokens.join(" ") });
  }

  /** Change a word of the corpus's text; undefined takes the change back. */
  change(place, word) {
    if (word === undefined) this.edits.delete(place);
    else this.edits.set(place, word);
    return this.go({ x: writtenWords(this.edits) });
  }

  reset() {
    this.edits = new Map();
    return this.go({ x: null });
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
    editor(this.editorPart, { ...this.text, classes: this.names, label: this.own ? null : this.given.label }, {
      start: state.get("w") ?? "own",
      reread: (weights) => post(`${run}/reread.json`, { ...this.asked(), weights }),
      attack: (kind) => this.attack(kind),
      changed: (w) => state.set({ w }),
    });
  }

  layersPart() {
    if (this.own || (this.text.on_words === null && !this.text.matrix)) return "";
    const body = h("div", {});
    const where = `${run}/texts/${this.row}/heads.json`;
    const show = () => {
      state.set({ layers: "1" });
      return layers(body, where, { tokens: this.text.tokens, choose: (site) => this.go({ site }) });
    };
    body.append(h("button", { type: "button", click: show }, "show every layer and head"));
    if (state.get("layers") === "1") show();
    return h("section", { id: "layers" }, h("h2", {}, "Layers and heads"), body);
  }

  box() {
    const submit = (text, second) => {
      if (this.own && this.text) return this.go({ text, second });
      return location.assign(`${run}/read?${new URLSearchParams({ text, ...(second && { second }) })}`);
    };
    const pairs = this.own ? ["pair", "answer"].includes(this.given.task) : Boolean(this.given.second) && !this.given.matrix;
    return ownText({ value: this.own ? state.get("text") : "", second: pairs, secondValue: state.get("second") ?? "", submit });
  }

  modelsPart() {
    this.select = h("select", { "aria-label": "Another run", change: (event) => (state.set({ with: event.target.value }), this.beside()) }, h("option", { value: "" }, "no other model"));
    return h("section", { id: "models" }, h("h2", {}, "Another model on the same text"), h("form", { class: "line", submit: (event) => event.preventDefault() }, h("label", {}, "beside ", this.select)), this.otherPart);
  }

  async beside() {
    await this.fillSelect();
    const id = state.get("with");
    const before = this.other;
    this.other = null;
    this.otherPart.replaceChildren();
    if (!id) return before ? this.drawMaps() : null;
    const second = this.text.matrix ? null : this.text.second;
    try {
      this.other = await post(`/runs/${encodeURIComponent(id)}/read.json`, { tokens: this.text.tokens, ...(second && { second }) });
    } catch (error) {
      return fail(this.otherPart, error);
    }
    const best = this.other.predicted ?? argmax(this.other.probabilities);
    const same = sameTokens(this.other, this.text);
    this.otherPart.replaceChildren(
      h("p", { id: "other-says" }, `${visible(id, 80)} predicts `, h("b", {}, `${className(namesOf(this.other), best)} (${percent(this.other.confidence ?? this.other.probabilities[best])})`), same ? "; its scores stand below this model’s in the heat maps, as “beside”." : "; it cuts the text into other words."),
    );
    if (same) return this.drawMaps();
    const maps = h("div", {});
    this.otherPart.append(maps);
    return heatmap(maps, { tokens: this.other.tokens, rows: rowsOf(this.other), legend: false, label: "Heat maps of the other model" });
  }

  async fillSelect() {
    this.runs ??= (await get("/home.json").catch(() => ({ runs: [] }))).runs;
    const here = document.body.dataset.run;
    const mine = this.runs.find((each) => each.id === here);
    const fit = this.runs.filter((each) => each.id !== here && each.texts && (!mine || each.corpus === mine.corpus)).slice(0, 200);
    const name = (each) => [each.model, each.attention, each.seed === null ? null : `seed ${each.seed}`, each.id].filter(Boolean).join(" · ");
    this.select.replaceChildren(h("option", { value: "" }, fit.length ? "no other model" : "no other run of this corpus"), ...fit.map((each) => h("option", { value: each.id }, visible(name(each), 90))));
    this.select.value = state.get("with") ?? "";
    this.select.disabled = !fit.length;
  }
}
