"""A text of a run as a widget: what every explainer says of its words, and weights to change, exactly and live.

The heat map and the editor are the explorer's own modules. They reach the notebook as text and fetch nothing.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

import pyarrow.compute as pc

from attentest.errors import InputError, UnknownName
from attentest.store.findings import Findings
from attentest.store.folder import RunFolder

__all__ = ["shown_text", "text_widget", "widget_module"]

#: In the order in which they need each other.
MODULES = ("base.js", "maths.js", "heatmap.js", "editor.js")
#: The ε of the adversary where none was asked.
EPSILON = 0.01

Row = dict[str, Any]


@cache
def widget_module() -> str:
    """The widget as one module of JavaScript."""
    static = resources.files("attentest").joinpath("explorer", "static")
    modules = {name: static.joinpath(name).read_text("utf-8") for name in MODULES}
    style = (
        static.joinpath("explorer.css").read_text("utf-8").replace(":root", ":host").replace("\nbody {", "\n.page {")
    )
    source = (resources.files("attentest.report.notebook") / "text.js").read_text("utf-8")
    source = source.replace("/*modules*/ {}", json.dumps(modules))
    return source.replace('/*style*/ ""', json.dumps(style))


def shown_text(run: RunFolder, text: str) -> Row:
    """What the widget shows of a text: words, attention, scores, and what the head makes of every word by itself."""
    instances = run.findings("instances")
    if "attention" not in instances.table.column_names:
        raise InputError(f"{run.path.name} kept no attention of single texts: audit again without per_token=False.")
    found = _row(instances, text)
    if found is None:
        raise UnknownName("text of this run", text, instances.table["id"].to_pylist()[:1000])
    names = [str(name) for name in run.record["fields"].get("corpus", {}).get("classes", [])]
    asked = [name for name in instances.parameters.get("explainers", ()) if found.get(name) is not None]
    chances = found.get("probabilities")
    classes = names or [f"class {number}" for number in range(len(chances or ()))]
    kept = {name: found.get(name) for name in ("id", "tokens", "attention", "label", "token_logits")}
    adversary = run.named("adversary")
    attacks = None if adversary is None else run.findings(adversary)
    attack = None if attacks is None else _row(attacks, text)
    epsilon = EPSILON if attacks is None else attacks.parameters.get("epsilon", EPSILON)
    weights = None if attack is None else attack.get("adversarial_attention")
    return kept | {
        "classes": classes,
        "probabilities": chances,
        "explainers": {name: found[name] for name in asked},
        "epsilon": epsilon,
        "adversary": None if weights is None else {"weights": weights},
    }


def _row(findings: Findings, text: str) -> Row | None:
    rows = findings.table.filter(pc.equal(findings.table["id"], text)).slice(0, 1).to_pylist()
    return rows[0] if rows else None


def text_widget(run: RunFolder, text: str) -> Any:
    """A text of a run with its heat maps and, where the head is affine, the weight editor; needs anywidget."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise InputError("To show a text, install anywidget: pip install 'attentest[notebook]'.") from error
    record = shown_text(run, text)
    shown = type(
        "TextWidget",
        (anywidget.AnyWidget,),
        {"_esm": widget_module(), "text": traitlets.Dict().tag(sync=True)},
    )
    return shown(text=record)
