"""Every option reaches the command line, Python, study files and the run, or says why it does not."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_cli import fails_in_one_line, run, write_csv
from tests.support.pretrained import tiny, tokenizer_of

import attentest
import attentest.auditing
import attentest.runs.describe
from attentest.cli.fine_tune import fine_tune
from attentest.data.files.to_corpus import corpus_from_files
from attentest.errors import InputError, UnknownName
from attentest.models.huggingface.checkpoint import quietly
from attentest.runs.describe import describe_run
from attentest.runs.describe.texts import corpus_for
from attentest.runs.describe.trained import FILES
from attentest.runs.options import DEFAULTS, GIVEN, OPTIONS, Options
from attentest.studies.choices import check_choice

__all__ = ["run"]

REVIEWS, PAIRS = {"corpus": "reviews(train=20, dev=6, test=6)"}, {"corpus": "stories-1(train=20, dev=6, test=6)"}
DATES, ROWS = {"corpus": "dates(train=12, dev=4, test=4)"}, {"data": "d.csv", "tokenizer": "whitespace"}
TUNED, SPEAKING = {"model": "bert", **ROWS}, {"model": "gpt2-lm", **ROWS, "label_words": {"a": "w1", "b": "w2"}}
LISTS = {"texts": [f"text {n}" for n in range(8)], "labels": ["a", "b"] * 4}
REMOVAL: dict[str, Any] = {**REVIEWS, "removal": "random", "removal_share": 0.2}
#: For every option: choices that it stands beside, and a value other than the default and than theirs.
CASES: dict[str, tuple[dict[str, Any], Any]] = {
    "corpus": ({}, "reviews(train=20, dev=6, test=6)"),
    "data": ({}, "d.csv"),
    "test": (ROWS, "t.csv"),
    "texts": (LISTS, [f"word{n}" for n in range(8)]),
    "labels": (LISTS, ["b", "a"] * 4),
    "text_column": (ROWS, "other"),
    "label_column": (ROWS, "kind"),
    "second_column": (ROWS, "other"),
    "id_column": (ROWS, "key"),
    "mark": (REVIEWS, ["was", "/th.*/"]),
    "tokenizer": ({"data": "d.csv"}, "whitespace"),
    "max_tokens": (ROWS, 5),
    "truncate": (ROWS, 3),
    "encoding": (ROWS, "cp1252"),
    "min_frequency": (ROWS, 2),
    "model": (ROWS, "bert"),
    "fine_tune": (ROWS, "bert"),
    "classes": (TUNED, ("b", "a")),
    "label_words": (SPEAKING, {"a": "w3", "b": "w4"}),
    "prompt": (SPEAKING, "{text} it"),
    "encoder": (REVIEWS, "average"),
    "structure": (REVIEWS, "hierarchical"),
    "attention": (REVIEWS, "dot"),
    "query": (PAIRS, "shared"),
    "selector": (REVIEWS, "hardkuma(share=0.1)"),
    "decoder": (DATES, "luong"),
    "head": (REVIEWS, "softmax"),
    "embedding": (REVIEWS, 12),
    "vectors": (REVIEWS, "v.txt"),
    "preset": (REVIEWS, "paper"),
    "epochs": (REVIEWS, 3),
    "batch_size": (REVIEWS, 5),
    "learning_rate": (REVIEWS, 0.01),
    "clip": (REVIEWS, 2.0),
    "patience": (REVIEWS, 4),
    "smoothing": (REVIEWS, 0.2),
    "warmup": (REVIEWS, 9),
    "terms": ({**REVIEWS, "encoder": "bilstm(hidden=150)"}, ["tying(weight=20.0)", "mlm"]),
    "frozen_embeddings": (REVIEWS, True),
    "removal": (REMOVAL, "attention"),
    "removal_share": (REMOVAL, 0.3),
    "removal_by": (REMOVAL, "delete"),
    "seed": (REVIEWS, 13),
    "site": ({**REVIEWS, "structure": "hierarchical"}, "word"),
    "forced": (DATES, "own"),
    "challenges": (REVIEWS, ["uniform", "permutation(draws=5)"]),
    "thorough": (REVIEWS, True),
    "limit": (REVIEWS, 3),
    "time": (REVIEWS, 90.0),
}
#: How a value is written on the command line, where it is not by its text.
WRITTEN = {"classes": "b, a", "label_words": "a=w3,b=w4", "time": "90s"}
#: The command line has none of these.
ONLY_IN_PYTHON, ONLY_IN_STUDIES = {"texts", "labels"}, {"removal", "removal_share", "removal_by"}


class Stopped(Exception):
    """The run has been described."""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the cases name."""
    monkeypatch.chdir(tmp_path)
    header = ("text", "label", "other", "kind", "key")
    rows = [(f"w{n} café is so w{n % 5}", "ab"[n % 2], f"another w{n}", "yn"[n % 2], f"k{n}") for n in range(20)]
    rows += [(f"w{n} a much longer text", "ab"[n % 2], f"one w{n}", "ny"[n % 2], f"k{n}") for n in range(20, 40)]
    write_csv(tmp_path / "d.csv", rows, header)  # type: ignore[arg-type]
    write_csv(tmp_path / "t.csv", rows[:6], header)  # type: ignore[arg-type]
    (tmp_path / "v.txt").write_text("film " + " ".join(["0.1"] * 300) + "\n", encoding="utf-8")
    tokenizer = tokenizer_of([f"w{n}" for n in range(40)])
    for family in ("bert", "gpt2-lm"):
        with quietly():
            model = tiny(family, size=len(tokenizer))
            model.config.id2label = {0: "a", 1: "b"}
            model.save_pretrained(tmp_path / family)
            tokenizer.save_pretrained(tmp_path / family)
    return tmp_path


