"""Measure one member: audit it, compute its truth on audited texts, and keep both in one record."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa

from attentest.calibration.intervention import Interviewer
from attentest.calibration.member import Known, Member
from attentest.calibration.truth import held_by_top, items_of, mass_of, truth_of, weight_of, word_values
from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Challenge, Examination
from attentest.challenges.importance.examine import Importance
from attentest.errors import AttentestError, NotApplicable
from attentest.explainers import EXPLAINERS
from attentest.models.subject import Subject
from attentest.progress import SILENT, Progress
from attentest.runs.execute import execute
from attentest.runs.questions import Usual
from attentest.runs.run import Run
from attentest.store.folder import RunFolder
from attentest.store.summary import estimate

__all__ = ["DEPTHS", "FULL", "QUICK", "Depth", "audited", "measured"]

#: Ways of taking words out under which importance is always measured, whatever an audit usually does.
ERASURES = ("delete", "mask", "draw", "zero_attention")
_USUAL = ("attention", "gradient", "gradient_norm", "gradient_x_input", "occlusion", "leave_one_out")
_INTEGRATED = "integrated_gradients(n_steps=8, tolerance=0.2)"
_MORE = ("attention_x_gradient", "attention_x_value_norm", "state_evidence", "gradient_state", "state_erasure")
_OTHERS = ("smooth_grad", "lime", "kernel_shap", "lrp", "deep_lift", "random")
_OF_TRANSFORMERS = ("attention_mean", "rollout", "attention_flow", "generic_relevance", "value_weighted_norm")


@dataclass(frozen=True)
class Depth:
    """How much is done with every member."""

    name: str
    #: Texts that are audited, those of them whose truth is computed, and those of these that explainers explain.
    texts: int
    known: int
    explained: int
    explainers: tuple[str, ...]
    #: Challenges beside the usual ones, wherever they apply.
    also: tuple[str, ...] = ()


QUICK = Depth("quick", 100, 60, 20, (*_USUAL, _INTEGRATED))
FULL = Depth(
    *("full", 200, 100, 40),
    (*_USUAL, _INTEGRATED, *_MORE, *_OTHERS, *_OF_TRANSFORMERS),
    (
        "faithfulness(explainers=('attention',), erasures=('mask', 'zero_attention'), draws=1, candidates=1)",
        *("random_weights", "gating", "soft_faithfulness", "input_invariance", "randomisation", "knockout"),
        # These train other models, each a few times fewer than usual.
        *("trained_uniform", "seed_variance(seeds=3)", "adversarial_training(weights=(0.001,))"),
    ),
)
DEPTHS = {depth.name: depth for depth in (QUICK, FULL)}


def measured(member: Member, depth: Depth, scratch: Path, progress: Progress = SILENT) -> dict[str, Any]:
    """The record of a member; its run is left in ``scratch``."""
    began = time.monotonic()
    run = audited(member, depth)
    folder = execute(run, scratch, workers=1, progress=progress)
    audit = time.monotonic() - began
    known = member.known(folder, depth.texts)
    rows = list(known.rows) if known.rows is not None else list(range(len(known.texts)))
    known, rows = replace(known, texts=known.texts[: depth.known]), rows[: depth.known]
    truth = truth_of(known.subject, known.texts, known.vocabulary)
    about = folder.findings("instances").table
    labels = about["label"].to_numpy()
    return {
        **{name: getattr(member, name) for name in ("family", "mechanism", "world", "dial", "value", "seed")},
        "depth": depth.name,
        "classes": len(run.corpus.classes),
        "words": _rounded(float(run.examined().lengths.mean())),
        "texts": len(labels),
        "accuracy": _rounded(float(np.mean(about["correct"].to_numpy(zero_copy_only=False)))),
        "most_frequent": _rounded(float(np.bincount(labels).max() / len(labels))),
        "truth": {name: _mean(values) for name, values in vars(truth).items()},
        "measures": _measures(folder),
        "explainers": _explainers(known, depth),
        "per_text": {"truth": _list(truth.words), **_held_per_text(folder, rows)},
        "failed": folder.record.get("failed") or {},
        "seconds": [round(audit, 1), round(time.monotonic() - began - audit, 1)],
    }


def audited(member: Member, depth: Depth) -> Run:
    """The member's audit with the usual challenges, importance under all erasures, and what the depth adds."""
    run = member.run(None, depth.texts)
    usual = next((one for one in run.challenges if isinstance(one, Importance)), Importance())
    importance = replace(usual, erasures=tuple(dict.fromkeys((*usual.erasures, *ERASURES))), texts=0)
    added = [one for one in map(CHALLENGES.parse, depth.also) if one not in run.challenges and _trainable(run, one)]
    kept = [one for one in run.challenges if not isinstance(one, Importance)]
    put = (*kept, importance, *added)
    # What the study adds is passed over where it does not apply, as what is usual is.
    passed = Usual(run.usual.challenges | {importance, *added}, run.usual.explained | {importance, *added})
    return cast("Run", replace(cast("Any", run), challenges=put, usual=passed))


