"""What needs no model is refused before one is loaded, and what needs no torch before torch is imported."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from safetensors import SafetensorError
from tests.cli.test_cli import fails_in_one_line, reviews, run, write_csv
from tests.support.pretrained import tiny, tokenizer_of

from attentest.models.huggingface.checkpoint import Checkpoint, quietly

__all__ = ["run"]

DATA = ["--data", "reviews.csv"]


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkpoint whose weights nobody may load, beside data for it."""
    tokenizer = tokenizer_of()
    with quietly():
        tiny("bert", size=len(tokenizer)).save_pretrained(tmp_path / "tiny")
        tokenizer.save_pretrained(tmp_path / "tiny")
    write_csv(tmp_path / "reviews.csv", [(text, {"bad": "0", "good": "1"}[label]) for text, label in both()])
    write_csv(tmp_path / "three.csv", reviews())
    write_csv(tmp_path / "long.csv", [("w1 " * 600 + f"w{place}", str(place % 2)) for place in range(8)])
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path / "nothing"))
    monkeypatch.setattr(Checkpoint, "model", lambda found: pytest.fail("The weights were loaded."))
    return tmp_path / "tiny"


def both() -> list[tuple[str, str]]:
    return reviews(classes=("bad", "good"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Give data (--data) or a corpus (--corpus)"),
        (("--corpus", "sst"), "is not on this machine"),
        (("--data", "none.csv"), "none.csv does not exist"),
        ((*DATA, "--label-column", "lable"), "has no column 'lable'"),
        ((*DATA, "--challenge", "permutaton"), "Did you mean 'permutation'?"),
        ((*DATA, "--thorough"), "other models like this one would have to be trained"),
        ((*DATA, "--classes", "a,b,c"), "these are 3, and the model has 2 outputs"),
        ((*DATA, "--label-words", "a=b"), "leave out label_words"),
        ((*DATA, "--device", "gpu"), "is not a device"),
        (("--data", "three.csv"), "The data has 3 labels"),
        (("--data", "long.csv"), "longer than the model takes"),
    ],
)
def test_an_audit_is_refused_before_weights_are_loaded(run: Any, checkpoint: Path, arguments: Any, said: str) -> None:
    fails_in_one_line(run("audit", "--model", checkpoint, *arguments), said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("word1", "--target", "LABEL_7"), "No class of this model is called 'LABEL_7'"),
        (("word1", "--methods", "atention"), "Did you mean 'attention'?"),
        (("word1 " * 600,), "longer than the model takes"),
    ],
)
def test_an_explanation_is_refused_before_weights_are_loaded(
    run: Any, checkpoint: Path, arguments: Any, said: str
) -> None:
    fails_in_one_line(run("explain", *arguments, "--model", checkpoint), said)


def test_fine_tuning_is_refused_before_weights_are_loaded(run: Any, checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "anything").touch()
    fails_in_one_line(run("fine-tune", checkpoint, *DATA, "--to", "full"), "full is there already")
    fails_in_one_line(run("fine-tune", checkpoint, "--data", "long.csv", "--to", "new"), "longer than the model takes")
    write_csv(tmp_path / "one.csv", [("w1 w2", "good"), ("w3", "good"), ("w4", "good")])
    fails_in_one_line(run("fine-tune", checkpoint, "--data", "one.csv", "--to", "new"), "one class only")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["audit", "--corpus", "sst"],
        ["audit", "--model", "tiny", "--data", "none.csv"],
        ["audit", "--data", "none.csv", "--corpus", "sst"],
        ["train", "--corpus", "none"],
        ["fine-tune", "tiny", "--corpus", "sst", "--to", "new"],
        ["explain", "a word", "--model", "runs/none"],
        ["study", "run", "none"],
        ["reproduce", "none"],
        ["scores", "import", "none.jsonl", "--run", "latest", "--name", "theirs"],
    ],
)
def test_what_is_not_there_is_refused_without_importing_torch(command: list[str], tmp_path: Path) -> None:
    code = (
        f"import os, sys; sys.argv = ['attentest', *{command!r}]; os.environ['ATTENTEST_DATA'] = '.'\n"
        "from attentest.cli import main\n"
        "try: main()\n"
        "except SystemExit as stopped: assert stopped.code == 2, stopped.code\n"
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_an_audit_says_that_all_texts_carry_one_label(run: Any, tmp_path: Path) -> None:
    tokenizer = tokenizer_of()
    with quietly():
        tiny("bert", size=len(tokenizer)).save_pretrained(tmp_path / "tiny")
        tokenizer.save_pretrained(tmp_path / "tiny")
    write_csv(tmp_path / "one.csv", [(f"word{place} word{place + 1}", "LABEL_1") for place in range(6)])
    code, _, err = run("audit", "--model", "tiny", "--data", "one.csv", "--challenge", "uniform")
    assert code == 0, err
    assert "all 6 texts to examine carry one label, LABEL_1: accuracy says little" in " ".join(err.split())
    (report,) = tmp_path.glob("runs/*/report.html")
    assert "All texts carry one label: whatever always gives it is right" in report.read_text(encoding="utf-8")
    fails_in_one_line(run("audit", "--data", "one.csv"), "one class only")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "1" * 5000), "File name too long"),
        (("study", "status", "x" * 5000), "File name too long"),
        (("audit", "--challenge", "x" * 50_000), "No challenge is called"),
        (("audit", "--decoder", f"transformer(={'y' * 9000})"), "transformer"),
    ],
)
def test_what_is_too_long_is_refused_in_a_line_of_some_length(run: Any, arguments: Any, said: str) -> None:
    outcome = run(*arguments)
    fails_in_one_line(outcome, said)
    assert len(outcome[2]) < 1400


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_what_the_machine_refuses_is_said(run: Any, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(number, os.strerror(number), "/somewhere/x")

    monkeypatch.setattr("attentest.store.folder.find_run", refuse)
    fails_in_one_line(run("show", "latest"), f"'/somewhere/x' cannot be used: {os.strerror(number)}.")


def test_a_disk_that_is_full_while_weights_are_written_is_said(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("attentest.store.folder.find_run", refuse)
    fails_in_one_line(run("show", "latest"), "a file cannot be used: No space left on device.")


def test_a_seed_that_no_generator_takes_is_refused(run: Any) -> None:
    fails_in_one_line(run("audit", "--seed", "4611686018427387904"), "4294967295")


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 9 bytes")]
)
def test_memory_that_ran_out_is_said(run: Any, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def refuse(*_: Any) -> None:
        raise error

    monkeypatch.setattr("attentest.store.folder.find_run", refuse)
    fails_in_one_line(run("show", "latest"), "Memory ran out.")


@pytest.mark.parametrize("place", ["pipe", "/dev/zero", "/dev/full"])
def test_what_is_no_file_is_not_read_for_ever(run: Any, tmp_path: Path, place: str) -> None:
    data = tmp_path / "data.csv"
    if place == "pipe":
        os.mkfifo(data)
    else:
        data.symlink_to(place)
    fails_in_one_line(run("audit", "--data", "data.csv"), "a pipe or a device")
