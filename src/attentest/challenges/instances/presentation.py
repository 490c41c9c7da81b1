"""What people see of instances: lines, figures, columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.presentation.line import Line, Settling
from attentest.presentation.presentation import Column, Presentation
from attentest.presentation.site import on_words
from attentest.presentation.thresholds import FEWEST, clear_of, percent
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, estimate, sentences_of, summarise
from attentest.tasks import TEXTS, Wording

__all__ = ["PRESENTATION", "accuracy_line", "held_line"]


def accuracy_line(instances: Findings, wording: Wording = TEXTS) -> Line:
    """Is the model worth asking about? Only where it is significantly better than the most frequent class."""
    right = estimate(instances, "accuracy")
    question, short = "Does the model predict well?", "Does it predict well?"
    line = Line("accuracy", question, f"{right} correct", "", "context", right, "setting", short)
    rows = instances.table
    if "not_judged" in rows.column_names:
        rows = rows.filter(pc.is_null(rows["not_judged"]))
    labels = rows["label"].to_numpy()
    counts = np.bincount(labels, minlength=1)
    share = float(counts.max() / max(len(labels), 1))
    if share == 1:
        carry = (
            f"All {wording.units} carry one label: whatever always gives it is right, so that they cannot tell whether"
        )
        return replace(line, tone="unsettled", reading=f"{carry} there is anything to explain.")
    if len(rows) < FEWEST:  # of so few, no line says anything
        few = (
            f"These {wording.units} are too few to tell it from the most frequent {wording.choice} ({percent(share)})."
        )
        return replace(line, reading=f"It is right {percent(right.value)} of the time. {few}" if len(rows) else "")
    model, frequent = rows["correct"].to_numpy(), labels == counts.argmax()
    won, most = _won(model, frequent, rows), f"the most frequent {wording.choice} ({percent(share)})"
    if won.low > 0.5:
        return replace(line, reading=_right(right))
    if not won.judged or won.high < 0.5:
        reading = f"It is right no more often than {most}: there is nothing to explain."
        return replace(line, tone="against", reading=reading)
    reading = f"It is not significantly better than {most}: there may be nothing to explain."
    return replace(line, tone="unsettled", reading=reading, settling=_settling(won, len(labels), share))


def _right(right: Estimate) -> str:
    return f"It is right {percent(right.value)} of the time; what follows explains these predictions, not the world."


def _won(model: np.ndarray, frequent: np.ndarray, rows: pa.Table) -> Estimate:
    """McNemar's test: how often the model is the one that is right, where it or the most frequent class alone is."""
    differ, sentences = model != frequent, sentences_of(rows)
    return summarise(model[differ].astype(float), 0, "fraction", None if sentences is None else sentences[differ])


def _settling(won: Estimate, judged: int, share: float) -> Settling | None:
    """How many would have to be judged to see that it is better; None where it does not look better."""
    if won.value <= 0.5:
        return None
    needed = clear_of([0.5], won, counted=True).judged
    return Settling(share, None if needed is None else round(needed * judged / won.judged), judged)


def held_line(instances: Findings, wording: Wording = TEXTS) -> Line | None:
    """How much of the attention could be replaced at all?"""
    share = on_words(instances)
    if share is None:
        return None
    reading = (
        f"{percent(1 - share.value)} of this attention lies on no {wording.item} and was held (special tokens, a "
        "prompt, a second text): the findings about its weights hold for the rest."
    )
    question = f"How much of this attention lies on {wording.items}?"
    return Line(
        "held", question, f"{share} of it", reading, "context", share, "setting", f"How much on {wording.items}?"
    )


PRESENTATION = Presentation(
    "instances",
    place=10,
    rows="One row per text. Lists hold one entry per real token.",
    columns=(
        Column("tokens", "list of string", "the tokens"),
        Column("label", "int32", "the gold class"),
        Column("correct", "bool", "whether the prediction is the gold class"),
        Column("confidence", "double", "the probability of the predicted class"),
        Column(
            "probabilities",
            "list of double",
            "the predicted distribution, one entry per class; only where there are at most 100 classes",
        ),
        Column("max_attention", "double", "the largest attention weight"),
        Column("attention", "list of double", "the attention weights"),
        Column(
            "token_logits",
            "list of list of double",
            "$z_t$, one per token and class; only where the head is affine",
        ),
        Column("gradient", "list of double", "scores of [that explainer](generated/explainers.md#gradient)"),
        Column(
            "gradient_state",
            "list of double",
            "scores of [that explainer](generated/explainers.md#gradient_state)",
        ),
        Column("leave_one_out", "list of double", "scores of [that explainer](generated/explainers.md#leave_one_out)"),
        Column("state_erasure", "list of double", "scores of [that explainer](generated/explainers.md#state_erasure)"),
        Column(
            "state_evidence",
            "list of double",
            "scores of [that explainer](generated/explainers.md#state_evidence)",
        ),
        Column("rationale", "list of bool", "the marked tokens; only where the corpus has marks"),
    ),
    notes=(
        "Of Transformers checkpoints there is also `on_words` (double), the share of the attention that lies "
        "on words; the rest, on special tokens, a prompt or a second text, is held.\n\n"
        "Of pairs of texts there is also `second`, the tokens of the second text, and for every explainer "
        "named in `second_explainers` a list of scores of these tokens, such as `second_gradient`.\n\n"
        "Of translations a row is a step: a sentence and the words written so far (`second`). `label` and "
        "`predicted` are then words by their numbers; `word` is the word to write and `written` the one the "
        "model finds most likely. There are no `probabilities` and no `token_logits`, one for every word of "
        "the language."
    ),
    lines=(
        lambda found, results: accuracy_line(found, results.wording),
        lambda found, results: held_line(found, results.wording),
    ),
    tabled=True,
    in_study={"accuracy": "accuracy"},
)
