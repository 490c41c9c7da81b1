// A text of one's own, read by the run's model.
import { start } from "../base.js";
import { openText } from "./one_text.js";

start((main) => openText(main, null));
