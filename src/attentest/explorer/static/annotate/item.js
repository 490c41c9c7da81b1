// One item as it is seen: words, what is marked in them, what the program answered, the question and its choices.
import { direction, h, visible, visibleToken } from "../base.js";

const COVERED = "…";
const LEAST = 0.02; // a shade below this is none

/** A word. What is marked is heavier and underlined, what is shaded has a line as thick: colour alone says nothing. */
function word(panel, marked, place) {
  const token = panel.tokens[place];
  if (token === COVERED) return h("span", { class: "covered" }, COVERED, h("span", { class: "unseen" }, " (covered words) "));
  const text = visibleToken(token);
  if (marked.has(place)) return h("mark", { class: "word marked", dir: "auto" }, h("span", { class: "unseen" }, "marked: "), text);
  const shade = panel.shades[place] ?? 0;
  if (shade < LEAST) return h("span", { class: "word", dir: "auto" }, text);
  return h("span", { class: "word shade", dir: "auto", style: { "--a": shade.toFixed(3) } }, text, h("span", { class: "unseen" }, ` (${Math.round(100 * shade)} %)`));
}

/** A text with its marks. */
export function panelOf(panel, several) {
  const marked = new Set(panel.marked);
  const words = panel.tokens.flatMap((_, place) => [word(panel, marked, place), " "]);
  return h(
    "section",
    { class: "panel card", "aria-label": panel.title ? `Text, ${panel.title}` : "Text" },
    several && panel.title ? h("h2", { class: "side" }, visible(panel.title, 60)) : "",
    h("p", { class: "words-of", dir: direction(panel.tokens) }, words),
  );
}

const legend = () => h("p", { class: "small key-of" }, "Less ", h("span", { class: "steps", "aria-hidden": "true" }, [0.15, 0.4, 0.7, 1].map((a) => h("span", { class: "shade", style: { "--a": String(a) } }, "word"))), " more: stronger colour, thicker line.");

/** The parts of an item. choose(value): what a press on a choice does; given: the choice that counts, or null. */
export function itemOf(item, { given, choose, number, total }) {
  const several = item.panels.length > 1;
  const buttons = item.choices.map((choice) =>
    h("button", { type: "button", class: "choice", "data-choice": choice.value, "aria-pressed": String(choice.value === given), "aria-keyshortcuts": choice.key, click: () => choose(choice.value) }, h("kbd", { "aria-hidden": "true" }, visible(choice.key, 4)), " ", visible(choice.words, 120)),
  );
  return [
    h("h1", { class: "unseen", tabindex: -1 }, `Item ${number} of ${total}`),
    item.second ? h("p", { class: "with", dir: "auto" }, h("small", {}, "Together with: "), visible(item.second, 2000)) : "",
    h("div", { class: several ? "panels two" : "panels" }, item.panels.map((panel) => panelOf(panel, several))),
    item.panels.some((panel) => panel.shades.length) ? legend() : "",
    h(
      "div",
      { class: "asking card" },
      item.prediction ? h("p", { class: "predicted" }, "The program’s answer: ", h("b", { dir: "auto" }, visible(item.prediction, 200))) : "",
      h("h2", { id: "question" }, visible(item.question, 400)),
      h("div", { class: "choices", role: "group", "aria-labelledby": "question" }, buttons),
    ),
  ];
}
