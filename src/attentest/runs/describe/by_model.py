"""The run that options describe, whatever model they give, or none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from attentest.data.corpora import CORPORA
from attentest.data.files.frames import table_of_texts
from attentest.durations import seconds_of
from attentest.errors import InputError
from attentest.models.huggingface.checkpoint import is_checkpoint
from attentest.runs.describe.given import describe_checkpoint, describe_in_memory
from attentest.runs.describe.trained import describe_trained
from attentest.runs.model import verify_checkpoint, verify_given
from attentest.runs.options import Options
from attentest.runs.questions import Questions
from attentest.runs.run import CHECKPOINT, Run
from attentest.store.folder import RunFolder

__all__ = ["describe_run"]


def describe_run(
    model: Any = None, tokenizer: Any = None, texts: Any = None, labels: Any = None, **choices: Any
) -> Run:
    """The run that these choices describe, everything checked before any work begins.

    ``model`` is a finished run's folder, a Transformers checkpoint, a model in memory, or None for one yet to be
    trained. ``tokenizer`` is the model's own for a Transformers model in memory, and otherwise how texts are cut into
    words. ``texts`` and ``labels`` stand in the place of data. The other choices are those of ``Options``. Challenges
    that are named must apply; the usual ones are passed over where they do not.
    """
    options = Options.of({"model": model, "tokenizer": tokenizer, "texts": texts, "labels": labels, **choices})
    seconds = 0.0 if options.time is None else seconds_of(options.time)
    Questions.of(options).put()  # what is unknown is refused before texts are read
    return replace(_described(options), time=seconds)


def _described(options: Options) -> Run:
    if (options.texts is None) != (options.labels is None):
        raise InputError("Give texts and labels together, one label for each text.")
    if options.texts is not None and (options.data is not None or options.corpus is not None):
        raise InputError("Give texts and labels, or data, or a corpus: one of them.")
    model = options.model
    if model is not None and not isinstance(model, str | Path):
        return describe_in_memory(options)
    options = _with_texts(options)
    if model is None:
        return describe_trained(options)
    if (Path(model) / CHECKPOINT / "config.json").is_file():
        return _fine_tuned_before(RunFolder(Path(model)), options)
    if not is_checkpoint(model):
        return describe_trained(options)
    verify_given(model)
    return describe_checkpoint(options)


def _with_texts(options: Options) -> Options:
    """The options, with texts and labels as their data."""
    if options.texts is None or options.labels is None:
        return options
    table = table_of_texts(options.texts, options.labels)
    columns: dict[str, Any] = {f"{name}_column": name for name in table.columns}
    return replace(options, texts=None, labels=None, data=table, **columns)


def _fine_tuned_before(folder: RunFolder, options: Options) -> Run:
    """The run for the checkpoint that another run fine-tuned; without data, on the corpus it was fine-tuned on."""
    checkpoint = verify_checkpoint(folder)
    was = folder.record["fields"]["corpus"]["name"]
    if options.corpus is None and options.data is None and was in CORPORA:
        options = replace(options, corpus=was)
    return describe_checkpoint(replace(options, model=checkpoint))
