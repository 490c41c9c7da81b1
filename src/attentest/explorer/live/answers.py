"""What is asked of a model: a text as it stands, under other weights, or attacked by the challenges' own code."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Challenge, attention_of
from attentest.challenges.instances.examine import Instances
from attentest.devices import reproducibly
from attentest.errors import InputError, NotApplicable, UnknownName
from attentest.explorer.data.files import RunFiles
from attentest.explorer.data.texts import record_of_text, sentence_rows
from attentest.explorer.live.heads import heads_of
from attentest.explorer.live.models import Models, Put, Text
from attentest.explorer.safety import check_text
from attentest.measures.chance import permutations
from attentest.measures.divergence import jensen_shannon, total_variation
from attentest.tasks import task_of, wording_of

__all__ = ["ATTACKS", "Live"]

Row = dict[str, Any]
#: What a button may ask for, and the challenge that answers.
ATTACKS = {"adversary": "adversary", "permutation": "permutation", "flip_set": "flip_sets", "uniform": "uniform"}
#: Of more classes than this, such as words, only the likeliest are told.
MANY, LIKELIEST = 1_000, 10


class Live:
    """Questions to the models of runs."""

    def __init__(self, models: Models) -> None:
        self._models = models

    def text(self, run: RunFiles, asked: Mapping[str, Any]) -> tuple[Text, Row]:
        """The text that a question is about: a row of the run, its tokens, or a text that was typed."""
        given = [name for name in ("row", "tokens", "text") if asked.get(name) is not None]
        if len(given) != 1:
            raise InputError("Name one of row, tokens and text.")
        if given[0] == "row":
            row = asked["row"]
            if not isinstance(row, int) or isinstance(row, bool):
                raise InputError(f"row={str(row)[:40]!r} must be a whole number.")
            return of_row(run, row), {"row": row}
        first = check_text(asked[given[0]], given[0])
        second = None if asked.get("second") is None else check_text(asked["second"], "second")
        if isinstance(first, str):
            if isinstance(second, list):
                second = " ".join(second)
            text, how = self._models.cut(run, first, second)
            check_text(list(text.tokens))
            return text, {"tokenisation": how}
        if isinstance(second, str):
            second = list(self._models.cut(run, second, None)[0].tokens)
        if wording_of(run.fields).item == "sentence":
            return _of_sentences("", first, None), {}
        return Text.typed(tuple(first), None if second is None else tuple(second)), {}

    def read(self, run: RunFiles, asked: Mapping[str, Any]) -> Row:
        """What the model says of a text, in the shape of a text's page."""
        text, about = self.text(run, asked)
        put = self._models.put(run, text, _site(asked))
        with self._models.lock, reproducibly(), torch.no_grad():
            found = put.asked({"instances": _instances(run), "uniform": CHALLENGES.parse("uniform")})
            reading = put.reading
        step = _step(asked, len(put.batch))
        instances = found["instances"].to_pylist()
        record = record_of_text(run, instances[step], {"uniform": [found["uniform"].to_pylist()[step]]}, "")
        record |= {
            "row": about.get("row"),
            "label": record["label"] if about.get("row") is not None else None,
            "affine": reading.token_logits is not None,
            "site": _site(asked) or str(run.fields.get("site") or ""),
            "sites": list(put.loaded.model.sites),
            "unknown": [token not in put.loaded.vocabulary.index for token in text.tokens],
            "notes": list(put.loaded.notes),
            "tokenisation": about.get("tokenisation"),
        }
        if record["item"] != "word":
            record["unknown"] = None
        if put.writes:
            record["matrix"] = _matrix(put, instances)
            record["step"] = step
        return record

    def completed(self, run: RunFiles, record: Row) -> Row:
        """A text's page with what findings do not hold, where the model can be asked."""
        asked = {"row": record["row"]}
        put = self._models.put(run, of_row(run, record["row"]))
        with self._models.lock, reproducibly():
            z, there = put.reading.token_logits, put.reading.mask
        step = self._step_of(run, asked, asked, put)
        if record["token_logits"] is None and z is not None and z.shape[-1] <= MANY:
            record = record | {"token_logits": z[step][there[step]].double().tolist()}
        for kind in ATTACKS:
            if record[kind] is None:
                with contextlib.suppress(NotApplicable):
                    found = self.attack(run, asked | {"kind": kind})
                    record = record | {kind: found["items"] if kind == "flip_set" else found}
        return record | {"affine": z is not None}

    def reread(self, run: RunFiles, asked: Mapping[str, Any]) -> Row:
        """The prediction under other weights, exact, beside that under the model's own."""
        text, about = self.text(run, asked)
        put = self._models.put(run, text, _site(asked))
        with self._models.lock, reproducibly(), torch.no_grad():
            step = self._step_of(run, asked, about, put)
            weights = _weights(asked.get("weights"), put, step)
            return self._under(put, weights, step)

    def attack(self, run: RunFiles, asked: Mapping[str, Any]) -> Row:
        """The adversary, shuffled weights, the smallest flip set, or even weights, of any text."""
        kind = asked.get("kind")
        if kind not in ATTACKS:
            raise UnknownName("attack", str(kind)[:40], ATTACKS)
        text, about = self.text(run, asked)
        put = self._models.put(run, text, _site(asked))
        with self._models.lock, reproducibly(), torch.no_grad():
            step = self._step_of(run, asked, about, put)
            table = put.asked({kind: challenge_of(run, ATTACKS[kind])})[kind]
            rows = table.filter(pa.compute.equal(table["row"], int(put.batch.rows[step]))).to_pylist()
            found, weights = _ATTACKED[kind](put, rows, step)
            return {"kind": kind, **found, **(self._under(put, weights, step) if weights is not None else {})}

    def heads(self, run: RunFiles, row: int, word: str | None) -> Row:
        """Every layer and head over a text of the run; ``word``: in the row of that word."""
        if word is not None and not (word.isascii() and word.isdigit() and len(word) < 10):
            raise InputError(f"word={word[:40]!r} must be a whole number.")
        put = self._models.put(run, of_row(run, row))
        with self._models.lock, reproducibly(), torch.no_grad():
            return {
                "row": row,
                "site": str(run.fields.get("site") or ""),
                **heads_of(put, None if word is None else int(word)),
            }

    def _step_of(self, run: RunFiles, asked: Mapping[str, Any], about: Row, put: Put) -> int:
        """Which row of the batch is asked about: the step of writing, or the one text."""
        if about.get("row") is not None and put.writes:
            return int(about["row"]) - sentence_rows(run, int(about["row"]))[0]
        return _step(asked, len(put.batch))

    @staticmethod
    def _under(put: Put, weights: Tensor, step: int) -> Row:
        reading = put.reading
        own = attention_of(reading)
        both = torch.stack([own, own.clone()], dim=1)
        both[step, 1] = weights
        logits = reading.reread(both).double()[step]
        before, after = logits.softmax(-1)
        there = reading.mask[step]
        divergence = jensen_shannon(weights[None], own[step][None])[0]
        return {
            "weights": weights[there].tolist(),
            **_said(put, after),
            "jsd": float(divergence),
            "tvd": float(total_variation(after[None], before[None])[0]),
        }


