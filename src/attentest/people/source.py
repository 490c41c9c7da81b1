"""What items are made of: the texts of a finished run, with scores for every token."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.errors import InputError, NotApplicable
from attentest.registry import name_in_words
from attentest.store.findings import Findings
from attentest.store.folder import RunFolder
from attentest.tasks import Wording, task_of, wording_of

__all__ = ["Source", "Text", "chance", "top"]

#: Columns of instances that are no scores of tokens.
PLAIN = {"tokens", "second", "rationale", "token_logits", "probabilities"}


def chance(*coordinates: object) -> np.random.Generator:
    """Random numbers that depend on these coordinates and on nothing else."""
    digest = hashlib.sha256("\n".join(map(str, coordinates)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def top(scores: Sequence[float] | np.ndarray, count: int, draw: np.random.Generator) -> tuple[int, ...]:
    """The places of the largest scores, whatever their sign, in the order of the text; ties are drawn."""
    size = np.abs(np.asarray(scores, dtype=np.float64))
    order = np.lexsort((draw.random(len(size)), -size))
    return tuple(sorted(int(place) for place in order[:count]))


@dataclass(frozen=True)
class Text:
    """One text as the model read it."""

    id: str
    tokens: tuple[str, ...]
    label: int
    predicted: int
    #: By method, such as ``attention`` or ``gradient``: one score a token.
    scores: Mapping[str, np.ndarray]
    second: tuple[str, ...] = ()
    #: The words that decide, where the corpus tells; None where it does not.
    rationale: np.ndarray | None = None
    #: Per-token logits [token, class], where the head is affine.
    logits: np.ndarray | None = None
    #: Weights of an alternative attention, by its name: ``adversary``.
    foils: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def correct(self) -> bool:
        """Whether the prediction is the gold class."""
        return self.label == self.predicted

    def shades(self, scores: np.ndarray) -> tuple[float, ...]:
        """Scores as shades of a heat map: the largest is 1, whatever its sign."""
        size = np.abs(scores)
        return tuple(round(float(each), 3) for each in size / max(float(size.max(initial=0.0)), 1e-300))


class Source:
    """A finished run as a source of items."""

    def __init__(self, run: RunFolder) -> None:
        self.run = run
        self.fields: dict[str, Any] = run.record["fields"]
        if task_of(self.fields).writes:
            raise NotApplicable(
                f"{run.path.name} is a translation: its rows are single words being written. "
                "Ask people about a run that classifies texts."
            )
        name = run.named("instances")
        if name is None:
            raise InputError(f"{run.path} has no finished findings of instances. Run its audit again to complete it.")
        self._instances = run.findings(name)
        if not {"tokens", "attention"} <= {*self.columns}:
            raise NotApplicable(
                f"{run.path.name} keeps no scores of single tokens (instances(per_token=False)). "
                "Audit it again with 'instances', which keeps them."
            )

    @property
    def columns(self) -> list[str]:
        """The columns of instances."""
        return list(self._instances.table.column_names)

    @property
    def methods(self) -> list[str]:
        """What gives every token a score in this run."""
        schema = self._instances.table.schema
        lists = [f.name for f in schema if pa.types.is_list(f.type) and f.name not in PLAIN]
        return [name for name in lists if not name.startswith("second_")]

    @property
    def classes(self) -> list[str]:
        """The names of the classes."""
        return [str(name) for name in self.fields.get("corpus", {}).get("classes", [])]

    @property
    def wording(self) -> Wording:
        """What a text and its words are called."""
        return wording_of(self.fields)

    @property
    def affine(self) -> bool:
        """Whether predictions under any weights follow from the findings."""
        return "token_logits" in self.columns

    @property
    def has_rationale(self) -> bool:
        """Whether the corpus says which words decide."""
        return "rationale" in self.columns

    @property
    def planted(self) -> bool:
        """Whether that is true by construction, not by people's judgement."""
        return self.has_rationale and self.fields.get("corpus", {}).get("rationale") == "planted"

    def name_of(self, index: int) -> str:
        """A class by its number."""
        return self.classes[index] if index < len(self.classes) else str(index)

    def deciding(self, text: Text) -> np.ndarray | None:
        """The words that decide: those of the rationale that name the label, where some do, or else all of it.

        bAbI's rationale is a sentence, *mary went to the bathroom*; what answers *where is mary?* is its last word.
        """
        if text.rationale is None:
            return None
        label = self.name_of(text.label).casefold()
        named = text.rationale & np.array([token.casefold() == label for token in text.tokens], dtype=bool)
        return named if named.any() else text.rationale

    def method(self, name: str) -> str:
        """A method that the run kept, refused in one line where it did not."""
        if name in self.methods:
            return name
        raise InputError(
            f"{self.run.path.name} keeps no scores of {name_in_words(name)!r}. It keeps: {', '.join(self.methods)}. "
            f"Audit it again with \"instances(explainers=('{name}',))\" for others."
        )

    def lengths(self) -> np.ndarray:
        """How many tokens each row has."""
        return np.asarray(pc.list_value_length(self._instances.table["tokens"]).to_numpy())

    def plain(self, *columns: str) -> list[np.ndarray]:
        """Columns of single values."""
        return [self._instances.table[column].to_numpy(zero_copy_only=False) for column in columns]

    def judged(self) -> np.ndarray:
        """Which rows were judged."""
        table = self._instances.table
        if "not_judged" not in table.column_names:
            return np.ones(len(table), dtype=bool)
        return np.asarray(pc.is_null(table["not_judged"]).to_numpy(zero_copy_only=False))

    def texts(self, rows: Iterable[int]) -> list[Text]:
        """Some texts, in this order."""
        taken = self._instances.table.take(pa.array(list(rows), pa.int64()))
        attacked = self._attacked(taken["id"])
        return [self._text(row, attacked.get(row["id"])) for row in taken.to_pylist()]

    def _text(self, row: dict[str, Any], attacked: list[float] | None) -> Text:
        logits = row.get("token_logits")
        return Text(
            id=str(row["id"]),
            tokens=tuple(row["tokens"]),
            label=int(row["label"]),
            predicted=int(row["predicted"]),
            scores={name: np.asarray(row[name], dtype=np.float64) for name in self.methods if row[name] is not None},
            second=tuple(row.get("second") or ()),
            rationale=np.asarray(row["rationale"], dtype=bool) if row.get("rationale") is not None else None,
            logits=np.asarray(logits, dtype=np.float64) if logits is not None else None,
            foils={} if attacked is None else {"adversary": np.asarray(attacked, dtype=np.float64)},
        )

    def _attacked(self, ids: pa.ChunkedArray) -> dict[str, list[float]]:
        """The adversary's weights of these texts, where the run was attacked."""
        name = self.run.named("adversary")
        if name is None:
            return {}
        found: Findings = self.run.findings(name)
        if "adversarial_attention" not in found.table.column_names:
            return {}
        kept = found.table.select(["id", "adversarial_attention"])
        kept = kept.filter(pc.is_in(kept["id"], ids.combine_chunks()))
        return {r["id"]: r["adversarial_attention"] for r in kept.to_pylist() if r["adversarial_attention"]}

    def decided_by_shuffle(self) -> dict[str, tuple[int, np.ndarray]]:
        """Where the head is not affine: the class decided under the first shuffle of ``permutation``, and that shuffle.

        Texts whose shuffles were listed and not drawn are not in it.
        """
        name = self.run.named("permutation")
        if name is None:
            raise NotApplicable(
                f"{self.run.path.name}: its head is not affine, and it was not asked 'permutation', so nobody knows "
                "what it predicts under shuffled weights. Audit it again with --challenge permutation."
            )
        from attentest.people.shuffles import first_shuffles

        found = self.run.findings(name)
        drawn = found.table.filter(pc.and_(pc.invert(found.table["enumerated"]), pc.is_valid(found.table["decided"])))
        ids, lengths = drawn["id"].to_pylist(), drawn["tokens"].to_pylist()
        orders = first_shuffles(ids, lengths, int(self.fields.get("seed", 0)))
        decided = drawn["decided"].to_pylist()
        return {key: (int(c), order) for key, c, order in zip(ids, decided, orders, strict=True)}
