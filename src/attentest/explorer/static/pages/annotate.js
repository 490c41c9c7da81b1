// An annotator's page: consent, instructions, items, done. What is shown as saved is on the server's disk.
import { Clock } from "../annotate/clock.js";
import { itemOf } from "../annotate/item.js";
import { Kept, newNonce, Outbox, settled } from "../annotate/outbox.js";
import { count, fail, get, h, post, start, state as address } from "../base.js";
import { twin } from "./parts.js";

const EARLY = 250; // milliseconds: the second press of a double one is no answer to the next item
const PATIENCE = 15000; // milliseconds that an answer may take on its way
const KEYS = "attentest/people/keys";
const byId = (id) => document.getElementById(id);

class Session {
  constructor(main, found) {
    this.main = main;
    this.base = twin().replace(/\.json$/, "");
    this.far = found;
    this.given = new Map(Object.entries(found.given));
    this.items = new Map();
    this.item = null;
    this.gone = false;
    this.clock = new Clock();
    this.kept = new Kept(`attentest/people/${found.keep}`);
    this.outbox = new Outbox({
      kept: this.kept,
      send: (op) => this.send(op),
      acknowledged: (...all) => this.acknowledged(...all),
      refused: (op, error) => this.refused(op, error),
      waiting: (pause) => this.says("waiting", pause),
    });
    byId("agree").addEventListener("click", () => this.agree());
    byId("begin").addEventListener("click", () => this.forward());
    document.addEventListener("keydown", (event) => this.key(event));
    addEventListener("popstate", () => this.back());
    addEventListener("online", () => this.outbox.now());
    addEventListener("beforeunload", (event) => this.outbox.size && !this.gone && event.preventDefault());
  }

  open() {
    const { send, drop, clash } = settled(this.kept.all(), { given: Object.fromEntries(this.given), last: this.far.last });
    drop.forEach((op) => this.kept.drop(op));
    if (!this.far.consented) return this.show("consent");
    if (clash) this.notice("An answer that could not be sent from here was replaced by a later one. Look at it again, please.");
    const wanted = clash?.item ?? address.get("item");
    if (send.length) {
      this.says("sending");
      this.outbox.add(...send);
    }
    if (wanted && (clash || this.given.has(wanted))) return this.visit(wanted);
    return this.far.done || this.far.finished ? this.forward() : this.show("instructions");
  }

  // What is seen

  /** One of the parts; instructions stay within reach while items are answered. */
  show(part) {
    this.part = part;
    for (const id of ["consent", "instructions", "work"]) byId(id).hidden = id !== part;
    if (part === "instructions") byId("instructions").prepend(byId("told"));
    if (part !== "work") this.item = null;
    this.drawFar();
    scrollTo(0, 0);
  }

  drawFar() {
    const { done, total, consented } = this.far;
    byId("far").hidden = !consented || this.gone;
    byId("far").replaceChildren(h("span", {}, `${count(done)} of ${count(total)}`), " ", h("progress", { max: total, value: done, "aria-label": `${done} of ${total} answered` }));
  }

  notice(text) {
    byId("notice").replaceChildren(text ? h("p", { class: "failed", role: "alert" }, text) : "");
  }

  /** Whether what was answered is saved; not before the server said so. */
  says(what, pause = 0) {
    const line = byId("sent");
    line.dataset.state = what;
    const again = () => h("button", { type: "button", click: () => this.outbox.now() }, "try now");
    if (what === "saved") line.replaceChildren("✓ saved");
    else if (what === "sending") line.replaceChildren("saving…");
    else if (what === "waiting") line.replaceChildren(h("b", {}, "Not saved yet."), ` The study cannot be reached; next try in ${pause < 1000 ? "a moment" : `${Math.round(pause / 1000)} s`}. Keep this page open. `, again());
    else line.replaceChildren();
  }

  /** Where earlier ones wait for a connection, this one does, too. */
  sending() {
    if (!this.outbox.size) this.says("sending");
  }

