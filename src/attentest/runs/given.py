"""From whatever model a person gives, or none, to a run."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import nn

from attentest.data.corpora import CORPORA
from attentest.data.files.frames import table_of_texts
from attentest.errors import InputError, UnknownName
from attentest.models.huggingface.checkpoint import is_checkpoint
from attentest.models.subject import Subject
from attentest.runs.describe import MAKING, describe_run
from attentest.runs.existing import describe_checkpoint, describe_model, describe_subject, names_of
from attentest.runs.existing_texts import in_memory
from attentest.runs.questions import Questions
from attentest.runs.run import CHECKPOINT, MODEL, Run
from attentest.store.folder import RunFolder

__all__ = ["ONLY_GIVEN", "describe_given"]

#: Choices that only a model that is there already has.
ONLY_GIVEN = ("classes", "label_words", "prompt")
#: Choices of an audit that do not describe its run.
OF_AUDITS = ("thorough", "runs", "device", "fresh", "progress")


def describe_given(
    model: Any = None,
    tokenizer: Any = None,
    texts: Sequence[Any] | None = None,
    labels: Sequence[int | str] | None = None,
    *,
    challenges: Sequence[str] | Questions | None = None,
    **choices: Any,
) -> Run:
    """The run for a finished run's folder, a Transformers checkpoint, a model in memory, or a model yet to be trained.

    ``tokenizer`` is the model's own for a Transformers model in memory, and otherwise how texts are cut into words.
    ``texts`` and ``labels`` stand in the place of data. A model that is there already is taken as it is.
    """
    _refuse_unknown(choices)
    if isinstance(model, str | Path) and (Path(model) / CHECKPOINT / "config.json").is_file():
        given = _with_texts(choices, texts, labels)
        return _fine_tuned_before(RunFolder(Path(model)), tokenizer, challenges=challenges, **given)
    if model is None or (isinstance(model, str | Path) and not is_checkpoint(model)):
        if named := next((name for name in ONLY_GIVEN if choices.pop(name, None) is not None), None):
            raise InputError(f"{named} is for checkpoints of the Transformers library and models of your own.")
        return describe_run(model, challenges=challenges, tokenizer=tokenizer, **_with_texts(choices, texts, labels))
    chosen = {**_without_making(choices), "challenges": challenges}
    if isinstance(model, str | Path):
        return describe_checkpoint(model, tokenizer=tokenizer, **_with_texts(chosen, texts, labels))
    return _in_memory(model, tokenizer, texts, labels, chosen)


def _in_memory(
    model: Any, tokenizer: Any, texts: Sequence[Any] | None, labels: Sequence[int | str] | None, chosen: dict[str, Any]
) -> Run:
    """The run for a model in the hands of a Python program."""
    _refuse_half(texts, labels)
    if isinstance(model, Subject):
        if tokenizer is not None:
            chosen["tokenizer"] = tokenizer
        if texts is not None and labels is not None:
            chosen["corpus"] = in_memory(texts, labels, chosen.get("classes") or tuple(map(str, range(model.classes))))
        return describe_subject(model, **chosen)
    if not isinstance(model, nn.Module) or not hasattr(model, "set_attn_implementation"):
        raise InputError(
            f"{type(model).__name__} is neither a model of the Transformers library nor a subject: wrap it with "
            "attentest.subject_of_module or attentest.subject_of_functions (see 'Your own model' in the documentation)."
        )
    if tokenizer is None or isinstance(tokenizer, str):
        raise InputError("Give the model's own tokenizer: audit(model, tokenizer, texts, labels).")
    if texts is not None and labels is not None:
        chosen["corpus"] = in_memory(texts, labels, names_of(model, chosen))
        chosen["classes"] = chosen["corpus"].classes
    return describe_model(model, tokenizer, **chosen)


def _fine_tuned_before(folder: RunFolder, tokenizer: Any, **choices: Any) -> Run:
    """The run for the checkpoint that another run fine-tuned; without data, on the corpus it was fine-tuned on."""
    folder.verify(MODEL)
    was = folder.record["fields"]["corpus"]["name"]
    if choices.get("corpus") is None and choices.get("data") is None and was in CORPORA:
        choices["corpus"] = was
    return describe_given(folder.path / CHECKPOINT, tokenizer, **choices)


def _refuse_unknown(choices: dict[str, Any]) -> None:
    """A choice that nobody knows is named, with the nearest that is known."""
    known = {*inspect.signature(describe_run).parameters, *ONLY_GIVEN, *OF_AUDITS, "texts", "labels"}
    if unknown := next((name for name in choices if name not in known), None):
        raise UnknownName("choice", unknown, known)


def _refuse_half(texts: Sequence[Any] | None, labels: Sequence[int | str] | None) -> None:
    if (texts is None) != (labels is None):
        raise InputError("Give texts and labels together, one label for each text.")


def _with_texts(
    choices: dict[str, Any], texts: Sequence[Any] | None, labels: Sequence[int | str] | None
) -> dict[str, Any]:
    """The choices, with texts and labels as their data."""
    _refuse_half(texts, labels)
    if texts is None or labels is None:
        return choices
    if choices.get("data") is not None or choices.get("corpus") is not None:
        raise InputError("Give texts and labels, or data, or a corpus: one of them.")
    table = table_of_texts(texts, labels)
    columns = {f"{name}_column": name for name in table.columns}
    return {**choices, **columns, "data": table}


def _without_making(choices: dict[str, Any]) -> dict[str, Any]:
    """The choices less those that would make a model; one of these that was really chosen is refused, not ignored."""
    usual = inspect.signature(describe_run).parameters
    for name in (*MAKING, "forced"):
        if name in choices and choices[name] != usual[name].default:
            raise InputError(
                f"--{name.replace('_', '-')} {choices[name]} has no effect on a model that is there already: "
                "leave it out."
            )
    return {name: value for name, value in choices.items() if name not in (*MAKING, "forced") and value is not None}