def test_every_option_has_a_case() -> None:
    assert set(CASES) == set(OPTIONS)
    assert all(value != DEFAULTS[name] for name, (_, value) in CASES.items())


@pytest.mark.parametrize("name", CASES)
def test_an_option_decides_the_run(name: str, files: Path) -> None:
    beside, value = CASES[name]
    usual: dict[str, Any] = {"challenges": ("uniform",), **beside}
    before, after = describe_run(**usual), describe_run(**{**usual, name: value})
    assert after.fields != before.fields
    assert after.id != before.id


@pytest.mark.parametrize("command", ["audit", "train", "fine_tune"])
def test_every_option_reaches_the_run_from_the_command_line(
    run: Any, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    captured: dict[str, Any] = {}

    def described(**choices: Any) -> None:
        captured.update(choices)
        raise Stopped

    monkeypatch.setattr(attentest.auditing, "describe_audit", described)
    monkeypatch.setattr(attentest.runs.describe, "describe_run", described)
    monkeypatch.setattr("attentest.runs.describe.fine_tuned.checkpoint_folder", lambda start, hub: start)
    for module in ("audit", "fine_tune"):
        monkeypatch.setattr(f"attentest.cli.{module}.check_texts", lambda options: None)
    names = [name for name, option in OPTIONS.items() if command in option.commands]
    if command == "fine_tune":
        names.remove("corpus")  # it wants a corpus or data
    arguments: list[str] = ["bert", "--to", "new"] if command == "fine_tune" else []
    for name in names:
        _, value = CASES[name]
        flag = OPTIONS[name].flag or f"--{name.replace('_', '-')}"
        for one in value if OPTIONS[name].many else [WRITTEN.get(name, value)]:
            arguments += [flag] if value is True else [flag, str(one)]
    code, _, err = run(command.replace("_", "-"), *arguments)
    assert (code, "Stopped" in err) == (1, True), err
    shown = {name: str(value) if isinstance(value, Path) else value for name, value in captured.items()}
    assert {name: CASES[name][1] for name in names if name != "challenges"}.items() <= shown.items()
    assert shown["challenges"] == (CASES["challenges"][1] if command == "audit" else ())


def test_the_command_line_leaves_out_what_only_python_or_studies_have() -> None:
    missing = {name for name, option in OPTIONS.items() if "audit" not in option.commands}
    assert missing == ONLY_IN_PYTHON | ONLY_IN_STUDIES


@pytest.mark.parametrize("name", CASES)
def test_a_study_file_has_an_option_or_says_why_not(name: str) -> None:
    option, (_, value) = OPTIONS[name], CASES[name]
    if option.no_study:
        with pytest.raises(InputError, match=re.escape(f"run.{name}: {name!r} is not for studies: {option.no_study}.")):
            check_choice(name, value, f"run.{name}")
        return
    check_choice(name, value, f"run.{name}")
    with pytest.raises(InputError, match=f"run.{name}: .* must be "):
        check_choice(name, {"a": 1}, f"run.{name}")
    if option.least is not None:
        with pytest.raises(InputError, match=f"run.{name}: {option.least - 1} must be at least {option.least}"):
            check_choice(name, option.least - 1, f"run.{name}")


@pytest.mark.parametrize("name", [name for name, option in OPTIONS.items() if option.type in (int, float)])
def test_python_checks_numbers_as_study_files_do(name: str) -> None:
    with pytest.raises(InputError, match=f"^{name}='many' must be a (whole )?number"):
        Options.of({name: "many"})
    least = OPTIONS[name].least
    if least is not None:
        with pytest.raises(InputError, match=f"^{name}={least - 1} must be at least {least}"):
            Options.of({name: least - 1})


def test_an_unknown_choice_is_named_with_the_nearest(run: Any) -> None:
    for wrong, near in {"encodr": "encoder", "devise": "device", "labells": "labels"}.items():
        with pytest.raises(UnknownName, match=f"No choice is called '{wrong}'. Did you mean '{near}'?"):
            attentest.audit(**{wrong: "x"})
    fails_in_one_line(run("audit", "--encodr", "average"), "--encoder")


@pytest.mark.parametrize("name", [name for name, option in OPTIONS.items() if GIVEN in option.idle])
def test_what_makes_a_model_is_refused_with_one_that_is_there(name: str, files: Path) -> None:
    with pytest.raises(InputError, match=f"{name}=.* has no effect on a model that is there already"):
        describe_run("bert", data="d.csv", **{name: CASES[name][1]})


def test_every_choice_of_files_reaches_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From training, from the audit of a model that is there, and from fine-tuning."""
    data = write_csv(tmp_path / "d.csv", [(f"text {n} is {n % 2}", str(n % 2)) for n in range(20)])
    captured: list[dict[str, Any]] = []

    def made(*given: Any, **choices: Any) -> None:
        captured.append({**inspect.signature(corpus_from_files).bind(*given, **choices).arguments})
        raise Stopped

    given = {name: CASES[name][1] for name in FILES} | {"data": data, "test": data, "text_column": "text"}
    given |= {"label_column": "label", "second_column": None, "id_column": None}
    monkeypatch.setattr("attentest.runs.describe.trained.corpus_from_files", made)
    monkeypatch.setattr("attentest.runs.describe.texts.corpus_from_files", made)
    monkeypatch.setattr("attentest.data.files.presence.check_presence", lambda *_, **__: None)
    with pytest.raises(Stopped):
        describe_run(**given)
    with pytest.raises(Stopped):
        corpus_for(None, ("0", "1"), **given)
    of_command = {name: value for name, value in given.items() if name != "min_frequency"}
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "config.json").write_text("{}")
    with pytest.raises(Stopped):
        fine_tune(checkpoint=tmp_path / "checkpoint", to=tmp_path / "to", quiet=True, **of_command)
    for sent, found in zip((given, given, of_command), captured, strict=True):
        assert {**sent, "data": 0}.items() <= {**found, "data": 0}.items()
