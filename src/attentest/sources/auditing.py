"""From a model and questions to a folder with what was found: question by question, so that a killed audit resumes."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch

from attentest import __version__
from attentest.devices import device_named, ran_out
from attentest.errors import InputError, StorageError, line_of, shown
from attentest.models.huggingface.checkpoint import DeviceMap, fingerprint, load_checkpoint
from attentest.progress import SILENT, Progress
from attentest.registry import text_of
from attentest.runs.version import name_of, version_of
from attentest.sources.case import Case, open_case
from attentest.sources.judging.checked import record_of
from attentest.sources.judging.measures import LEARNT, with_layers, with_learnt
from attentest.sources.judging.record import Record, examine
from attentest.sources.judging.verdict import Answered, Others, Ruling, answered, other_weights, rule
from attentest.sources.language import LanguageModel
from attentest.sources.methods import METHODS, Method
from attentest.sources.prompt import PROMPT, Prompter
from attentest.sources.question import Question
from attentest.sources.unfinished import appending, unfinished
from attentest.store.atomic import make_folder, replacing
from attentest.store.findings import FindingsWriter, Measure
from attentest.store.folder import RunFolder
from attentest.store.sources import CASES, UNFINISHED

__all__ = [
    "CASES",
    "DEFAULT",
    "FINDINGS",
    "TYPES",
    "UNFINISHED",
    "SourcesAudit",
    "audit_sources",
    "judged_folder",
    "load_language_model",
    "methods_of",
    "refuse_placing",
]

#: What every audit asks, in the order of its table; the learnt combination of heads joins them.
DEFAULT = (
    *("attention", "attention(pool='mean')", "attention(pool='top')", "attention(pool='value_weighted')", "rollout"),
    *("knockout", "gradient_x_input", "attn_lrp", "context_cite(ablations=16)", "exchange", "leave_one_out"),
    *("shared_words", "last", "random"),
)
TYPES = ("float32", "bfloat16", "float16")
#: How accelerate may be asked to spread a model.
MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
#: The code that decides a question's record, apart from the methods'.
FINDS = (
    *("attentest.sources.judging.record:examine", "attentest.sources.judging.record:Record"),
    *("attentest.sources.case:open_case", "attentest.sources.prompt:Prompter"),
)
FINDINGS = "findings/sources.parquet"
MEASURES = (
    Measure("share", "share", "mean", "of the largest fall, the share that the first source causes", together="id"),
    Measure("drop", "drop", "mean", "fall of the answer's log-probability without the first source", together="id"),
    Measure("lds", "lds", "mean", "rank correlation over ablations that nothing was fitted on", together="id"),
    Measure("hit", "hit", "fraction", "how often the first source decides, by intervention", together="id"),
)


@dataclass(frozen=True, eq=False)
class SourcesAudit:
    """What was found: every question's record, and what is said of every method."""

    folder: Path
    model: str
    records: tuple[Record, ...]
    answered: Answered
    rulings: tuple[Ruling, ...]
    #: Of every layer's attention alone, heads averaged.
    layers: tuple[Ruling, ...]
    #: Whether other weights would have done.
    others: Others

    def to_record(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "folder": str(self.folder),
            "model": self.model,
            "answered": asdict(self.answered),
            "methods": [_flat(ruling) for ruling in self.rulings],
            "layers": [_flat(ruling) for ruling in self.layers],
            "other_weights": asdict(self.others),
            "questions": [
                {
                    "id": record.id,
                    "question": record.question,
                    "answer": record.answer,
                    "status": record.status,
                    "whole": record.whole,
                    "without_any": record.empty,
                    "without_each": record.without,
                    "scores": {name: given.scores for name, given in record.given.items()},
                }
                for record in self.records
            ],
        }


def _named(language: LanguageModel) -> str:
    """The folder that a model came from, or its class."""
    return Path(getattr(language.model, "name_or_path", "")).name or type(language.model).__name__


