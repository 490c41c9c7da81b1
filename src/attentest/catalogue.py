"""What there is, from the registries: the lists of the command line and the reference pages."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from attentest.challenges import CHALLENGES
from attentest.data.corpora import CORPORA
from attentest.data.tokenizers import TOKENIZERS
from attentest.errors import StorageError
from attentest.explainers import EXPLAINERS
from attentest.explainers.perturbation.interactions import INTERACTIONS
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.decoders import DECODERS
from attentest.models.parts.encoders import ENCODERS
from attentest.models.parts.heads import HEADS
from attentest.papers import PAPERS
from attentest.registry import Registry
from attentest.runs.presets import PRESETS
from attentest.store.folder import RunFolder, runs_in
from attentest.words import about, first_line, words_of

__all__ = ["KINDS", "catalogue"]

REGISTRIES: dict[str, Registry[Any]] = {
    "corpora": CORPORA,
    "encoders": ENCODERS,
    "attentions": ATTENTIONS,
    "decoders": DECODERS,
    "heads": HEADS,
    "explainers": EXPLAINERS,
    "interactions": INTERACTIONS,
    "challenges": CHALLENGES,
}
KINDS = (*REGISTRIES, "tokenizers", "presets", "papers", "runs")


def catalogue(kind: str, runs: Path = Path("runs")) -> list[dict[str, Any]]:
    """Every entry of one kind: name, one line of summary, and what else its class declares."""
    if kind == "runs":
        return [_run(folder) for folder in runs_in(runs)]
    if kind == "presets":
        return [{"name": name, "summary": preset.summary} for name, preset in PRESETS.items()]
    if kind == "papers":
        return [{"name": name, "summary": paper.title, "reference": paper.citation} for name, paper in PAPERS.items()]
    if kind == "tokenizers":
        return [{"name": name, "summary": first_line(made), "about": about(made)} for name, made in TOKENIZERS.items()]
    return [_entry(name, cls) for name, cls in REGISTRIES[kind].items()]


def _entry(name: str, cls: type[Any]) -> dict[str, Any]:
    entry = {"name": name, "summary": getattr(cls, "question", "") or getattr(cls, "summary", "") or first_line(cls)}
    for attribute in ("reference", "cost", "checked", "licence", "citation"):
        if value := getattr(cls, attribute, ""):
            entry[attribute] = value
    parameters = {
        field.name: field.default if field.default is not dataclasses.MISSING else None
        for field in dataclasses.fields(cls)
    }
    more = {"about": about(cls), "parameters": parameters, "words": words_of(cls)}
    return entry | {key: value for key, value in more.items() if value}


def _run(folder: RunFolder) -> dict[str, Any]:
    path = folder.path
    try:
        record = folder.record
    except StorageError as error:
        return {"name": path.name, "summary": str(error)}
    fields = record["fields"]
    model = fields.get("model", {})
    done = [name for name in record["finished"] if name.startswith("findings/")]
    return {
        "name": path.name,
        "summary": f"{model.get('encoder')}, {model.get('attention')} attention, seed {fields.get('seed')}, "
        + (f"companion: {folder.companion}" if folder.companion else f"{len(done)} findings"),
    }