  showItem(item, { push = true } = {}) {
    this.items.set(item.id, item);
    const again = address.get("item") === item.id;
    address.set({ item: item.id }, { push: push && !again && address.get("item") !== null });
    this.show("work");
    this.item = item;
    const number = this.given.has(item.id) ? [...this.given.keys()].indexOf(item.id) + 1 : this.far.done + 1;
    byId("work").replaceChildren(...itemOf(item, { given: this.given.get(item.id) ?? null, choose: (value) => this.choose(value), number, total: this.far.total }), this.tools());
    this.since = performance.now();
    this.clock.start();
    byId("work").querySelector("h1").focus({ preventScroll: true });
  }

  showDone() {
    address.set({ item: null }, { push: address.get("item") !== null });
    this.show("work");
    byId("work").replaceChildren(
      h("h1", { tabindex: -1 }, "All done"),
      h("p", { class: "lead" }, `You answered all ${count(this.far.total)} items, and every answer is saved. Thank you! You may close this page.`),
      this.tools(),
    );
    this.since = performance.now();
    byId("work").querySelector("h1").focus({ preventScroll: true });
  }

  /** Undo, keys on or off, the instructions again, and the way out. */
  tools() {
    const keys = h("input", { type: "checkbox", change: (event) => stored(KEYS, event.target.checked ? "on" : "off") });
    keys.checked = stored(KEYS) !== "off";
    return h(
      "footer",
      { class: "tools" },
      h("div", { class: "line" }, h("button", { type: "button", id: "undo", "aria-keyshortcuts": "u", disabled: !this.lastItem(), click: () => this.undo() }, h("kbd", { "aria-hidden": "true" }, "u"), " take back my last answer"), this.item ? h("label", {}, keys, " answer by keys") : ""),
      h("details", {}, h("summary", {}, "Instructions"), byId("told")),
      h("details", {}, h("summary", {}, "Withdraw from the study"), h("p", {}, "You may stop at any time, without giving a reason; close the page, and come back by the same link if you like. If you withdraw, all of your answers are deleted for good, and this link no longer works."), h("button", { type: "button", id: "withdraw", click: () => this.askToWithdraw() }, "Withdraw and delete my answers …")),
    );
  }

  // What an annotator does

  async agree() {
    try {
      this.far = await post(`${this.base}/consent.json`, { version: byId("consent").dataset.version }, AbortSignal.timeout(PATIENCE));
    } catch (error) {
      if (error.status === 400) return this.reload(); // the texts were changed: they are read again
      return this.notice(error.status ? error.message : "There is no connection to the study. Please try again in a moment.");
    }
    this.notice("");
    if (this.kept.all().length) return this.open();
    this.show("instructions");
    byId("begin").focus({ preventScroll: true });
  }

  /** To the first item without an answer, or to the end. */
  forward({ push = true } = {}) {
    if (!this.far.consented) return this.reload();
    return this.far.finished ? this.showDone() : this.showItem(this.far.item, { push });
  }

  /** The browser's way back: an item that was seen before, with its answer, to be answered again. */
  back() {
    const wanted = address.get("item");
    if (!this.far.consented || this.gone) return null;
    return wanted ? this.visit(wanted) : this.forward();
  }

  async visit(id) {
    try {
      if (!this.items.has(id)) this.items.set(id, (await get(`${this.base}/items/${encodeURIComponent(id)}.json`)).item);
      this.notice("");
    } catch {
      this.notice("This item cannot be shown now. Here is the one to answer next.");
      return this.forward();
    }
    return this.showItem(this.items.get(id), { push: false });
  }

  early() {
    return this.gone || performance.now() - this.since < EARLY;
  }

  choose(value) {
    const pending = this.outbox.list.filter((op) => op.item === this.item.id).at(-1);
    if (this.early() || pending?.choice === value) return;
    for (const button of byId("work").querySelectorAll(".choice")) button.setAttribute("aria-pressed", String(button.dataset.choice === value));
    this.sending();
    this.outbox.add({ kind: "answer", item: this.item.id, choice: value, seconds: this.clock.seconds(), nonce: newNonce() });
  }

  /** The item whose answer an undo takes back, what is on its way included. */
  lastItem() {
    let last = this.far.last;
    for (const op of this.outbox.list) last = op.kind === "undo" ? null : op.item;
    return last;
  }

