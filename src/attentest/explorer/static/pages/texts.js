// All texts of a run.
import { h, start } from "../base.js";
import { TextList } from "./list.js";
import { runPath } from "./parts.js";

start(async (main) => {
  const list = new TextList();
  main.replaceChildren(
    h("p", { class: "crumbs" }, h("a", { href: "/" }, "Runs"), " › ", h("a", { href: runPath() }, document.body.dataset.run), " › texts"),
    h("h1", {}, "Texts"),
    list.element,
  );
  list.element.querySelector("h2").className = "unseen";
  addEventListener("popstate", () => list.open());
  await list.open();
});