def _trainable(run: Run, challenge: Challenge) -> bool:
    """Whether the other models that a challenge asks for, if any, can be trained."""
    try:
        for companion in challenge.companions:
            run.companion(companion)
    except NotApplicable:
        return False
    return True


def _measures(folder: RunFolder) -> dict[str, list[float | int | None]]:
    """Every measure of every challenge: its value, its interval, and the texts it stands on."""
    found: dict[str, list[float | int | None]] = {}
    for challenge in folder.challenges:
        findings = folder.findings(challenge)
        for measure in findings.measures:
            one = estimate(findings, measure)
            numbers = [_rounded(value) for value in (one.value, one.low, one.high)]
            found[f"{findings.name}.{measure.name}"] = [*numbers, one.judged]
    return found


def _held_per_text(folder: RunFolder, rows: Sequence[int]) -> dict[str, list[float | None]]:
    """What importance says that attention's top words hold of each of these texts, which findings have in order."""
    name = folder.named("importance")
    if name is None:
        return {}
    table: pa.Table = folder.findings(name).rows({"explainer": "attention"})
    out: dict[str, list[float | None]] = {}
    for erasure in ("delete", "mask"):
        held = table.filter(pa.compute.equal(table["erasure"], erasure))["held"].to_pylist()
        out[erasure] = [_rounded(held[row]) for row in rows]
    return out


def _explainers(known: Known, depth: Depth) -> dict[str, float | None]:
    """Of every explainer that applies, how much of what truly mattered its top units hold."""
    texts = known.texts[: depth.explained]
    asked = [Interviewer(known.subject, known.vocabulary, text) for text in texts]
    masses = [_mass(one, number) for number, one in enumerate(asked)]
    found: dict[str, float | None] = {}
    for name in depth.explainers:
        if EXPLAINERS.parse(name).objection(known.subject) is not None:
            continue
        held = [_held(known.subject, one, mass, name) for one, mass in zip(asked, masses, strict=True)]
        found[name.partition("(")[0]] = _mean(np.array(held))[0]
    return found


def _mass(asked: Interviewer, number: int) -> np.ndarray:
    """How much each item of a text mattered."""
    return mass_of(items_of(asked.text), *word_values(asked, random=np.random.default_rng((0, number))))


def _held(subject: Subject, asked: Interviewer, mass: np.ndarray, explainer: str) -> float:
    batch = asked.batch(asked.own[None])
    words = pa.array([list(asked.text.words)])
    try:
        scores = Examination(subject, batch, subject.read(batch), 0, words).scores(explainer)[0]
    except AttentestError:  # this text cannot be explained so
        return math.nan
    return held_by_top(weight_of(items_of(asked.text), scores.abs().detach().double().cpu().numpy()[1:-1]), mass)[0]


def _mean(values: np.ndarray) -> list[float | int | None]:
    """The mean over the texts that could be judged, its standard error, and how many these are."""
    judged = values[~np.isnan(values)]
    if not len(judged):
        return [None, None, 0]
    error = float(judged.std(ddof=1) / math.sqrt(len(judged))) if len(judged) > 1 else None
    return [_rounded(float(judged.mean())), _rounded(error), len(judged)]


def _list(values: np.ndarray) -> list[float | None]:
    return [_rounded(float(value)) for value in values]


def _rounded(value: float | None) -> float | None:
    """Four places; None for what is not a number, which JSON has no word for."""
    return None if value is None or not math.isfinite(value) else round(value, 4)
