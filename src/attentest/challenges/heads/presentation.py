"""What people see of heads: lines, figures, columns."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from attentest.presentation.line import Measured
from attentest.presentation.presentation import Column, Presentation
from attentest.store.findings import Findings
from attentest.store.summary import summarise

__all__ = ["PRESENTATION"]


def _largest_head(heads: Findings) -> Iterator[Measured]:
    """The head that flips most decisions, of every kind of attention; its interval is its own, though it was picked."""
    table = heads.table
    judged = table.filter(pc.and_(pc.is_null(table["not_judged"]), pc.is_valid(table["flipped"])))
    for kind in pc.unique(judged["attention"]).to_pylist():
        rows = judged.filter(pc.equal(judged["attention"], kind))
        rows = rows.append_column("turned", rows["flipped"].cast(pa.float64()))
        each = rows.group_by(["layer", "head"], use_threads=False).aggregate([("turned", "mean")]).to_pylist()
        most = max(each, key=lambda head: (head["turned_mean"], -head["layer"], -head["head"]))
        if not most["turned_mean"]:
            continue
        of_it = pc.and_(pc.equal(rows["layer"], most["layer"]), pc.equal(rows["head"], most["head"]))
        own = rows.filter(of_it)
        found = summarise(own["turned"].to_numpy(), 0, "fraction")
        of = "" if kind == "self" else f"{kind}: "
        words = (
            f"{of}largest share that one head flips (layer {most['layer']} head {most['head']} of {len(each)} heads)"
        )
        yield Measured(
            heads.challenge, words, found, "fraction", *(pc.count_distinct(t["id"]).as_py() for t in (own, table))
        )


PRESENTATION = Presentation(
    "heads",
    place=80,
    rows="One row per text, layer and head, whose attention is replaced in every row.",
    columns=(
        Column("attention", "string", "`self`; of an encoder–decoder `encoder`, `decoder` or `cross`"),
        Column("layer", "int32", "the layer, from 1"),
        Column("head", "int32", "the head, from 1"),
        Column("change", "double", "total variation distance of the prediction from the model's own"),
        Column("flipped", "bool", "whether the decision is another"),
        Column(
            "on_no_word",
            "double",
            "the share of the head's attention on special tokens, mean over rows: a sink where it is near 1",
        ),
        Column("on_other_text", "double", "the same share on a prompt and a second text"),
    ),
    notes=(
        "A decoder's own attention is not judged (`one key`): it begins with one word, which has nothing "
        "else to attend to."
    ),
    headline={"flipped": "share of decisions that a head flips, mean over heads", "on_no_word": ""},
    further=_largest_head,
)
