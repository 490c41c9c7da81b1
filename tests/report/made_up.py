"""A made-up but realistic finished run: the schema of the findings, filled from a seed.

The numbers hang together as they do in a real run: attention is a softmax over scores, the head is affine in the
weighted states, permutations are really drawn, and adversarial attention really keeps the prediction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.stats import kendalltau
from tests.report import made_up_changes, made_up_states, made_up_trained_models
from tests.report.made_up_changes import changes
from tests.report.made_up_states import states
from tests.report.made_up_trained_models import Others, removed, trained

from attentest.challenges import CHALLENGES
from attentest.presentation.text import pair_in_words
from attentest.registry import parameters_of
from attentest.store.findings import FindingsWriter, Measure
from attentest.store.folder import RunFolder

WORDS = (
    "the film a of and is it that in story but with its as this for an to one by good bad funny moving dull "
    "acting director plot characters never really warm empty brilliant tedious script charming mess love "
    "performance cast visually stunning predictable heart boring fresh comedy drama scene music slow clever"
)
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "\u202eevil\u202c",
    "nul\x00bell\x07",
    "x" * 300,
    "👩‍👩‍👧‍👦",
    "[bold red]markup[/]",
    "{{ 7 * 7 }}",
    "שלום",
    "\n",
)
PAIRS = (
    "attention~gradient",
    "attention~leave_one_out",
    "gradient~leave_one_out",
    "attention~gradient_state",
    "attention~state_erasure",
    "state_erasure~leave_one_out",
)
EXPLAINERS = ("gradient", "leave_one_out", "gradient_state", "state_erasure")
MEASURES: dict[str, tuple[Measure, ...]] = {
    "instances": (Measure("accuracy", "correct", "fraction", "predicted class is the gold class"),),
    "agreement": tuple(
        measure
        for pair in PAIRS
        for measure in (
            Measure(f"{pair}.tau", "tau", "mean", f"Kendall τ of {pair_in_words(pair)}", {"pair": pair}),
            Measure(
                f"{pair}.significant",
                "significant",
                "fraction",
                f"τ significant, {pair_in_words(pair)}",
                {"pair": pair},
            ),
        )
    ),
    "importance": tuple(
        Measure(
            f"attention.{c}.{way}", c, "mean", f"attention: {c} ({way})", {"explainer": "attention", "erasure": way}
        )
        for way in ("delete", "mask", "states")
        for c in ("held", "one")
    ),
    "permutation": (
        Measure("median_change", "median_change", "mean", "median change when attention is permuted"),
        Measure("flips", "flips", "mean", "share of permutations that change the decision"),
    ),
    "adversary": (
        Measure("certified", "lower", "mean", "largest divergence that keeps the prediction (ε = .01)"),
        Measure("searched", "searched_divergence", "mean", "divergence that the paper's search finds"),
        Measure("top_changed", "top_changed", "fraction", "most attended token can be another one"),
    ),
    "uniform": (Measure("flipped", "flipped", "fraction", "uniform attention changes the decision"),),
    "faithfulness": tuple(
        Measure(
            f"{e}.normalised_comprehensiveness",
            "normalised_comprehensiveness",
            "mean",
            f"comprehensiveness of {pair_in_words(e)} between its limits",
            {"explainer": e, "erasure": "delete"},
        )
        for e in ("attention", *EXPLAINERS)
    ),
    "rationale": tuple(
        Measure(
            f"{e}.average_precision",
            "average_precision",
            "mean",
            f"average precision of {pair_in_words(e)}",
            {"explainer": e},
        )
        for e in ("attention", *EXPLAINERS)
    ),
    "certificates": (
        Measure(
            "leave_one_out.loop_gap",
            "within",
            "fraction",
            "leave-one-out equal to a loop",
            {"explainer": "leave_one_out", "check": "loop_gap"},
        ),
    ),
    "randomisation": tuple(
        Measure(
            f"{e}.everything.spearman",
            "spearman",
            "mean",
            f"{pair_in_words(e)} when everything is random",
            {"explainer": e, "layer": "everything"},
        )
        for e in ("attention", *EXPLAINERS)
    ),
    "layers": (Measure("all.change", "change", "mean", "attention of all layers replaced", {"replaced": "all"}),),
    **made_up_trained_models.MEASURES,
    **made_up_states.MEASURES,
    **made_up_changes.MEASURES,
}

#: Columns that are there even if no row was judged.
ERASED = ("normalised_comprehensiveness", "normalised_sufficiency", "until_flip")
NUMBERS = {
    "faithfulness": (*ERASED, "flipped", *(f"random_{name}" for name in ERASED)),
    "agreement": ("tau", "p_value", "significant", "spearman"),
    "importance": ("held", "one"),
    "permutation": ("median_change", "flips", "max_attention"),
    "adversary": ("lower", "searched_divergence", "max_attention", "unconstrained", "ratio", "top_changed"),
    "randomisation": ("spearman", "spearman_absolute"),
    "layers": ("change", "correct_after"),
    **made_up_trained_models.NUMBERS,
    **made_up_states.NUMBERS,
    **made_up_changes.NUMBERS,
}

Rows = list[dict[str, Any]]


def write_run(
    path: Path,
    instances: int = 240,
    classes: Sequence[str] = ("negative", "positive"),
    *,
    name: str = "made-up reviews",
    longest: int = 40,
    hostile: bool = False,
    without: Sequence[str] = (),
    others: Others | None = None,
    seed: int = 0,
) -> RunFolder:
    """A finished run folder with every findings file but those named in ``without``; ``others`` are other models."""
    random = np.random.default_rng(seed)
    rows: dict[str, Rows] = {challenge: [] for challenge in MEASURES}
    for number in range(instances):
        _instance(random, rows, f"test-{number:05d}", len(classes), longest, hostile and number % 3 == 0)
        text = rows["instances"][-1]
        _checked(rows, text)
        beside = removed(text) | states(text) | changes(text) | trained(text, len(classes), others or Others(), seed)
        for challenge, found in beside.items():
            rows[challenge] += found
    fields = _fields(name, classes, instances, [c for c in MEASURES if c not in without])
    run = RunFolder.create(path, fields, {"attentest": "0.1.0", "torch": "2.13.0", "device": "cpu"})
    (path / "findings").mkdir()
    for challenge, measures in MEASURES.items():
        if challenge not in without:
            file = f"findings/{challenge}.parquet"
            with FindingsWriter(path / file, challenge, measures, parameters_of(CHALLENGES.parse(challenge))) as writer:
                writer.write(table_of(rows[challenge], NUMBERS.get(challenge, ())))
            run.finish(file, rows=len(rows[challenge]), seconds=1.5)
    return run


def _instance(
    random: np.random.Generator, rows: dict[str, Rows], key: str, k: int, longest: int, hostile: bool
) -> None:
    length = int(random.integers(min(6, longest), longest + 1)) if random.random() > 0.02 else 1
    words = WORDS.split()
    chances = 1 / np.arange(2.0, len(words) + 2)
    tokens = list(random.choice(words, length, p=chances / chances.sum()))
    if hostile:
        tokens[: len(HOSTILE)] = HOSTILE[: len(tokens)]
    label = int(random.integers(k))
    logits = random.normal(0, 1.2, (length, k)) + random.normal(0.5, 1.2) * np.eye(k)[label]
    strength = np.abs(logits[:, label])
    attention = _softmax(random.choice([0.2, 0.8, 2.0]) * (strength + random.normal(0, 0.8, length)))
    probabilities = _softmax(attention @ logits)
    predicted = int(probabilities.argmax())
    base = {"id": key, "predicted": predicted, "not_judged": None}
    scores = {
        "attention": attention,
        "gradient": np.abs(attention * logits[:, predicted] + random.normal(0, 0.02, length)),
        "leave_one_out": np.abs(attention * logits[:, predicted] + random.normal(0, 0.05, length)),
        "gradient_state": attention * strength,
        "state_erasure": np.abs(attention * (logits[:, predicted] - attention @ logits[:, predicted])),
    }
    top = {"tokens": length, "max_attention": attention.max()}
    rationale = (random.random(length) < 0.1) | (np.arange(length) == attention.argmax())
    rows["instances"].append(
        base
        | {"tokens": tokens, "label": label, "probabilities": probabilities, "max_attention": attention.max()}
        | {**scores, "rationale": rationale, "correct": predicted == label, "token_logits": list(logits)}
    )
    alone = base | {"tokens": length, "not_judged": "only one token"}
    for pair in PAIRS:
        first, second = (scores[half] for half in pair.split("~"))
        if length == 1:
            rows["agreement"].append(alone | {"pair": pair})
        else:
            tau, p = kendalltau(first, second)
            near = {
                "captured": max(tau, 0) ** 0.5,
                "spearman": np.sin(tau * np.pi / 2),
                "top_k_overlap": max(tau, 0),
                "rank_biased_overlap": 0.5,
            }
            judged = {"pair": pair, "tokens": length, "tau": tau, "p_value": p, "significant": p <= 0.05}
            rows["agreement"].append(base | judged | near)
    people = {"ceiling_token_f1": 0.7, "ceiling_iou": 0.6, "ceiling_single_token_f1": 0.6, "ceiling_single_iou": 0.5}
    for explainer, score in scores.items():
        order = np.argsort(-score, kind="stable")
        hits = rationale[order]
        precision = (np.cumsum(hits) / np.arange(1, length + 1))[hits].mean()
        about = {"explainer": explainer, "average_precision": precision, "chance": rationale.mean()}
        about |= {"auprc": precision, "mass": score[rationale].sum() / (score.sum() + 1e-12)}
        hit = hits[: rationale.sum()].mean()
        found = {"token_f1": hit, "iou": hit / (2 - hit), "single_token_f1": 0.8 * hit, "single_iou": 0.6 * hit}
        rows["rationale"].append(base | about | found | people)
    _erased(random, rows, base | {"erasure": "delete", "tokens": length}, scores)
    even = _softmax(logits.mean(0))
    rows["uniform"].append(
        base
        | {"label": label, "change": _tvd(probabilities, even), "flipped": bool(even.argmax() != predicted)}
        | {"correct": predicted == label, "correct_uniform": bool(even.argmax() == label)}
    )
    rows["importance"] += _held(random, base, alone if length == 1 else None)
    if length == 1:
        rows["permutation"].append(alone)
        rows["adversary"].append(alone)
        return
    drawn = np.array([_softmax(random.permutation(attention) @ logits) for _ in range(100)])
    change = np.abs(drawn - probabilities).sum(1) / 2
    rows["permutation"].append(
        base
        | {**top, "median_change": np.median(change), "mean_change": change.mean(), "draws": 100}
        | {
            "flips": (drawn.argmax(1) != predicted).mean(),
            "enumerated": False,
            "margin": 1.0,
            "margin_mean": 0.8,
        }
        | {
            "margin_deviation": 0.2,
            "margin_lowest": -1.0,
            "margin_highest": 2.0,
            "largest_change": change.max(),
        }
    )
    best, reached = _adversary(attention, logits, probabilities)
    ceiling = float(_jsd(attention, np.eye(length)[attention.argmin()]))
    searched = reached * random.beta(9, 1.2)
    outcome = _softmax(best @ logits)
    rows["adversary"].append(
        base
        | {
            **top,
            "searched_divergence": searched,
            "searched_change": random.uniform(0, 0.01),
            "lower": reached,
        }
        | {"upper": reached if k == 2 else min(reached * 1.05, ceiling), "certified": k == 2}
        | {"unconstrained": ceiling, "ratio": reached / ceiling, "shortfall": reached - searched}
        | {"top_changed": bool(best.argmax() != attention.argmax()), "adversarial_attention": best}
        | {"adversarial_probabilities": outcome, "adversarial_change": _tvd(probabilities, outcome)}
    )


def _held(random: np.random.Generator, base: dict[str, Any], alone: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """What attention's top words hold, in every way of taking words out."""
    for way, usual in (("delete", 0.7), ("mask", 0.75), ("states", 0.95)):
        of, held = {"explainer": "attention", "erasure": way}, float(np.clip(random.normal(usual, 0.2), -0.5, 1))
        yield base | of | {"held": held, "one": held / 2} if alone is None else alone | of