  undo() {
    const last = this.lastItem();
    if (this.early() || !last) return;
    this.sending();
    this.outbox.add({ kind: "undo", last, nonce: newNonce() });
  }

  key(event) {
    if (event.repeat || event.altKey || event.ctrlKey || event.metaKey || stored(KEYS) === "off") return;
    if (this.part !== "work" || this.gone || document.querySelector("dialog[open]")) return;
    const pressed = event.key.toLowerCase();
    const choice = this.item?.choices.find((each) => each.key.toLowerCase() === pressed);
    if (!choice && pressed !== "u") return;
    event.preventDefault();
    if (choice) this.choose(choice.value);
    else this.undo();
  }

  // What the server says

  /** An answer on its way. Only a whole acknowledgement counts: one that was cut off is no better than none. */
  async send({ kind, item, choice, nonce, seconds }) {
    const said = await post(`${this.base}/${kind}.json`, kind === "undo" ? { nonce } : { item, choice, nonce, seconds }, AbortSignal.timeout(PATIENCE));
    if (typeof said?.done !== "number") throw new Error("The acknowledgement was cut off.");
    return said;
  }

  acknowledged(op, far, left) {
    this.far = far;
    if (op.kind === "undo") this.given.delete(op.last);
    else {
      this.given.delete(op.item); // the one answered last stands last
      this.given.set(op.item, op.choice);
    }
    const line = byId("sent");
    Object.assign(line.dataset, { kind: op.kind, item: op.item ?? op.last, choice: op.choice ?? "", nonce: op.nonce });
    if (left) return;
    this.says("saved");
    this.notice("");
    if (op.kind === "undo") this.forward({ push: false });
    else if (!this.item || this.item.id === op.item) this.forward();
    else this.drawFar();
  }

  /** Where the server will never take it: it is dropped, unless the texts were changed and must be agreed to first. */
  async refused(op, error) {
    if (error.status === 404) {
      this.leave(h("h1", {}, "This link no longer works"), h("p", {}, error.message));
      return false;
    }
    const found = await get(twin());
    if (!found.consented) {
      this.reload();
      return false;
    }
    this.says("");
    this.notice(error.message);
    this.far = found;
    return true;
  }

  reload() {
    this.gone = true; // what is not sent yet is kept, and nobody need be asked
    location.reload();
  }

  // The way out

  askToWithdraw() {
    const close = () => dialog.remove();
    const dialog = h(
      "dialog",
      { "aria-labelledby": "leaving", close },
      h("h2", { id: "leaving" }, "Delete all of your answers?"),
      h("p", {}, `You answered ${count(this.far.done)} of ${count(this.far.total)} items. They are deleted for good, and nobody can bring them back.`),
      h("div", { class: "line" }, h("button", { type: "button", id: "keep", click: () => dialog.close() }, "Keep them"), h("button", { type: "button", id: "really", click: () => this.withdraw(dialog) }, "Delete them and withdraw")),
    );
    this.main.append(dialog);
    dialog.showModal();
  }

  async withdraw(dialog) {
    try {
      await post(`${this.base}/withdraw.json`, { confirm: "withdraw" });
    } catch (error) {
      return fail(dialog, error.status ? error : new Error("There is no connection to the study: nothing is deleted yet. Please try again in a moment."));
    }
    dialog.close();
    this.outbox.list.length = 0;
    this.kept.all().forEach((op) => this.kept.drop(op));
    this.leave(h("h1", { tabindex: -1 }, "You have withdrawn"), h("p", { class: "lead" }, "All of your answers are deleted. This link no longer works; you may close this page."));
    return byId("work").querySelector("h1").focus();
  }

  leave(...what) {
    this.gone = true;
    this.says("");
    address.set({ item: null });
    this.show("work");
    byId("work").replaceChildren(...what);
  }
}

/** A setting of this browser; nothing where it keeps none. */
function stored(name, value) {
  try {
    if (value === undefined) return localStorage.getItem(name);
    localStorage.setItem(name, value);
  } catch {
    // it stays as it is
  }
  return null;
}

start(async (main) => {
  const session = new Session(main, await get(twin()));
  await session.open();
});
