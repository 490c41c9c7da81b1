// Parts that several pages share.
import { h, visible } from "../base.js";

/** The path of the run that this page is about. */
export const runPath = () => location.pathname.split("/").slice(0, 3).join("/");

/** A text by its id, or by its number. */
export const textName = (text, row) => (text.id === undefined || text.id === null || text.id === "" ? `text ${row}` : `text ${visible(text.id, 60)}`);

/** A box for a text of one's own. submit(text, second): what happens then. */
export function ownText({ value = "", second = false, secondValue = "", submit }) {
  const box = h("textarea", { maxlength: 20000, "aria-label": "Your own text", dir: "auto", placeholder: "Type a text, and see what the model makes of it" });
  box.value = value ?? "";
  const other = second && h("textarea", { maxlength: 20000, "aria-label": "The second text", dir: "auto", placeholder: "The second text: question, hypothesis, aspect" });
  if (other) other.value = secondValue;
  const send = (event) => {
    event.preventDefault();
    if (box.value.trim()) submit(box.value, other ? other.value : null);
  };
  return h("form", { class: "own-text", submit: send }, box, other || "", h("div", { class: "line" }, h("button", { type: "submit" }, "read it")));
}

/** The three answers as words a class can be made of: "with care" → with-care. */
export const tone = (answer) => String(answer ?? "cannot say").toLowerCase().replaceAll(" ", "-");

/** How a claim came out, and the tone of it. */
export const STATUSES = { agrees: "supports", differs: "against-use", unsettled: "mixed", "not run": "context", unavailable: "context" };

/** The address of this page's data. */
export const twin = () => document.querySelector('link[rel="alternate"][type="application/json"]').getAttribute("href");
