"""The audit: from data and a model (or none) to findings, a verdict and a report."""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attentest.challenges import CHALLENGES, DEFAULT
from attentest.data.corpora import CORPORA
from attentest.data.corpus import Corpus
from attentest.data.files import corpus_from_files
from attentest.errors import InputError, NotApplicable
from attentest.models.attention import ATTENTIONS
from attentest.models.classifier import Architecture
from attentest.models.encoders import ENCODERS
from attentest.models.heads import HEADS
from attentest.progress import SILENT, Progress
from attentest.report.judge import judge
from attentest.report.page import write_report
from attentest.report.records import record_of
from attentest.report.verdict import Verdict
from attentest.store.folder import RunFolder
from attentest.studies.presets import preset as preset_named
from attentest.studies.run import Run, execute

if TYPE_CHECKING:
    import pandas

__all__ = ["Audit", "audit", "describe_run", "finish"]

#: The choices that make a model.
MAKING = (
    *("min_frequency", "encoder", "attention", "head", "embedding", "vectors"),
    *("preset", "epochs", "batch_size", "learning_rate", "clip", "patience"),
)


@dataclass(frozen=True)
class Audit:
    """A finished audit: its verdict, its report, and its findings as frames."""

    folder: RunFolder
    verdict: Verdict

    @property
    def report(self) -> Path:
        """The page."""
        return self.folder.path / "report.html"

    def show(self) -> None:
        """Print the verdict."""
        from rich.console import Console

        from attentest.report.tables import verdict_summary

        Console().print(verdict_summary(self.verdict))

    def to_record(self) -> dict[str, Any]:
        """The verdict and every measure as plain values."""
        return record_of(self.folder, self.verdict)

    def to_frame(self, challenge: str = "instances") -> pandas.DataFrame:
        """The per-instance findings of one challenge."""
        frame: pandas.DataFrame = self.folder.findings(challenge).table.to_pandas()
        return frame


def audit(
    model: str | Path | None = None,
    *,
    challenges: Sequence[str] = DEFAULT,
    runs: str | Path = "runs",
    device: str = "auto",
    fresh: bool = False,
    progress: Progress = SILENT,
    **choices: Any,
) -> Audit:
    """Audit a model's attention: train one, or take a finished run's; see ``describe_run`` for the choices."""
    run = describe_run(model, challenges=challenges, **choices)
    return finish(run, Path(runs), device=device, fresh=fresh, progress=progress)


def finish(run: Run, runs: Path, *, device: str = "auto", fresh: bool = False, progress: Progress = SILENT) -> Audit:
    """Execute the run, judge it and write its report."""
    folder = execute(run, runs, device=device, workers=os.cpu_count() or 1, fresh=fresh, progress=progress)
    verdict = judge(folder)
    write_report(folder, verdict, folder.path / "report.html")
    return Audit(folder, verdict)


def describe_run(
    model: str | Path | None = None,
    *,
    corpus: str | Corpus | None = None,
    data: str | Path | None = None,
    test: str | Path | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    id_column: str | None = None,
    tokenizer: str | None = None,
    max_tokens: int = 1000,
    min_frequency: int = 1,
    encoder: str = "bilstm",
    attention: str = "additive",
    head: str | None = None,
    embedding: int = 300,
    vectors: str | Path | None = None,
    preset: str = "attentest",
    epochs: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    clip: float | None = None,
    patience: int | None = None,
    challenges: Sequence[str] = DEFAULT,
    seed: int = 0,
    limit: int = 0,
) -> Run:
    """The run that these choices describe, everything checked before any work begins."""
    if corpus is not None and data is not None:
        raise InputError("Give --corpus or --data, not both.")
    if test is not None and data is None:
        raise InputError("--test needs --data, the file to train on.")
    if limit < 0:
        raise InputError(f"limit={limit} must be 0 (all) or more.")
    if model is not None:
        _refuse_model_options(locals())
    chosen = tuple(CHALLENGES.parse(text) for text in challenges)
    source = None if model is None else _run_folder(Path(model))
    defaults = preset_named(preset)
    built = defaults.encoder(encoder)
    architecture = Architecture(
        ENCODERS.parse(built) if isinstance(built, str) else built,
        ATTENTIONS.parse(attention),
        None if head is None else HEADS.parse(head),
        embedding,
    )
    given: dict[str, Any] = {
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "clip": clip,
        "patience": patience,
    }
    training = dataclasses.replace(defaults.training, **{k: v for k, v in given.items() if v is not None})
    was = {} if source is None else source.record["fields"]["corpus"]
    words = tokenizer or was.get("tokenizer") or "english"
    if data is not None:
        loaded = corpus_from_files(
            Path(data),
            test=None if test is None else Path(test),
            text_column=text_column,
            label_column=label_column,
            id_column=id_column,
            tokenizer=words,
            max_tokens=max_tokens,
            min_frequency=min_frequency,
            classes=tuple(was["classes"]) if was else None,
            seed=seed,
        )
    elif isinstance(corpus, Corpus):
        loaded = corpus
    elif corpus is None and was and was["name"] not in CORPORA:
        raise InputError(f"Give --data or --corpus: texts to audit {model} on.")
    else:
        loaded = CORPORA.parse(corpus or was.get("name", "reviews")).load()
    if loaded.task != "single":
        raise NotApplicable(
            f"Corpus {loaded.name!r} has a second text or a target (task {loaded.task!r}); this version audits "
            "classifiers of one text. Choose a corpus of task 'single' from 'attentest corpora'."
        )
    if was and tuple(was["classes"]) != loaded.classes:
        raise InputError(
            f"The model was trained on the classes {', '.join(was['classes'])}, "
            f"but {loaded.name!r} has {', '.join(loaded.classes)}. Give data with the model's classes."
        )
    return Run(
        loaded,
        architecture,
        training,
        chosen,
        seed=seed,
        limit=limit,
        vectors=None if vectors is None else Path(vectors),
        missing_vectors=defaults.missing_vectors,
        model_from=source,
        tokenizer=words if data is not None else "",
    )


def _refuse_model_options(given: dict[str, Any]) -> None:
    """A trained model is taken as it is: options that would make another one are refused, not ignored."""
    for name, parameter in inspect.signature(describe_run).parameters.items():
        if name in MAKING and given[name] != parameter.default:
            flag = name.replace("_", "-")
            raise InputError(f"--{flag} {given[name]} has no effect on a trained model: leave out --model or --{flag}.")


def _run_folder(path: Path) -> RunFolder:
    if not path.exists():
        raise InputError(f"No model at {path}. Give the folder of a run made by 'attentest train' or 'audit'.")
    folder = RunFolder(path if path.is_dir() else path.parent)
    folder.record  # noqa: B018
    return folder