def _erased(random: np.random.Generator, rows: dict[str, Rows], base: dict[str, Any], scores: dict[str, Any]) -> None:
    """Faithfulness of scores that differ by a little, about the level of the text, and of the marks."""
    level, chance = random.beta(6, 3), random.beta(2, 6)
    for place, explainer in enumerate((*scores, "marks")):
        if base["tokens"] == 1:
            rows["faithfulness"].append(base | {"explainer": explainer, "not_judged": "only one token"})
            continue
        removed = float(np.clip(level + 0.03 * place + random.normal(0, 0.05), 0, 1))
        turned = bool(random.random() < 0.8)
        kinds = {"signed": False, "made_of_erasure": explainer == "leave_one_out", "search_beaten": False}
        found = {"normalised_comprehensiveness": removed, "normalised_sufficiency": removed, "flipped": turned}
        beside = {f"random_{name}": chance for name in ERASED}
        rows["faithfulness"].append(
            base | {"explainer": explainer, **kinds, **found, **beside, "until_flip": 0.4 if turned else 1.0}
        )


def _checked(rows: dict[str, Rows], text: dict[str, Any]) -> None:
    """Certificates, one text in five in the sample, and likeness that falls as a model is destroyed."""
    random, length = np.random.default_rng(int(text["id"][-5:])), len(text["tokens"])
    base = {name: text[name] for name in ("id", "predicted", "not_judged")}
    outside = base if random.random() < 0.2 else base | {"not_judged": "outside the sample"}
    for place, explainer in enumerate(("attention", *EXPLAINERS)):
        repeated = {"explainer": explainer, "check": "repeat_gap", "limit": 0.0}
        rows["certificates"].append(outside | repeated | _value(0.0, within=True, judged=outside is base))
        for step, layer in enumerate(("head", "attention", "encoder", "everything"), start=1):
            about = base | {"explainer": explainer, "layer": layer, "step": step}
            like = float(np.clip(1 - step * 0.05 * (place + 1) + random.normal(0, 0.1), -1, 1))
            found = {"spearman": like, "spearman_absolute": abs(like)}
            rows["randomisation"].append(about | (found if length > 1 else {"not_judged": "only one token"}))
    for direction, replaced, count in (("first", "first 1", 1), ("last", "last 1", 1), ("first", "all", 2)):
        about = base | {"attention": "self", "direction": direction, "replaced": replaced, "layers": count}
        found = {"change": 0.2 * count, "correct": True, "correct_after": float(random.random() < 1 - 0.2 * count)}
        rows["layers"].append(about | (found if length > 1 else {"not_judged": "only one token"}))
    looped = {"explainer": "leave_one_out", "check": "loop_gap", "limit": 1e-4}
    rows["certificates"].append(outside | looped | _value(2e-7, within=True, judged=outside is base))


