"""Escapes in data, names and queries never reach the terminal as they are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.cli.test_cli import FAST, run, write_csv
from tests.presentation.test_printing import OBEYED

__all__ = ["run"]

EVIL = "\x1b[31m\x1b]0;t\x07\x9b\u202e"


def harmless(*said: str) -> None:
    for text in said:
        assert not OBEYED.search(text.replace("\t", "")), repr(text[:2000])


def test_refusals_of_hostile_names(run: Any, tmp_path: Any) -> None:
    path = write_csv(tmp_path / "a.csv", [("x y", "a"), ("z", "b")], header=(f"te{EVIL}xt", f"la{EVIL}bel"))
    for arguments in (
        ("audit", "--data", path),
        ("audit", "--data", path, "--text-column", f"x{EVIL}"),
        ("audit", "--data", f"no{EVIL}.csv"),
        ("audit", "--corpus", f"no{EVIL}"),
        ("show", f"no{EVIL}"),
        ("verify", f"no{EVIL}"),
        ("list", f"no{EVIL}"),
        (f"no{EVIL}",),
        ("audit", f"--no{EVIL}"),
    ):
        code, out, err = run(*arguments)
        assert code == 2
        harmless(out, err)


@pytest.mark.slow
def test_a_run_on_hostile_data_and_queries(run: Any, tmp_path: Any) -> None:
    texts = [
        (f"w{i % 7} {EVIL}w good{EVIL}" if i % 2 else f"w{i % 5} bad", f"a{EVIL}" if i % 2 else "b") for i in range(60)
    ]
    path = write_csv(tmp_path / f"d{EVIL}.csv", texts)
    assert run("audit", "--data", path, *FAST, "--challenge", "uniform")[0] == 0
    sql = f"SELECT chr(27) || '[31m' AS \"c{EVIL}\", 'nan'::DOUBLE AS n, tokens FROM instances"
    for arguments in (
        ("audit", "--data", path, *FAST, "--challenge", "uniform"),
        ("show",),
        ("show", "--sql", sql),
        ("show", "--sql", f"SELECT '{EVIL}' FROM nothing"),
        ("explain", f"w1 {EVIL}w good{EVIL}", "--model", "latest"),
        ("list", "runs"),
        ("verify",),
    ):
        _, out, err = run(*arguments)
        harmless(out, err)
    for arguments in (("show", "--json"), ("show", "--json", "--sql", sql), ("list", "runs", "--json")):
        code, out, err = run(*arguments)
        assert code == 0, err
        harmless(out, err)
        json.loads(out, parse_constant=pytest.fail)
    rows = json.loads(run("show", "--json", "--sql", sql)[1])
    assert rows[0][f"c{EVIL}"] == "\x1b[31m"
    assert rows[0]["n"] is None