def challenge_of(run: RunFiles, name: str) -> Challenge:
    """The challenge as the run put it, or with its usual parameters."""
    text = run.about(name).challenge if run.has(name) else name
    return CHALLENGES.parse(text)


def _instances(run: RunFiles) -> Challenge:
    made = challenge_of(run, "instances")
    return made if not isinstance(made, Instances) or made.per_token else Instances()


def of_row(run: RunFiles, row: int) -> Text:
    """A text of the run, with the id that its random numbers are drawn by."""
    run.check_row(row)
    if not run.has("instances", "tokens"):
        raise InputError(f"{run.id} kept no tokens of its texts (per_token=False): type the text instead.")
    if task_of(run.fields).writes:
        rows = sentence_rows(run, row)
        columns = ["sentence", "tokens", "second"]
        last = run.take("instances", [rows[-1]], columns).to_pylist()[0]
        return Text(last["sentence"], tuple(last["tokens"]), target=tuple(last["second"]))
    names = [name for name in ("id", "tokens", "label", "second") if name in run.schema("instances").names]
    found = run.take("instances", [row], names).to_pylist()[0]
    second = found.get("second")
    if wording_of(run.fields).item == "sentence":
        return _of_sentences(found["id"], found["tokens"], found["label"])
    return Text(found["id"], tuple(found["tokens"]), None if second is None else tuple(second), found["label"])


def _of_sentences(name: str, sentences: Sequence[str], label: int | None) -> Text:
    """A text whose items are sentences, their words with spaces between."""
    cut = [sentence.split(" ") for sentence in sentences]
    words = tuple(word for sentence in cut for word in sentence)
    return Text(name or Text.typed(words).id, words, None, label or 0, tuple(map(len, cut)))


