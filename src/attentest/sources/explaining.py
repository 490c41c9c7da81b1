"""One answer, every method: from a finished audit, or asked now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from attentest.errors import InputError, UnknownName, shown
from attentest.models.huggingface.checkpoint import is_checkpoint
from attentest.sources.auditing import DEFAULT, judged_folder, load_language_model
from attentest.sources.case import open_case
from attentest.sources.judging.record import examine
from attentest.sources.language import LanguageModel
from attentest.sources.methods import METHODS
from attentest.sources.prompt import PROMPT, Prompter
from attentest.sources.question import Question
from attentest.sources.showing.cited import Cited
from attentest.store.folder import RunFolder
from attentest.store.sources import CASES, find_audit

__all__ = ["explain_sources"]


def explain_sources(
    question: str | Question,
    model: LanguageModel | str | Path,
    *,
    methods: Sequence[str] = (),
    unit: str = "source",
    prompt: str = PROMPT,
    chat: bool = True,
    device: str = "auto",
    dtype: str = "float32",
    longest: int = 32,
) -> Cited:
    """What every method says of the sources of one answer.

    ``model`` is an audit's folder, and ``question`` one of its questions, or that question's id: nothing is computed.
    Or a ``Question`` is put to a language model, to a checkpoint's, or to that of an audit, as the audit would put it.
    """
    folder = None if isinstance(model, LanguageModel) else find_audit(str(model))
    if isinstance(question, str):
        if folder is None:
            raise InputError(
                "A question without sources is looked up in an audit of sources: name its folder, or give the sources."
            )
        return _looked_up(question, folder, methods)
    chosen = [METHODS.parse(name) for name in (methods or DEFAULT)]
    name = str(model)
    if folder is not None:
        fields: dict[str, Any] = RunFolder(folder).record["fields"]
        name = str(fields["name"])
        if not is_checkpoint(name):
            raise InputError(
                f"The audit {folder.name} does not say where its model {shown(name)} lies: name the model's own folder."
            )
        dtype = str(fields["dtype"])
        prompt, chat, unit, longest = (fields[each] for each in ("prompt", "chat", "unit", "longest"))
    if isinstance(model, LanguageModel):
        language, name = model, type(model.model).__name__
    else:
        language = load_language_model(name, device=device, dtype=dtype)
    case = open_case(language, Prompter(language.tokenizer, prompt, chat=chat), question, unit=unit, longest=longest)
    return Cited(examine(case, chosen, held_out=0, alternatives=False), name)


def _looked_up(asked: str, folder: Path, methods: Sequence[str]) -> Cited:
    if not (folder / CASES).exists():
        raise InputError(f"{folder} is an audit that was cut short. Run the same command again: it resumes.")
    found = judged_folder(folder)
    matching = [record for record in found.records if asked == record.id] or [
        record for record in found.records if asked.strip() == record.question.strip()
    ]
    if not matching:
        raise UnknownName(f"question or id in {folder}", asked[:80], [record.id for record in found.records])
    if len(matching) > 1:
        raise UnknownName("single question, give its id", asked[:80], [record.id for record in matching])
    (record,) = matching
    if methods:
        if missing := [name for name in methods if name not in record.given]:
            raise UnknownName(f"method of {folder.name}", missing[0], list(record.given))
        record = replace(record, given={name: record.given[name] for name in methods})
    return Cited(record, found.model, str(folder))
