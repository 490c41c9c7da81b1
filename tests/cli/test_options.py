"""No option of the command line is dropped on its way to the run."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_cli import run, write_csv

import attentest.auditing
import attentest.runs.describe
from attentest.cli import audit as commands
from attentest.cli.fine_tune import fine_tune
from attentest.data.files.to_corpus import corpus_from_files
from attentest.runs.describe import FILES, describe_run
from attentest.runs.existing_texts import corpus_for

__all__ = ["run"]

#: What is not a choice of the run itself, but of how it is computed and shown.
OF_THE_COMMAND = {"model", "challenge", "thorough", "device", "runs", "fresh", "quiet", "as_json", "details", "time"}
#: A value other than the default for every option that takes one.
GIVEN: dict[str, Any] = {
    **{"corpus": "stories-1", "data": "d.csv", "test": "t.csv", "tokenizer": "whitespace", "max_tokens": 77},
    **{"truncate": 66, "encoding": "utf-8", "min_frequency": 2, "fine_tune": "checkpoint", "classes": "a,b"},
    **{"text_column": "text", "label_column": "label", "second_column": "other", "id_column": "id"},
    **{"label_words": "a=x,b=y", "prompt": "{text} it", "encoder": "average", "structure": "hierarchical"},
    **{"attention": "dot", "query": "shared", "decoder": "luong", "forced": "own", "site": "word", "head": "softmax"},
    **{"embedding": 12, "vectors": "v.txt", "preset": "paper", "epochs": 3, "batch_size": 5, "learning_rate": 0.01},
    **{"clip": 2.0, "patience": 4, "smoothing": 0.2, "warmup": 9, "limit": 11, "seed": 13},
}


class Stopped(Exception):
    """The run has been described."""


def options(command: Any) -> list[str]:
    return [name for name in inspect.signature(command).parameters if name not in OF_THE_COMMAND]


@pytest.mark.parametrize("command", ["audit", "train"])
def test_every_option_reaches_the_run(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    captured: dict[str, Any] = {}

    def described(*_: Any, **choices: Any) -> None:
        captured.update(choices)
        raise Stopped

    monkeypatch.setattr(attentest.auditing, "describe_audit", described)
    monkeypatch.setattr(attentest.runs.describe, "describe_run", described)
    monkeypatch.setattr(commands, "check_texts", lambda choices: None)
    function = getattr(commands, command)
    given = {name: GIVEN[name] for name in options(function)}
    with pytest.raises(Stopped):
        function(**given, quiet=True)
    sent = {**given}
    if command == "audit":
        sent |= {"classes": ("a", "b"), "label_words": {"a": "x", "b": "y"}}
    assert sent.items() <= captured.items()


def test_every_choice_has_an_option_and_every_option_is_a_choice() -> None:
    """But for removal, which study files have."""
    known = {name for name in inspect.signature(describe_run).parameters if name not in ("model", "challenges")}
    only_given = {"classes", "label_words", "prompt"}
    assert set(options(commands.audit)) - only_given == known - {"removal", "removal_share", "removal_by"}


def test_every_choice_of_files_reaches_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From training, from the audit of a model that is there, and from fine-tuning."""
    data = write_csv(tmp_path / "d.csv", [(f"text {n} is {n % 2}", str(n % 2)) for n in range(20)])
    captured: list[dict[str, Any]] = []

    def made(*given: Any, **choices: Any) -> None:
        captured.append({**inspect.signature(corpus_from_files).bind(*given, **choices).arguments})
        raise Stopped

    given = {name: GIVEN[name] for name in FILES if name not in ("data", "test")} | {"data": data, "test": data}
    monkeypatch.setattr("attentest.runs.describe.corpus_from_files", made)
    monkeypatch.setattr("attentest.runs.existing_texts.corpus_from_files", made)
    monkeypatch.setattr("attentest.data.files.to_corpus.corpus_from_files", made)
    monkeypatch.setattr("attentest.data.files.presence.check_presence", lambda *_, **__: None)
    with pytest.raises(Stopped):
        describe_run(**given)
    of_model = {
        name: value for name, value in given.items() if name not in ("min_frequency", "second_column", "id_column")
    }
    with pytest.raises(Stopped):
        corpus_for(None, ("0", "1"), **of_model)
    of_command = {name: given[name] for name in FILES if name in inspect.signature(fine_tune).parameters}
    assert set(of_command) == {name for name in FILES if name != "min_frequency"}
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "config.json").write_text("{}")
    with pytest.raises(Stopped):
        fine_tune(tmp_path / "checkpoint", to=tmp_path / "to", quiet=True, **of_command)
    for sent, found in zip((given, of_model, of_command), captured, strict=True):
        assert {**sent, "data": 0}.items() <= {**found, "data": 0}.items()