def _flat(ruling: Ruling) -> dict[str, Any]:
    judged = ruling.judged
    intervals = {name: list(getattr(judged, name)) for name in ("share", "drop", "drop_two", "lds", "hits", "injected")}
    counts = dict(zip(("share", "lds", "hits", "injected"), judged.counts, strict=True))
    cost = {"passes": judged.passes, "seconds": judged.seconds, "ahead_of_shared_words": list(ruling.ahead)}
    return {
        "method": judged.method,
        "tone": ruling.tone,
        "reading": ruling.reading,
        **intervals,
        "counts": counts,
    } | cost


def load_language_model(
    model: str | Path, *, device: str = "auto", dtype: str = "float32", device_map: DeviceMap | None = None
) -> LanguageModel:
    """The causal language model of a checkpoint, on a device, in single or half precision.

    ``device_map``, such as ``"auto"``, spreads its layers over all devices, and over memory and disk where these do not
    suffice, as the accelerate library does it; ``device`` then says nothing.
    """
    refuse_placing(dtype, device_map)
    if device_map is None:
        loaded, tokenizer = load_checkpoint(model, language=True, dtype=dtype)
        return LanguageModel(loaded.to(device_named(device)), tokenizer)
    return LanguageModel(*load_checkpoint(model, language=True, dtype=dtype, device_map=device_map))


def refuse_placing(dtype: str, device_map: DeviceMap | None) -> None:
    """Refuse a precision and a way of spreading that there are not, before any model is loaded."""
    if dtype not in TYPES:
        raise InputError(f"dtype={shown(dtype)} must be one of {', '.join(TYPES)}.")
    if isinstance(device_map, str) and device_map not in MAPS:
        raise InputError(f"device_map={shown(device_map)} must be one of {', '.join(MAPS)}, or a device by module.")
    if device_map is not None and find_spec("accelerate") is None:
        raise InputError(
            "device_map spreads a model by the accelerate library, which is not installed: pip install accelerate."
        )


def methods_of(texts: Sequence[str]) -> list[Method]:
    """The methods of these names; those that every audit asks, where none is named."""
    return [METHODS.parse(text) for text in (texts or DEFAULT)]


def audit_sources(
    model: LanguageModel | str | Path,
    questions: Iterable[Question],
    *,
    methods: Sequence[str] = (),
    unit: str = "source",
    prompt: str = PROMPT,
    chat: bool = True,
    held_out: int = 16,
    alternatives: bool = True,
    longest: int = 32,
    seed: int = 0,
    device: str = "auto",
    dtype: str = "float32",
    device_map: DeviceMap | None = None,
    to: str | Path = "sources",
    fresh: bool = False,
    progress: Progress = SILENT,
) -> SourcesAudit:
    """Ask a language model questions over sources, and say by every method which source each answer came from.

    ``unit``: scores are given to sources, or to words in them. ``held_out`` ablations of every question are kept apart,
    to compare predictions with. ``alternatives``: whether other weights over the sources are tried. ``longest`` is the
    most tokens of an answer that the model gives itself.
    """
    asked = list(questions)
    if not asked:
        raise InputError("There are no questions: give at least one.")
    if held_out < 0 or longest < 1:
        raise InputError(f"held_out={held_out} must be at least 0, longest={longest} at least 1.")
    chosen = methods_of(methods)
    placed: dict[str, Any] = {"device": device, "dtype": dtype, "device_map": device_map}
    language = model if isinstance(model, LanguageModel) else load_language_model(model, **placed)
    prompter = Prompter(language.tokenizer, prompt, chat=chat)
    # Refused before anything is computed: units that there are not, prompts too long for the model.
    for question in asked:
        built = prompter.build(question, prompter.items(question, unit))
        language.check_length(len(built.ids) + 1, f"Question {question.id or question.question[:60]!r}")
    fields = {
        "model": {"class": type(language.model).__name__, "weights": fingerprint(language.model)},
        "name": str(model) if isinstance(model, str | Path) else _named(language),
        "dtype": str(language.model.dtype).removeprefix("torch."),
        "questions": hashlib.sha256("\n".join(map(repr, asked)).encode()).hexdigest(),
        **{"methods": [text_of(method) for method in chosen], "unit": unit, "prompt": prompt, "chat": chat},
        **{"held_out": held_out, "alternatives": alternatives, "longest": longest, "seed": seed},
        "code": version_of(*FINDS, *sorted({name_of(type(method)) for method in chosen})),
    }
    name = hashlib.sha256(json.dumps({**fields, "name": ""}).encode()).hexdigest()[:12]
    path = Path(to) / name
    with contextlib.suppress(StorageError):  # the same model at another place: it keeps the name that it had first
        fields["name"] = RunFolder(path).record["fields"]["name"]
    folder = RunFolder.create(path, fields, {"attentest": __version__, "torch": torch.__version__}, progress.say)
    with folder.locked(progress.say):
        if fresh or not folder.is_finished(CASES, progress.say):
            done = {} if fresh else unfinished(path / UNFINISHED, progress.say)
            pool = [text for question in asked for text in question.sources]
            with appending(path / UNFINISHED, keep=not fresh) as write, progress.stage("Questions", len(asked)) as tick:
                for question in asked:
                    if question.id not in done:
                        case = open_case(language, prompter, question, unit=unit, longest=longest)
                        # Another question's sources, half the list away, so that neighbours of one topic do not meet.
                        at = pool.index(question.sources[0]) + len(pool) // 2
                        case.others = [pool[(at + step) % len(pool)] for step in range(len(question.sources))]
                        write(_examined(case, chosen, held_out, alternatives, seed))
                    tick()
            kept = unfinished(path / UNFINISHED, progress.say)
            with replacing(path / CASES) as temporary:
                lines = [kept[question.id].to_json() for question in asked]
                temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
            folder.finish(CASES)
        (path / UNFINISHED).unlink(missing_ok=True)  # of an audit that was killed right here, too
        found = judged_folder(path)
        _write_findings(folder, found)
    return found


