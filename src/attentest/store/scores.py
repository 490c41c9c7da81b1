"""Scores of tokens on their way in and out: a run's own for other tools, and those of other tools for a run.

Imported scores lie among the run's findings as ``scores-NAME``, so queries see them; the explainer ``precomputed``
reads them, so every challenge can.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from attentest.errors import InputError, StorageError, UnknownName
from attentest.store.atomic import replacing
from attentest.store.findings import FindingsWriter, read_findings
from attentest.store.folder import RunFolder

__all__ = ["Scores", "Texts", "explainers_of", "fitted", "keep_scores", "read_scores", "scores_of", "texts_of"]

PREFIX = "scores-"
#: Lists of numbers among the instances that are no explainer's scores.
NOT_SCORES = ("probabilities",)


@dataclass(frozen=True)
class Texts:
    """The texts that a run examined, and what its model predicts for them."""

    ids: tuple[str, ...]
    tokens: tuple[tuple[str, ...], ...]
    predicted: tuple[int, ...]
    probabilities: tuple[tuple[float, ...], ...]
    classes: tuple[str, ...]


@dataclass(frozen=True)
class Scores:
    """One number for every token of every text, by one explainer."""

    explainer: str
    texts: Texts
    values: tuple[np.ndarray, ...]


def texts_of(run: RunFolder) -> Texts:
    """The run's texts, from its findings."""
    table = _instances(run)
    classes = run.record["fields"].get("corpus", {}).get("classes", [])
    return Texts(
        tuple(table["id"].to_pylist()),
        tuple(map(tuple, table["tokens"].to_pylist())),
        tuple(table["predicted"].to_pylist()),
        tuple(map(tuple, table["probabilities"].to_pylist())),
        tuple(map(str, classes)),
    )


def explainers_of(run: RunFolder) -> list[str]:
    """Whose scores the run keeps: its explainers', and those that were imported."""
    wanted = pa.list_(pa.float64())
    table = _instances(run)
    own = [field.name for field in table.schema if field.type == wanted and field.name not in NOT_SCORES]
    return own + [name for name in run.challenges if name.startswith(PREFIX)]


def scores_of(run: RunFolder, explainer: str) -> Scores:
    """The scores that the run keeps of one explainer, or that were imported as ``scores-NAME``."""
    known = explainers_of(run)
    if explainer not in known:
        raise UnknownName("explainer with scores in this run", explainer, known)
    imported = explainer.startswith(PREFIX)
    column = run.findings(explainer).table["scores"] if imported else _instances(run)[explainer]
    return Scores(explainer, texts_of(run), _arrays(column))


def _instances(run: RunFolder) -> pa.Table:
    name = run.named("instances")
    table = None if name is None else run.findings(name).table
    if table is None or "tokens" not in table.column_names:
        raise InputError(
            f"{run.path} keeps no scores of single tokens: audit again with the challenge 'instances', per_token=True."
        )
    return table


def _arrays(column: pa.ChunkedArray) -> tuple[np.ndarray, ...]:
    """The lists of a column as arrays, all of them views of one."""
    lists = column.combine_chunks()
    ends = np.cumsum(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False))
    return tuple(np.split(lists.flatten().to_numpy(zero_copy_only=False).astype(np.float64), ends[:-1]))


def fitted(file: str, texts: Texts, found: Mapping[str, np.ndarray]) -> Scores:
    """Scores by id as those of the run's texts: every text once, a finite number for every token."""
    known = set(texts.ids)
    if strange := [name for name in found if name not in known]:
        raise InputError(
            f"{file}: {len(strange):,} of its {len(found):,} ids are not among the run's texts, such as "
            f"{strange[0]!r}. The run's look like {texts.ids[0]!r}."
        )
    if missing := [name for name in texts.ids if name not in found]:
        raise InputError(
            f"{file}: {len(missing):,} of the run's {len(texts.ids):,} texts have no scores, such as {missing[0]!r}. "
            "Give scores for every text."
        )
    values = []
    for name, tokens in zip(texts.ids, texts.tokens, strict=True):
        scores = found[name]
        if scores.ndim != 1 or len(scores) != len(tokens):
            shape = "×".join(map(str, scores.shape)) or "1"
            raise InputError(
                f"{file}: text {name!r} has {shape} scores and {len(tokens)} tokens "
                f"({' '.join(tokens[:4])} …). Score the run's own tokens."
            )
        if not np.isfinite(scores).all():
            raise InputError(f"{file}: text {name!r} has scores that are not finite numbers. Leave none out.")
        values.append(scores.astype(np.float64))
    return Scores("", texts, tuple(values))


def keep_scores(run: RunFolder, name: str, scores: Scores, source: str) -> Path:
    """Store imported scores among the run's findings, under a name of their own."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}", name):
        raise InputError(f"--name {name!r} must be letters, digits, - and _, at most 60, as in 'my-lime'.")
    file = f"findings/{PREFIX}{name}.parquet"
    target = run.path / file
    with run.locked():
        if target.exists():
            raise StorageError(f"{target} is there already. Choose another --name.")
        texts = scores.texts
        table = pa.table(
            {
                "id": pa.array(texts.ids, pa.string()),
                "predicted": pa.array(texts.predicted, pa.int32()),
                "tokens": pa.array(texts.tokens, pa.list_(pa.string())),
                "scores": pa.array([values.tolist() for values in scores.values], pa.list_(pa.float64())),
                "not_judged": pa.nulls(len(texts.ids), pa.string()),
            }
        )
        with replacing(target) as temporary, FindingsWriter(temporary, f"scores(name={name!r})", ()) as writer:
            writer.write(table)
        run.finish(file, instances=len(texts.ids), imported=source)
    return target


def read_scores(path: Path) -> tuple[list[str], list[list[str]], Sequence[np.ndarray]]:
    """Ids, tokens and scores of a file that ``keep_scores`` wrote."""
    if not path.is_file():
        raise InputError(f"There is no file of scores at {path}. 'attentest scores import' writes one.")
    found = read_findings(path)
    if found.name != "scores" or not {"id", "tokens", "scores"} <= set(found.table.column_names):
        raise InputError(
            f"{path} holds findings of {found.challenge!r}, not scores. 'attentest scores import' writes them."
        )
    table = found.table
    return table["id"].to_pylist(), table["tokens"].to_pylist(), _arrays(table["scores"])
