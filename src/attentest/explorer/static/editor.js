// The weight editor: a bar above every word. Move it, and the prediction moves, exactly.
import { direction, h, number, roving, visible, visibleToken } from "./base.js";
import { argmax, edited, jsd, mixed, parsed, permuted, softmax, tvd, uniform, without, written } from "./maths.js";

const STEP = 0.01;
const SCALES = [0.02, 0.05, 0.1, 0.2, 0.5, 1];
const MOST = 6; // classes shown
const ROUNDING = 1e-9; // the adversary goes to ε itself
const WAIT = 120; // milliseconds without a change before the model is asked

/** A weight as it is typed. */
const shortly = (weight) => Number(weight.toFixed(6));

/**
 * Put an editor into a container.
 *
 * text: {tokens, attention, classes, probabilities, token_logits|null, epsilon, adversary?, flip_set?, label?}.
 * reread(weights) → {probabilities}: asks the model where the head is not affine. Of very many classes it tells
 * {top: [{class, probability}], written, jsd, tvd} instead.
 * attack(kind) → the text with its adversary, or its flip_set, where findings hold none.
 * start: weights as an address carries them. changed(start, found): told after every change.
 */
export function editor(container, text, { reread = null, attack = null, start = "own", changed = () => {} } = {}) {
  const { tokens, classes } = text;
  const exact = Array.isArray(text.token_logits);
  const own = text.attention;
  const before = exact ? softmax(mixed(own, text.token_logits)) : (text.probabilities ?? null);
  const bases = {
    own: () => own,
    uniform: () => uniform(own.length),
    adversary: () => text.adversary?.weights ?? own,
    flip: () => without(own, text.flip_set ?? []),
  };
  const baseOf = (name) => (name.startsWith("perm.") ? permuted(own, Number(name.slice(5)) || 1) : (bases[name] ?? bases.own)());
  let { base, edits } = parsed(start, tokens.length);
  let weights = edited(baseOf(base), edits);
  let chosen = 0;
  let scale = 1;
  let asked = 0;
  let timer = null;

  const panel = results(text, before);
  const words = h("div", { class: "words", dir: direction(tokens), role: "group", "aria-label": "Weights of the words" });
  const bars = tokens.map((token, place) => barOf(token, place));
  words.append(...bars.map((bar) => bar.cell));
  const value = h("input", { type: "number", min: 0, max: 1, step: 0.001, inputmode: "decimal", "aria-label": "Weight of the chosen word", change: (event) => typed(event.target.value), keydown: entered });
  const name = h("output", { class: "chosen", dir: "auto" });
  const scaleNote = h("span", { class: "scale" });
  const one = h(
    "div",
    { class: "one", role: "group", "aria-label": "The chosen word" },
    name,
    h("label", {}, "weight ", value),
    act("zero it", "No weight on this word; the others scale", () => set(chosen, 0)),
    act("spread it evenly", "Its weight goes to all others in equal parts", () => change({ place: chosen, even: true })),
    act("reset it", "The weight that the model gave it", () => set(chosen, own[chosen])),
    scaleNote,
  );
  const sets = h("div", { class: "sets", role: "group", "aria-label": "Weights to begin from" }, setButtons());
  container.replaceChildren(panel.element, sets, one, words);
  roving(words, ".bar", { keys: ["ArrowLeft", "ArrowRight"] });
  rescale();
  choose(0);
  update();

  function setButtons() {
    return [
      begin("own", "the model’s own", "The weights that the model gave"),
      begin("uniform", "uniform", "The same weight on every word"),
      act("permuted", "The model’s weights in another order; another at each press", () => begun(`perm.${base.startsWith("perm.") ? Number(base.slice(5)) + 1 : 1}`), "perm"),
      fetched("adversary", "adversary", "Weights as different as can be found that keep the prediction within ε", "adversary", () => Boolean(text.adversary?.weights)),
      fetched("flip", "smallest flip set", "The fewest words without whose weight the decision changes", "flip_set", () => Boolean(text.flip_set?.length)),
    ];
  }

  /** Weights that findings may hold, or the model finds. */
  function fetched(key, label, title, kind, known) {
    const press = async (event) => {
      const button = event.currentTarget;
      try {
        if (!known()) {
          panel.wait();
          Object.assign(text, await attack(kind));
        }
        if (!known()) throw new Error("No set of words flips this decision.");
        begun(key);
      } catch (error) {
        panel.failed(error);
        button.disabled = true;
      }
    };
    return act(label, known() || attack ? title : "Not in this run’s findings", press, key, !known() && !attack);
  }

  function begin(key, label, title) {
    return act(label, title, () => begun(key), key);
  }

  function act(label, title, press, key = null, disabled = false) {
    return h("button", { type: "button", title, "data-base": key, "aria-pressed": key ? "false" : null, disabled, click: press }, label);
  }

  function begun(key) {
    base = key;
    edits = [];
    weights = baseOf(base);
    rescale();
    update();
  }

  function barOf(token, place) {
    const fillOf = h("span", { class: "fill" });
    const ownMark = h("span", { class: "own-mark" });
    const bar = h(
      "div",
      { class: "bar", role: "slider", tabindex: -1, "aria-orientation": "vertical", "aria-valuemin": 0, "aria-valuemax": 1, "aria-label": `Weight of word ${place + 1}, ${visibleToken(token, 40)}` },
      ownMark,
      fillOf,
    );
    bar.addEventListener("focus", () => choose(place));
    bar.addEventListener("keydown", (event) => stepped(event, place));
    bar.addEventListener("pointerdown", (event) => drag(event, place));
    const shown = h("span", { class: "word", dir: "auto", click: () => bar.focus() }, visibleToken(token, 60));
    const figure = h("span", { class: "figure" });
    return { bar, fillOf, ownMark, figure, cell: h("div", { class: "cell" }, bar, figure, shown) };
  }

  function stepped(event, place) {
    const far = event.shiftKey ? 10 : 1;
    const to = {
      ArrowUp: weights[place] + STEP * far,
      ArrowDown: weights[place] - STEP * far,
      PageUp: weights[place] + 0.1,
      PageDown: weights[place] - 0.1,
      Home: 0,
      End: 1,
      Delete: 0,
      Backspace: 0,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    set(place, Number(to.toFixed(6)));
    rescale();
  }

  function drag(event, place) {
    if (event.button !== 0) return;
    event.preventDefault();
    const { bar } = bars[place];
    bar.focus();
    bar.setPointerCapture(event.pointerId);
    const box = bar.getBoundingClientRect();
    const move = (moved) => set(place, Number(Math.min(Math.max(((box.bottom - moved.clientY) / box.height) * scale, 0), 1).toFixed(4)));
    const end = () => {
      bar.removeEventListener("pointermove", move);
      rescale();
      update();
    };
    bar.addEventListener("pointermove", move);
    bar.addEventListener("pointerup", end, { once: true });
    bar.addEventListener("pointercancel", end, { once: true });
    move(event);
  }

  /** Enter counts by itself: a notebook takes it for its own, and no change follows. */
  function entered(event) {
    if (event.key === "Enter") typed(event.target.value);
  }

  function typed(text) {
    const to = Number(text);
    if (text.trim() === "" || !Number.isFinite(to)) {
      value.value = shortly(weights[chosen]);
      return;
    }
    set(chosen, Math.min(Math.max(to, 0), 1));
    rescale();
  }

  function set(place, to) {
    change({ place, value: Math.min(Math.max(to, 0), 1) });
  }

  function change(edit) {
    const last = edits.at(-1);
    // Moving one bar up and down is one edit: it begins from where the others stood before it.
    if (last && last.place === edit.place && !last.even && !edit.even) edits = [...edits.slice(0, -1), edit];
    else edits = [...edits, edit];
    weights = edited(baseOf(base), edits);
    update();
  }

  function choose(place) {
    bars[chosen].cell.classList.remove("at");
    chosen = place;
    bars[place].cell.classList.add("at");
    name.textContent = visibleToken(tokens[place], 40);
    value.value = shortly(weights[place]);
  }

  function rescale() {
    const most = Math.max(...weights, ...own);
    scale = SCALES.find((each) => each >= most * 1.02) ?? 1;
    scaleNote.textContent = `full bar: ${scale}; the line is the model’s own weight`;
    draw();
  }

  function draw() {
    bars.forEach(({ bar, fillOf, ownMark, figure }, place) => {
      const weight = weights[place];
      fillOf.style.setProperty("--h", Math.min(weight / scale, 1).toFixed(4));
      ownMark.style.setProperty("--h", Math.min(own[place] / scale, 1).toFixed(4));
      bar.setAttribute("aria-valuenow", shortly(weight));
      bar.setAttribute("aria-valuetext", number(weight));
      figure.textContent = weight >= 0.0995 ? weight.toFixed(2) : weight >= 0.0005 ? weight.toFixed(3).slice(1) : "0";
    });
    if (value.getRootNode().activeElement !== value) value.value = shortly(weights[chosen]);
    for (const button of sets.querySelectorAll("[data-base]"))
      button.setAttribute("aria-pressed", String(!edits.length && base.split(".")[0] === button.dataset.base));
  }

  function update() {
    draw();
    if (exact) show(softmax(mixed(weights, text.token_logits)));
    else if (before && !edits.length && base === "own") show(before);
    else ask();
  }

  function ask() {
    panel.wait();
    clearTimeout(timer);
    const mine = (asked += 1);
    const sent = weights;
    timer = setTimeout(async () => {
      try {
        const found = await reread(sent);
        if (mine === asked) show(found.probabilities, found);
      } catch (error) {
        if (mine === asked) panel.failed(error);
      }
    }, WAIT);
  }

  function show(probabilities, said = {}) {
    const moved = probabilities && before ? tvd(before, probabilities) : (said.tvd ?? 0);
    const found = { ...said, probabilities, predicted: probabilities ? argmax(probabilities) : said.predicted, jsd: jsd(own, weights), tvd: moved, weights };
    panel.show(found);
    changed(base === "own" && !edits.length ? null : written(base, edits), found);
  }

  return {
    weights: () => weights.slice(),
    set,
    begin: begun,
  };
}

/** What the model makes of the weights: a bar for each class, the decision, how far weights and prediction moved. */
function results({ classes, label, epsilon, predicted: decided }, before) {
  const was = before ? argmax(before) : decided;
  const name = (place, written) => visible(written ?? classes[place] ?? place, 60);
  const decision = h("output", { class: "decision", "aria-live": "polite" });
  const figures = { jsd: h("output", { "data-figure": "jsd" }), tvd: h("output", { "data-figure": "tvd" }) };
  const within = h("span", { class: "within", "data-figure": "within" });
  const chances = h("div", { class: "chances" });
  const element = h(
    "div",
    { class: "results" },
    decision,
    chances,
    h(
      "dl",
      { class: "moved" },
      h("dt", {}, "weights moved (JSD)"),
      h("dd", {}, figures.jsd, " nats of at most 0.693"),
      h("dt", {}, "prediction moved (TVD)"),
      h("dd", {}, figures.tvd, " ", within),
    ),
  );

  /** Which classes are shown: all, or the likeliest under the model's own weights and the one decided now. */
  function listed({ probabilities, predicted, top }) {
    if (!probabilities) return (top ?? []).slice(0, MOST).map(({ class: word, probability }, i) => ({ word, probability, first: i === 0 }));
    const order = before.map((_, i) => i);
    const shown = classes.length > MOST ? order.sort((a, b) => before[b] - before[a]).slice(0, MOST - 1) : order;
    if (!shown.includes(predicted)) shown.push(predicted);
    return shown.map((i) => ({ word: classes[i], probability: probabilities[i], own: before[i], first: i === predicted }));
  }

  const rowOf = ({ word, probability, own, first }) => {
    const mark = first ? " decided" : "";
    const style = { "--p": `${(100 * probability).toFixed(3)}%`, "--was": `${(100 * (own ?? 0)).toFixed(3)}%` };
    return [
      h("span", { class: `class${mark}`, dir: "auto" }, visible(word, 60)),
      h("span", { class: `chance${mark}`, style }, own === undefined ? "" : h("span", { class: "was" })),
      h("span", { class: `p${mark}`, "data-value": probability }, probability.toFixed(4)),
    ];
  };

  return {
    element,
    wait: () => element.classList.add("waiting"),
    failed: (error) => {
      element.classList.remove("waiting");
      decision.textContent = visible(error.message, 300);
    },
    show(found) {
      const { predicted, jsd: weightsMoved, tvd: moved } = found;
      element.classList.remove("waiting");
      chances.replaceChildren(...listed(found).flatMap(rowOf));
      const truth = label === null || label === undefined ? "" : `; true label: ${name(label)}`;
      decision.textContent = (predicted === was ? `Decides ${name(predicted, found.written)}, as with its own weights` : `Decides ${name(predicted, found.written)} instead of ${name(was)}`) + truth;
      decision.classList.toggle("flipped", predicted !== was);
      for (const [key, figure] of [["jsd", weightsMoved], ["tvd", moved]]) {
        figures[key].textContent = number(figure, 4);
        figures[key].dataset.value = figure;
      }
      const inside = moved <= epsilon + ROUNDING;
      within.textContent = epsilon === null || epsilon === undefined ? "" : inside ? `≤ ε = ${epsilon}: the prediction is kept` : `> ε = ${epsilon}: the prediction is not kept`;
      within.classList.toggle("yes", inside);
      within.classList.toggle("no", !inside);
    },
  };
}