def _site(asked: Mapping[str, Any]) -> str:
    site = asked.get("site") or ""
    if not isinstance(site, str) or len(site) > 80:
        raise InputError("site must be the name of one, as 'layer 2 head 1'.")
    return site


def _step(asked: Mapping[str, Any], steps: int) -> int:
    step = asked.get("step", 0)
    if not isinstance(step, int) or isinstance(step, bool) or not 0 <= step < steps:
        raise InputError(f"step={str(step)[:40]!r} must be a whole number below {steps}.")
    return step


def _weights(given: Any, put: Put, step: int) -> Tensor:
    """Weights of every item, scaled to sum to one, at their positions."""
    there = put.reading.mask[step]
    count = int(there.sum())
    numbers = isinstance(given, list) and all(
        isinstance(one, int | float) and not isinstance(one, bool) and math.isfinite(one) and one >= 0 for one in given
    )
    if not numbers or len(given) != count:
        raise InputError(f"weights must be {count} numbers, one for each word, none below zero.")
    if not max(given) > 0:
        raise InputError("weights must not all be zero.")
    scaled = [one / max(given) for one in given]  # their sum may lie beyond what a number can be
    out = torch.zeros(len(there), dtype=torch.float64)
    out[there] = torch.tensor(scaled, dtype=torch.float64) / math.fsum(scaled)
    return out


def _said(put: Put, probabilities: Tensor) -> Row:
    """The prediction; of words, or of very many classes, the likeliest by name."""
    predicted, target = int(probabilities.argmax()), put.loaded.vocabulary.target
    few = len(probabilities) <= MANY
    said: Row = {"probabilities": probabilities.tolist() if few else None, "predicted": predicted}
    if target is None and few:
        return said
    names = put.loaded.classes if target is None else target.words
    best = probabilities.topk(min(LIKELIEST, len(probabilities)))
    pairs = zip(best.values.tolist(), best.indices.tolist(), strict=True)
    return said | {
        "written": names[predicted],
        "top": [{"class": names[c], "probability": chance} for chance, c in pairs],
    }


def _matrix(put: Put, steps: Sequence[Row]) -> Row:
    return {
        "source": list(put.text.tokens),
        "target": [step.get("word") for step in steps],
        "written": [step.get("written") for step in steps],
        "confidence": [step.get("confidence") for step in steps],
        "weights": [step.get("attention") for step in steps],
        "rows": None,
    }


def _placed(put: Put, values: Sequence[float] | None, step: int) -> Tensor | None:
    if values is None:
        return None
    there = put.reading.mask[step]
    out = torch.zeros(len(there), dtype=torch.float64)
    out[there] = torch.tensor(values, dtype=torch.float64)
    return out


def _adversary(put: Put, rows: list[Row], step: int) -> tuple[Row, Tensor | None]:
    found = rows[0]
    names = ("lower", "upper", "certified", "top_changed", "decision_kept", "searched_divergence", "not_judged")
    weights = None if found.get("not_judged") else _placed(put, found.get("adversarial_attention"), step)
    return {name: found.get(name) for name in names}, weights


def _permutation(put: Put, rows: list[Row], step: int) -> tuple[Row, Tensor | None]:
    names = ("median_change", "mean_change", "largest_change", "flips", "draws", "enumerated", "not_judged")
    order = permutations(put.batch.keys, 1, put.reading.mask, put.seed)[step, 0]
    return {name: rows[0].get(name) for name in names}, attention_of(put.reading)[step].gather(-1, order)


def _flip_set(put: Put, rows: list[Row], step: int) -> tuple[Row, Tensor | None]:
    found = next(row for row in rows if row["order"] == "smallest")
    items = found.get("items")
    about = {"items": items, "proved": found.get("proved"), "not_judged": found.get("not_judged")}
    if not items:
        return about, None
    there = put.reading.mask[step].nonzero()[:, 0]
    weights = attention_of(put.reading)[step].clone()
    weights[there[np.asarray(items)]] = 0
    return about, weights / weights.sum()


def _uniform(put: Put, rows: list[Row], step: int) -> tuple[Row, Tensor | None]:
    mask = put.reading.mask[step].double()
    return {name: rows[0].get(name) for name in ("change", "flipped", "not_judged")}, mask / mask.sum()


_ATTACKED = {"adversary": _adversary, "permutation": _permutation, "flip_set": _flip_set, "uniform": _uniform}
