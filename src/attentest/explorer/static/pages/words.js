// What is said of a text's words and classes: names, rows of heat maps, edits as the address has them.
import { h, percent, visible, visibleToken } from "../base.js";
import { argmax } from "../maths.js";

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

/** The names of the classes; where classes are words, those that are known, and numbers for the others. */
export function namesOf(text) {
  const length = text.probabilities?.length ?? text.token_logits?.[0]?.length ?? text.classes.length;
  if (text.classes.length >= length && !text.matrix) return text.classes;
  const names = Array.from({ length: Math.max(length, (text.predicted ?? 0) + 1, (text.label ?? 0) + 1) }, (_, i) => `word ${i}`);
  if (text.label !== null && text.label !== undefined && text.word) names[text.label] = text.word;
  if (text.predicted !== null && text.predicted !== undefined && text.written) names[text.predicted] = text.written;
  return names;
}

export const className = (names, value) => (value === null || value === undefined ? "–" : visible(names[value] ?? value, 60));

export const sameTokens = (one, other) => one.tokens.length === other.tokens.length && one.tokens.every((token, i) => token === other.tokens[i]);

/** The rows of the heat map: attention first, then every explainer, then people's rationale. */
export function rowsOf(text, prefix = "") {
  const rows = text.attention ? [{ name: `${prefix}attention`, scores: text.attention, signed: false }] : [];
  for (const [name, scores] of Object.entries(text.explainers ?? {})) if (name !== "attention" && scores) rows.push({ name: prefix + name, scores });
  if (!prefix && text.rationale) rows.push({ name: text.marks === "planted" ? "planted words" : "people’s rationale", scores: text.rationale.map(Number), signed: false, hue: "other" });
  return rows;
}

/** What was changed in a text, what that did to the prediction, and how to take it back. */
export function changedText(page) {
  const { given, text, edits, names } = page;
  const undo = [...edits].map(([place, word]) => {
    const old = visibleToken(given.tokens[place] ?? "", 30);
    return h("button", { type: "button", title: "Take this change back", click: () => page.change(place, undefined) }, word === null ? `without “${old}” ×` : `“${old}” → “${visible(word, 30)}” ×`);
  });
  const old = given.predicted ?? argmax(given.probabilities);
  const now = text.predicted ?? argmax(text.probabilities);
  const chances = given.probabilities && text.probabilities ? ` ${percent(given.probabilities[old])} → ${percent(text.probabilities[old])}` : "";
  const moved = `${className(names, old)}${chances}${old === now ? "" : `: the decision changes to ${className(names, now)}`}`;
  return h("div", { class: "line", id: "changes" }, undo, h("b", {}, moved), h("button", { type: "button", click: () => page.reset() }, "back to the text as it is"));
}
