// A text of the run's corpus.
import { start } from "../base.js";
import { openText } from "./one_text.js";

start((main) => openText(main, Number(document.body.dataset.row)));
