"""What there is, from the registries: the lists of the command line and the reference pages."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
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
from attentest.models.parts.selectors import SELECTORS
from attentest.papers import PAPERS
from attentest.people.design import DESIGNS
from attentest.registry import Registry
from attentest.runs.presets import PRESETS
from attentest.runs.run import MODEL
from attentest.store.folder import RunFolder, runs_in
from attentest.studies.cell import failure_of
from attentest.training.terms import TERMS
from attentest.words import about, first_line, words_of

__all__ = ["REGISTRIES", "catalogue"]

REGISTRIES: dict[str, Registry[Any]] = {
    "corpora": CORPORA,
    "encoders": ENCODERS,
    "attentions": ATTENTIONS,
    "decoders": DECODERS,
    "heads": HEADS,
    "selectors": SELECTORS,
    "terms": TERMS,
    "explainers": EXPLAINERS,
    "interactions": INTERACTIONS,
    "challenges": CHALLENGES,
    "designs": DESIGNS,
}
#: The fields of a run, besides its model and training, by which runs on one corpus may differ.
EXAMINED = ("seed", "limit", "time", "site", "forced", "removal")
#: Those that every run shows.
ALWAYS_SHOWN = ("encoder", "attention", "seed", "sha256")


def catalogue(kind: str, runs: Path = Path("runs")) -> list[dict[str, Any]]:
    """Every entry of one kind: name, one line of summary, and what else its class declares."""
    if kind == "runs":
        return _runs(runs)
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


def _runs(runs: Path) -> list[dict[str, Any]]:
    """Every run: what it is, in what it differs from the others on its corpus, and how far it came."""
    folders = list(runs_in(runs))
    values: dict[str, dict[str, set[str]]] = {}
    for folder in folders:
        corpus, chosen = _chosen(folder)
        for name, value in chosen.items():
            values.setdefault(corpus, {}).setdefault(name, set()).add(value)
    return [_run(folder, values) for folder in folders]


def _chosen(folder: RunFolder) -> tuple[str, dict[str, str]]:
    """The name of a run's corpus, and how its model was made and examined; nothing of a record that cannot be read."""
    try:
        fields = folder.record["fields"]
        chosen = {**fields["model"], **fields["training"], **{name: fields.get(name) for name in EXAMINED}}
        return str(fields["corpus"]["name"]), {name: str(value) for name, value in chosen.items() if value is not None}
    except (StorageError, KeyError, TypeError):
        return "", {}


def _run(folder: RunFolder, values: Mapping[str, Mapping[str, set[str]]]) -> dict[str, Any]:
    path = folder.path
    try:
        record = folder.record
    except StorageError as error:
        return {"name": path.name, "summary": str(error), "state": "unreadable"}
    fields, (corpus, chosen) = record["fields"], _chosen(folder)
    differs = {
        name: value for name, value in chosen.items() if len(values[corpus][name]) > 1 and name not in ALWAYS_SHOWN
    }
    state, said = _state(folder)
    model = fields.get("model", {})
    parts = (
        f"{model.get('encoder')}, {model.get('attention')} attention, seed {fields.get('seed')}",
        *(f"{name.replace('_', ' ')} {value}" for name, value in differs.items()),
        said,
    )
    return {"name": path.name, "summary": ", ".join(parts), "state": state, "differs": differs}


def _state(folder: RunFolder) -> tuple[str, str]:
    """Whether a run is done, begun or failed, in a word and in a few."""
    record = folder.record
    done = sum(name.startswith("findings/") for name in record["finished"])
    failed = [f"{challenge} failed: {reason}" for challenge, reason in record.get("failed", {}).items()]
    if problem := "; ".join(failed) or failure_of(folder.path):
        return "failed", f"{done} findings, {problem if failed else f'failed: {problem}'}"
    if folder.companion:
        return "done", f"companion: {folder.companion}"
    if not record["fields"].get("challenges") and not done and MODEL in record["finished"]:
        return "done", "trained, not examined"
    asked = record["fields"].get("code", {}).get("findings", {})
    wanted = len(asked) - len(record.get("not_applicable", {}))
    return ("begun", f"{done} of {wanted} findings") if done < wanted else ("done", f"{done} findings")