def _value(value: float, *, within: bool, judged: bool) -> dict[str, Any]:
    return {"value": value if judged else None, "within": within if judged else None}


def _adversary(attention: np.ndarray, logits: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, float]:
    """The best mixture of two tokens that keeps the prediction within ε, found by trying."""
    corners = np.eye(len(attention))[np.argsort(attention)[:12]]
    shares = np.linspace(0.5, 1, 12)[:, None, None, None]
    tried = (shares * corners[:, None] + (1 - shares) * corners).reshape(-1, len(attention))
    tried = np.concatenate([attention + step * (tried - attention) for step in (0.0, 0.25, 0.5, 1.0)])
    scores = tried @ logits
    powers = np.exp(scores - scores.max(1, keepdims=True))
    kept = np.abs(powers / powers.sum(1, keepdims=True) - wanted).sum(1) / 2 <= 0.01
    reached = np.where(kept, _jsd(attention, tried), -1.0)
    return tried[reached.argmax()], float(reached.max())


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max())
    return np.asarray(powers / powers.sum())


def _tvd(p: np.ndarray, q: np.ndarray) -> float:
    return float(np.abs(p - q).sum() / 2)


def _jsd(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    terms = [np.where(r > 0, r * np.log(np.where(r > 0, 2 * r / (p + q), 1)), 0).sum(-1) / 2 for r in (p, q)]
    return np.asarray(sum(terms))


def table_of(rows: Rows, numbers: Sequence[str]) -> pa.Table:
    """The rows as findings have them, with ``numbers`` even where no row has them."""
    names = dict.fromkeys([name for row in rows for name in row] + list(numbers))
    columns = {name: [_plain(row.get(name)) for row in rows] for name in names}
    kinds = {"predicted": pa.int32(), "label": pa.int32(), "not_judged": pa.string()}
    kinds |= {name: pa.float64() for name in numbers if not any(row.get(name) is not None for row in rows)}
    return pa.table({name: pa.array(values, kinds.get(name)) for name, values in columns.items()})


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _fields(name: str, classes: Sequence[str], instances: int, challenges: list[str]) -> dict[str, Any]:
    corpus = {
        "name": name,
        "digest": "5f2c9a0d41b7e836",
        "classes": list(classes),
        "sizes": {"train": 6355, "dev": 832, "test": instances},
        "source": "drawn from a seed by tests/report/made_up.py",
        "preparation": "lower case, whitespace tokens",
        "licence": "none needed",
        "rationale": "planted",
        "left_out": ["3 rows without text", "1 row with an unknown label"],
        "notes": ["2 texts carry more than one label & count as they are"],
    }
    return {
        "corpus": corpus,
        "model": {"encoder": "bilstm", "attention": "additive", "head": "sigmoid", "hidden": 128},
        "training": {"epochs": 8, "learning_rate": 0.001, "batch": 32},
        "challenges": challenges,
        "seed": 0,
        "limit": None,
        "not_applicable": {"rationale(explainers=('attention','gradient','gradient_norm','occlusion'))": "no marks"},
    }