def _examined(case: Case, methods: list[Method], held_out: int, alternatives: bool, seed: int) -> Record:
    try:
        return examine(case, methods, held_out=held_out, alternatives=alternatives, seed=seed)
    except RuntimeError as error:
        if not ran_out(error):
            raise
        raise InputError(
            f"Question {shown(case.question.id, 60)}, {len(case.prompt.ids):,} tokens: memory ran out for one prompt "
            "at a time. Use half precision (--dtype bfloat16), another device or shorter sources; what is done is kept."
        ) from error


def judged_folder(path: Path) -> SourcesAudit:
    """What a finished audit found, judged from its records."""
    folder = RunFolder(path)
    lines = [line for line in folder.verify(CASES).read_text(encoding="utf-8").split("\n") if line]
    try:
        records = with_learnt([record_of(line) for line in lines])
        if not records:
            raise ValueError("no question")
    except ValueError as error:
        raise StorageError(
            f"{path / CASES} is sealed, and does not hold records that this attentest reads ({line_of(error)[:200]}). "
            "Ask again: the same command with --fresh."
        ) from error
    layered = with_layers(records)
    names = list(dict.fromkeys(name for record in records for name in record.given))
    if LEARNT in names:
        names.insert(next((n for n, name in enumerate(names) if not name.startswith(("att", "roll"))), 0), names.pop())
    return SourcesAudit(
        path,
        str(folder.record["fields"]["name"]),
        tuple(records),
        answered(records),
        tuple(rule(records, name) for name in names),
        tuple(rule(layered, f"attention(layer={layer + 1})") for layer in range(len(records[0].heads))),
        other_weights(records),
    )


def _write_findings(folder: RunFolder, found: SourcesAudit) -> None:
    """One row for every question and method, for queries."""
    from attentest.sources.judging.measures import row_of

    rows = [row_of(record, name) for record in found.records for name in record.given]
    make_folder((folder.path / FINDINGS).parent)
    with replacing(folder.path / FINDINGS) as temporary, FindingsWriter(temporary, "sources", MEASURES) as writer:
        writer.write(pa.Table.from_pylist(rows))
    folder.finish(FINDINGS)
