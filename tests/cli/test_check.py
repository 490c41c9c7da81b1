"""attentest check: exit codes and what is printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import made_up_corpus

import attentest
from attentest.cli import main
from attentest.report.verdict.requirements import KEYS, MEETS

Outcome = tuple[int, str, str]
Call = Callable[..., Outcome]


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> attentest.Audit:
    return attentest.audit(
        corpus=made_up_corpus(),
        encoder="average(hidden=4)",
        epochs=1,
        challenges=["uniform"],
        runs=tmp_path_factory.mktemp("runs"),
    )


@pytest.fixture
def call(
    audited: attentest.Audit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Call:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["attentest", "check", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        return int(stopped.value.code or 0), out, err

    return run


def test_the_exit_code_says_whether_it_is_met(audited: attentest.Audit, call: Call) -> None:
    runs = str(audited.folder.path.parent)
    for key, goal in zip(KEYS, audited.verdict.goals, strict=True):
        for least, enough in MEETS.items():
            code, out, err = call(str(audited.folder.path), "--require", f"{key}={least}")
            assert code == (0 if goal.answer in enough else 1), err
            assert out.count("\n") == 1
            assert goal.answer in out
    code, out, _ = call("latest", "--runs", runs, "--require", "reason=yes", "--require", "one=yes", "--json")
    record = json.loads(out)
    assert record["run"] == audited.folder.path.name
    assert [one["key"] for one in record["requirements"]] == ["reason", "one"]
    assert record["met"] == (code == 0) == all(one["met"] for one in record["requirements"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Nothing is required"),
        (["--require", "reason"], "must be KEY=ANSWER"),
        (["--require", "reasons=yes"], "Did you mean 'reason'"),
        (["--require", "reason=no"], "cannot be required"),
    ],
)
def test_a_bad_request_is_one_line(call: Call, audited: attentest.Audit, arguments: list[str], said: str) -> None:
    code, out, err = call(str(audited.folder.path), *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


def test_a_run_that_is_not_there_is_a_bad_request(call: Call) -> None:
    code, _, err = call("nowhere", "--require", "reason=yes")
    assert code == 2
    assert "No run in runs is called 'nowhere'" in err
