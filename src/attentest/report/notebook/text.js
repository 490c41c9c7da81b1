// Heat maps and the weight editor of the explorer in a notebook. They stand in a shadow tree, so that their style stays inside, and
// are loaded from the text of their modules, so that nothing is fetched.
const MODULES = /*modules*/ {};
const STYLE = /*style*/ "";

async function load() {
  const urls = {};
  for (const [name, source] of Object.entries(MODULES)) {
    const linked = Object.entries(urls).reduce((text, [known, url]) => text.replaceAll(`"./${known}"`, JSON.stringify(url)), source);
    urls[name] = URL.createObjectURL(new Blob([linked], { type: "text/javascript" }));
  }
  const found = await Promise.all(Object.keys(urls).map((name) => import(urls[name])));
  Object.values(urls).forEach((url) => URL.revokeObjectURL(url));
  return Object.assign({}, ...found);
}

function part(parent, title) {
  const section = document.createElement("section");
  const head = document.createElement("h3");
  head.textContent = title;
  const body = document.createElement("div");
  section.append(head, body);
  parent.append(section);
  return body;
}

async function render({ model, el }) {
  const text = model.get("text");
  const place = document.createElement("div");
  // JupyterLab's shortcuts, as 0 0 or arrow keys, would take what is typed into the shadow tree for theirs.
  place.dataset.lmSuppressShortcuts = "true";
  const root = place.attachShadow({ mode: "open" });
  el.replaceChildren(place);
  const style = document.createElement("style");
  style.textContent = STYLE;
  const page = document.createElement("div");
  page.className = "page";
  root.append(style, page);
  const { editor, heatmap } = await load();
  const rows = Object.entries({ attention: text.attention, ...text.explainers }).map(([name, scores]) => ({ name, scores }));
  const maps = part(page, "What every explainer says of the words");
  if (text.token_logits) {
    const changed = part(page, "Change a weight, and see");
    changed.className = "card editor";
    editor(changed, text);
  }
  requestAnimationFrame(() => heatmap(maps, { tokens: text.tokens, rows }));
}

export default { render };
