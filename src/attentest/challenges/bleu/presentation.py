"""What people see of bleu: lines, figures, columns."""

from __future__ import annotations

from attentest.presentation.line import Line
from attentest.presentation.presentation import Column, Presentation
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, estimate

__all__ = ["PRESENTATION", "bleu_line"]


def bleu_line(bleu: Findings) -> Line:
    """Does it translate as well without its attention, when whole texts are written?"""
    own, without, lost = (estimate(bleu, name) for name in ("own.bleu", "uniform.bleu", "uniform.change"))
    others = [(kind, estimate(bleu, f"{kind}.bleu")) for kind in ("random", "permuted")]
    beside = ", ".join(f"{kind} {found.value:.1f}" for kind, found in others)
    said = "It cannot translate without its attention." if without.high < own.low / 2 else ""
    if lost.low <= 0 <= lost.high:
        said = "Whether it translates worse without its attention is not settled."
    elif lost.low > 0:
        said = "It translates no worse without its attention."
    said = said or "It translates worse without its attention."
    return Line(
        "bleu",
        "Does it translate as well with uniform weights at every step? (BLEU)",
        f"{_one(own)} → {_one(without)} BLEU",
        f"{said} BLEU under other weights: {beside}.",
        "context",
        lost,
        "states",
        "Change under uniform attention? (BLEU)",
        "bleu_change",
    )


def _one(found: Estimate) -> str:
    return f"{found.value:.1f} [{found.low:.1f}, {found.high:.1f}]"


PRESENTATION = Presentation(
    "bleu",
    place=130,
    rows=(
        "One row per text, kind of weights and draw, also where the rows of other challenges are steps of "
        "writing. `predicted` is null."
    ),
    columns=(
        Column(
            "weights",
            "string",
            "whose weights it was written with: `own`, `uniform`, `random`, `permuted`, and where asked "
            "`trained uniform`, `trained random`",
        ),
        Column("draw", "int32", "which draw of random or permuted weights, from 0"),
        Column("hypothesis", "string", "what was written; subwords are put together"),
        Column("reference", "string", "the translation that the corpus has"),
        Column(
            "counts",
            "list of double",
            "what PRESENTATION is made of: the length of what was written, of the reference, n-grams that both "
            "have (n = 1 … 4), n-grams that were written (n = 1 … 4). Sum them over texts, then compute "
            "BLEU",
        ),
        Column("own_counts", "list of double", "the same, of what was written with the model's own weights"),
        Column("signature", "string", "sacrebleu's signature, to be quoted with the figure"),
    ),
    lines=(lambda found, _: bleu_line(found),),
)
