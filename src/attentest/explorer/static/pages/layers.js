// Every layer and head over a text: small pictures; one can be opened, and its weights edited.
import { fail, get, h, inWords, number, percent, state, visible, visibleToken } from "../base.js";
import { heatmap } from "../heatmap.js";
import { spark } from "../plot.js";

/** The grid. where: heads.json of the text. choose(site): the page is read at that site. */
export async function layers(container, where, { tokens, choose }) {
  container.replaceChildren(h("p", { class: "small", role: "status" }, "The model is asked …"));
  const word = state.get("word");
  let found;
  try {
    found = await get(`${where}${word === null ? "" : `?word=${encodeURIComponent(word)}`}`);
  } catch (error) {
    container.replaceChildren();
    return fail(container, error);
  }
  const pick = h("select", { change: (event) => (state.set({ word: event.target.value }), layers(container, where, { tokens, choose })) }, h("option", { value: "" }, "the row that the model decides by"), found.tokens.map((token, i) => h("option", { value: i }, `${i + 1}: ${visibleToken(token, 30)}`)));
  pick.value = word ?? "";
  const one = h("div", {});
  const open = (head) => {
    for (const button of grid.querySelectorAll(".head")) button.setAttribute("aria-pressed", String(button.dataset.site === head.site));
    const rows = [{ name: head.site, scores: head.weights }, ...(found.rollout ? [{ name: "rollout", scores: found.rollout }] : [])];
    const map = h("div", {});
    one.replaceChildren(h("p", { class: "line" }, h("b", {}, visible(head.site, 80)), h("small", {}, `${percent(head.on_words)} of it lies on words`), h("button", { type: "button", click: () => choose(head.site) }, "edit the weights here")), map);
    heatmap(map, { tokens: found.tokens, rows, legend: false, label: `Weights of ${head.site}` });
  };
  const grid = h(
    "div",
    { class: "layer-rows" },
    found.layers.map((layer) =>
      h(
        "div",
        { class: "layer" },
        h("h4", {}, inWords(layer.name)),
        h(
          "div",
          { class: "layers" },
          layer.heads.map((head, i) => h("button", { class: "head", type: "button", "data-site": head.site, "aria-pressed": "false", "aria-label": `${visible(head.site, 80)}, largest weight ${number(Math.max(...head.weights))}`, click: () => open(head) }, spark(head.weights, ""), `head ${i + 1}`)),
        ),
      ),
    ),
  );
  container.replaceChildren(h("form", { class: "line", submit: (event) => event.preventDefault() }, h("label", {}, "weights in the row of ", pick)), grid, one);
  const first = found.layers.flatMap((layer) => layer.heads).find((head) => head.site === (state.get("site") || found.site)) ?? found.layers.at(-1)?.heads[0];
  if (first) open(first);
  return null;
}
