// The ROC curves of one test: each point is a model whose truth is known.
import { fail, get, h, number, visible } from "../base.js";
import { curve } from "../plot.js";

/** Where every model stands on the curve: behind all with a higher value, and with those of the same. */
export function placed({ curve: found, models, direction }) {
  const values = models.map((model) => direction * model.value);
  const cuts = [...new Set(values)].sort((a, b) => b - a);
  const place = new Map(cuts.map((value, i) => [value, i + 1]));
  return models
    .map((model, i) => ({ at: place.get(values[i]), faithful: model.faithful, name: `${model.mechanism} in ${model.world}: ${number(model.value)}, truth ${number(model.truth, 2)}` }))
    .map((model) => ({ ...model, x: found.false[model.at], y: found.true[model.at] }))
    .sort((a, b) => a.at - b.at);
}

/** Draw the curves of a test, one for every use that it can be asked about. */
export async function rocPanel(container, test, uses) {
  container.replaceChildren(h("h2", {}, `ROC of ${visible(test.words, 120)}`));
  const asked = Object.entries(uses).filter(([truth]) => test.auroc[truth]?.value !== undefined && test.auroc[truth].value !== null);
  try {
    const figures = await Promise.all(asked.map(([truth, use]) => figure(test, truth, use)));
    container.append(h("div", { class: "panels" }, figures));
  } catch (error) {
    fail(container, error);
  }
}

async function figure(test, truth, use) {
  const found = await get(`/calibration/${encodeURIComponent(test.name)}.json?truth=${truth}`);
  const members = placed(found);
  const where = h("div", {});
  const line = found.curve.false.map((x, i) => [x, found.curve.true[i]]);
  curve(where, { line, members, title: `${test.name}, to ${use}`, x: "unfaithful told faithful", y: "faithful told faithful" });
  const kinds = [["", "clearly faithful"], ["k1", "clearly unfaithful"]].map(([kind, label]) => h("span", {}, h("span", { class: `dot ${kind}` }), label));
  return h("figure", { class: "plot card" }, h("h3", {}, `To ${use}: AUROC ${number(found.auroc.value, 2)}`), where, h("figcaption", {}, h("p", { class: "keys" }, kinds), `${members.length} models; hover over one for its name.`), list(members));
}

/** The models as a list, from the one that the test finds most faithful. */
function list(members) {
  return h("details", {}, h("summary", {}, "the models, the highest score first"), h("ol", { class: "members", tabindex: 0, "aria-label": "Models" }, members.map((member) => h("li", {}, visible(member.name, 160), h("small", {}, member.faithful ? " faithful" : " unfaithful")))));
}
