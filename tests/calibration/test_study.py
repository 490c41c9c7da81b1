"""The calibration study: records, resuming, members that cannot be measured, and the command."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from rich.console import Console
from typer.testing import CliRunner

from attentest.calibration.analysis.table import read_records
from attentest.calibration.families.hand_built import HandBuilt
from attentest.calibration.families.trained import Trained
from attentest.calibration.measuring import FULL, QUICK, audited, measured
from attentest.calibration.study import conduct, key_of, remaining
from attentest.calibration.summary import errors_table, members_table
from attentest.cli.main import app
from attentest.errors import AttentestError, InputError
from attentest.studies.engines import InProcess, Processes


class Watching:
    def __init__(self):
        self.ends = []

    def started(self, job, where):
        pass

    def moved(self, job, stage, done, total, figures):
        pass

    def said(self, job, line):
        pass

    def ended(self, job, error):
        self.ends.append((job.label, error))


@dataclass(frozen=True)
class Broken(HandBuilt):
    """A member whose audit cannot be described."""

    def run(self, challenges, texts):
        raise InputError("no such world")


FINE = HandBuilt("own / deciding", "world-keyword(length=6)", "scale", 6.0)
OTHER = HandBuilt("own / others", "world-keyword(length=6)", "sharp", 4.0)
BROKEN = Broken("own / nothing", "world-keyword(length=6)")


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    return measured(FINE, QUICK, tmp_path_factory.mktemp("runs"))


def test_a_record_holds_truth_and_what_challenges_said(record):
    assert (record["family"], record["mechanism"], record["classes"]) == ("hand-built", "own / deciding", 2)
    assert record["accuracy"] == 1.0
    assert record["texts"] == QUICK.texts
    value, error, judged = record["truth"]["words"]
    assert (value, error, judged) == (1.0, 0.0, QUICK.known)
    held = record["measures"]["importance.attention.held.delete"]
    assert held[0] == pytest.approx(1.0)
    assert len(held) == 4
    assert {name.partition(".")[0] for name in record["measures"]} >= {"agreement", "adversary", "faithfulness"}
    assert "importance.attention.held.zero_attention" in record["measures"]
    assert record["explainers"]["leave_one_out"] == pytest.approx(1.0)
    assert [len(record["per_text"][name]) for name in ("truth", "delete", "mask")] == [QUICK.known] * 3
    json.dumps(record, allow_nan=False)


def test_importance_is_put_once_with_all_ways_of_taking_words_out():
    asked = [one for one in audited(FINE, QUICK).challenges if one.name == "importance"]
    assert len(asked) == 1
    assert {"delete", "mask", "zero_attention"} <= {*asked[0].erasures}


def test_other_models_are_trained_only_for_members_that_are():
    trained = Trained("average, additive", "world-keyword(outcomes=6)", "training texts", 500)
    asked = [{one.name for one in audited(member, FULL).challenges} for member in (FINE, trained)]
    assert "soft_faithfulness" in asked[0] & asked[1]
    assert "trained_uniform" not in asked[0]
    assert "trained_uniform" in asked[1]


def test_a_study_resumes_and_a_broken_member_does_not_stop_it(tmp_path):
    first = Watching()
    done = conduct([OTHER, BROKEN], tmp_path, QUICK, InProcess(), first)
    assert (done.members, done.done) == (2, 1)
    assert "no such world" in done.failed[BROKEN.name]
    kept = json.loads((tmp_path / "failed" / f"{key_of(BROKEN, QUICK)}.json").read_text())
    assert kept["member"] == BROKEN.name
    again = Watching()
    conduct([OTHER, BROKEN], tmp_path, QUICK, InProcess(), again)
    assert [label for label, _ in again.ends] == [BROKEN.name]
    assert remaining([OTHER, BROKEN], tmp_path, QUICK) == [BROKEN]
    assert json.loads((tmp_path / "members" / f"{key_of(OTHER, QUICK)}.json").read_text())["truth"]["words"][0] < 0.2


def test_members_are_measured_in_other_processes(tmp_path):
    done = conduct([FINE], tmp_path, QUICK, Processes(2), Watching())
    assert (done.done, done.failed) == (1, {})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--family", "hand"], "hand-built"),
        (["--fresh", "--limit", "2"], "--limit"),
        (["--family", "trained"], "add --full"),
    ],
)
def test_the_command_refuses_what_it_cannot_do(options, says, tmp_path):
    with pytest.raises(AttentestError, match=says):
        CliRunner().invoke(app, ["calibrate", "--to", str(tmp_path), *options], catch_exceptions=False)


def test_the_command_refuses_a_file_for_its_records(tmp_path):
    (tmp_path / "there").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        CliRunner().invoke(app, ["calibrate", "--to", str(tmp_path / "there")], catch_exceptions=False)


def test_the_command_prints_what_it_measured(tmp_path):
    options = ["--limit", "1", "--workers", "1", "--to", str(tmp_path)]
    said = CliRunner().invoke(app, ["calibrate", *options], catch_exceptions=False)
    assert said.exit_code == 0
    assert "hand-built" in said.output
    assert len(list((tmp_path / "members").glob("*.json"))) == 1
    assert len((tmp_path / "members.csv").read_text().splitlines()) == 2


def test_errors_are_shown_once_there_are_several_mechanisms(record, tmp_path):
    (tmp_path / "members").mkdir()
    for number in range(6):
        faithful = number % 2
        mass = [float(faithful), 0.0, QUICK.known]
        held = {
            name: [float(faithful)] * 3 + [100] for name in record["measures"] if ".held." in name or ".one." in name
        }
        other = record | {
            "mechanism": f"mechanism {number}",
            "truth": dict.fromkeys(("words", "states", "one"), mass),
            "measures": record["measures"] | held,
        }
        (tmp_path / "members" / f"{number}.json").write_text(json.dumps(other))
    table = read_records(tmp_path)
    console = Console(width=80, record=True)
    console.print(members_table(table))
    console.print(errors_table(table.counted()))
    said = console.export_text()
    assert "reason" in said
    assert "…" not in said
    assert errors_table(table.where(table.names("mechanism") == "mechanism 0")) is None
