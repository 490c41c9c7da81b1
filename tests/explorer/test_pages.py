"""What the explorer's pages are given is what the findings hold."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy.integrate import trapezoid
from starlette.testclient import TestClient
from tests.report.made_up import write_run

from attentest.challenges.importance.presentation import GRADES, grade_by_text
from attentest.challenges.instances.examine import Instances
from attentest.explorer import server
from attentest.explorer.data import judging, plots
from attentest.explorer.data.files import RunFiles
from attentest.explorer.data.plots import plot_data
from attentest.explorer.server import explorer
from attentest.papers import PAPERS
from attentest.papers.outcome_files import committed
from attentest.report.verdict.judge import judge
from attentest.report.verdict.records import record_of


def test_home_lists_runs_and_papers(client, run):
    name = run.path.name
    home = client.get("/home.json").json()
    assert {run["id"] for run in home["runs"]} == {name, "hostile-2"}
    one = next(run for run in home["runs"] if run["id"] == name)
    assert one["texts"] == 30
    assert one["corpus"] == "made-up"
    assert [paper["name"] for paper in home["papers"]] == list(PAPERS)
    assert client.get("/home.json?corpus=made-up").json()["runs"] == [one]
    assert client.get("/home.json?seed=77").json()["runs"] == []


def test_the_verdict_is_that_of_the_report(client, run, at):
    verdict = judge(run)
    told = client.get(f"{at}.json").json()["verdict"]
    assert told["headline"] == verdict.headline
    assert [goal["answer"] for goal in told["goals"]] == [goal.answer for goal in verdict.goals]
    record = record_of(run, verdict)["verdict"]
    assert [line["value"] for line in told["lines"]] == [line["estimate"]["value"] for line in record["lines"]]
    assert [line["reading"] for line in told["lines"]] == [line.reading for line in verdict.lines]
    home = client.get("/home.json?verdict=reason:" + verdict.goals[0].answer).json()["runs"]
    assert run.path.name in [one["id"] for one in home]


def test_a_text_holds_what_its_findings_hold(client, run, at):
    instances = run.findings("instances").table.to_pylist()
    attacks = {row["id"]: row for row in run.findings(run.named("adversary")).table.to_pylist()}
    grades = grade_by_text(run.findings("importance"))
    for row in (0, 7, 29):
        text, found = client.get(f"{at}/texts/{row}.json").json(), instances[row]
        for name in ("id", "tokens", "label", "predicted", "attention", "token_logits", "probabilities"):
            assert text[name] == found[name]
        assert set(text["explainers"]) == {*Instances().explainers}
        assert text["explainers"]["gradient"] == found["gradient"]
        attack = attacks[found["id"]]
        assert (text["adversary"] or {}).get("weights") == (
            attack["adversarial_attention"] if attack["lower"] else None
        )
        assert text["grade"] == GRADES.get(grades.get(found["id"], ""))
        assert text["marks"] == "planted"


def test_texts_are_paged_sorted_and_selected(client, run, at):
    table = run.findings("instances").table
    first = client.get(f"{at}/texts.json?size=7&page=3").json()
    assert [text["row"] for text in first["rows"]] == list(range(14, 21))
    assert (first["total"], first["pages"]) == (30, 5)
    confidence = table["confidence"].to_numpy()
    down = client.get(f"{at}/texts.json?sort=-confidence&size=30").json()["rows"]
    assert [text["row"] for text in down] == np.argsort(-confidence, kind="stable").tolist()
    named = client.get(f"{at}/texts.json?rows=9,2,5").json()["rows"]
    assert [text["row"] for text in named] == [9, 2, 5]
    sure = client.get(f"{at}/texts.json?by=confidence&from=0.7&size=200").json()
    assert sure["total"] == int((confidence >= 0.7).sum())
    misled = client.get(f"{at}/texts.json?grade=against&size=200").json()["rows"]
    assert {text["grade"] for text in misled} <= {"attention misleads"}


def test_a_plot_shows_every_judged_text(client, run, at):
    found = run.findings("permutation").table.to_pylist()
    judged = {row for row, text in enumerate(found) if text["median_change"] is not None}
    plot = client.get(f"{at}/plots/permutation.json").json()
    assert {point["row"] for point in plot["points"]} == judged
    assert plot["total"] == len(judged)
    assert all(point["y"] == found[point["row"]]["median_change"] for point in plot["points"])
    box = client.get(f"{at}/texts.json?plot=permutation&y0=0.01&y1=0.5&size=200").json()["rows"]
    assert {text["row"] for text in box} == {p["row"] for p in plot["points"] if 0.01 <= p["y"] <= 0.5}
    offered = [plot["name"] for plot in client.get(f"{at}.json").json()["plots"]]
    for name in offered:
        assert client.get(f"{at}/plots/{name}.json").status_code == 200


def test_many_texts_are_binned_and_none_is_lost(run, monkeypatch):
    monkeypatch.setattr(plots, "MOST_POINTS", 20)
    found = plot_data(RunFiles(run.path), "attention")
    assert len(found["points"]) == 20
    assert sum(count for *_, count in found["bins"]["cells"]) == found["total"] == 30


def test_claims_are_those_of_the_papers_tables(client):
    assert [paper["name"] for paper in client.get("/claims.json").json()["papers"]] == list(PAPERS)
    outcomes = committed("jain_wallace_2019")
    rows = client.get("/claims/jain_wallace_2019.json").json()["rows"]
    assert [row["status"] for row in rows] == [outcome.status for outcome in outcomes]
    for name in PAPERS:
        assert client.get(f"/claims/{name}").status_code == 200
        assert client.get(f"/claims/{name}.json").status_code == 200


def test_calibration_shows_every_test(client):
    found = client.get("/calibration.json").json()
    assert found["members"] > 400
    assert all(0 <= test["auroc"][truth]["value"] <= 1 for test in found["tests"] for truth in test["auroc"])


@pytest.mark.parametrize("truth", ["words", "states", "one"])
def test_the_area_under_a_curve_is_the_auroc_of_calibration(client, truth):
    tests = client.get("/calibration.json").json()["tests"]
    for test in [test["name"] for test in tests if truth in test["auroc"]][::9]:
        found = client.get(f"/calibration/{test}.json?truth={truth}").json()
        area = trapezoid(found["curve"]["true"], found["curve"]["false"])
        assert area == pytest.approx(found["auroc"]["value"], abs=2e-3)
    assert client.get("/calibration/nothing.json").status_code == 404
    assert client.get(f"/calibration/{test}.json?truth=beauty").status_code == 404


def test_a_study_is_a_grid_of_its_runs_plots(client, run, at, runs):
    (runs / "studies").mkdir(exist_ok=True)
    cells = [{"label": "one", "choices": {"seed": 0}, "run": run.path.name, "problem": None}]
    cells.append({"label": "two", "choices": {"encoder": "gone"}, "run": "gone-0123456789", "problem": None})
    record = {"study": "mine", "title": "Mine", "paper": "jain_wallace_2019", "cells": cells}
    (runs / "studies" / "mine-1.json").write_text(json.dumps(record))
    study = client.get("/studies/mine.json").json()
    assert [cell["run"] for cell in study["cells"]] == [run.path.name, None]
    assert study["cells"][0]["corpus"] == "made-up"
    assert "permutation" in [plot["name"] for plot in study["plots"]]
    (cell,) = client.get("/studies/mine/plots/permutation.json").json()["cells"]
    whole = client.get(f"{at}/plots/permutation.json").json()
    assert cell["points"] == whole["points"]
    assert cell["score"]["value"] == pytest.approx(np.mean([point["y"] for point in whole["points"]]))
    assert {one["run"] for one in client.get("/studies/all.json").json()["cells"]} == {run.path.name, "hostile-2"}
    elsewhere = record | {"study": "elsewhere", "cells": [cells[0] | {"run": "../../etc"}]}
    (runs / "studies" / "elsewhere-1.json").write_text(json.dumps(elsewhere))
    for path in ("/studies/elsewhere.json", "/studies/mine/plots/none.json", "/studies/none.json", "/studies/none"):
        assert client.get(path).status_code == 404
    home = client.get("/home.json?paper=jain_wallace_2019").json()
    assert [one["id"] for one in home["runs"]] == [run.path.name]
    assert home["studies"] == [{"study": "mine", "title": "Mine", "paper": "jain_wallace_2019", "cells": 2, "done": 1}]


def test_a_verdict_on_very_many_texts_is_read_by_a_process_of_its_own(run, at, client, monkeypatch):
    monkeypatch.setattr(judging, "MANY", 3)
    judge = judging.Judge()
    found = judge.start(RunFiles(run.path)).result(120)
    judge.stop()
    assert found == client.get(f"{at}.json").json()["verdict"]


def test_a_fault_is_one_line_under_the_same_policy(client, at, monkeypatch):
    def broken(*_: object) -> None:
        raise RuntimeError("a secret path")

    monkeypatch.setattr(server, "text_of", broken)
    answer = client.get(f"{at}/texts/0.json")
    assert answer.status_code == 500
    assert answer.json() == {"error": "A fault in attentest (RuntimeError)."}
    assert "content-security-policy" in answer.headers


def test_damaged_findings_are_one_clear_line(tmp_path):
    made = write_run(tmp_path / "broken", 20)
    path = made.path / "findings" / "instances.parquet"
    path.write_bytes(path.read_bytes()[:-40])
    with TestClient(explorer(tmp_path, judging=False), base_url="http://127.0.0.1") as other:
        assert other.get("/home.json").json()["runs"][0]["problem"]
        answer = other.get("/runs/broken/texts.json")
        assert answer.status_code == 503
        assert "altered after it was written" in answer.json()["error"]


def test_nothing_that_is_only_looked_at_needs_torch(run, at):
    paths = ["/home.json", f"{at}.json", f"{at}/texts/3.json", "/claims.json", "/calibration.json"]
    code = f"""
import sys
from pathlib import Path
from scipy.integrate import trapezoid
from starlette.testclient import TestClient
from attentest.explorer.server import explorer
with TestClient(explorer(Path({str(run.path.parent)!r}), judging=False), base_url="http://127.0.0.1") as client:
    for path in {paths!r}:
        assert client.get(path).status_code == 200, path
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_study_or_test_is_one_line(client: TestClient) -> None:
    for path in ("/studies/none.json", "/calibration/none.json"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert "none" in answer.json()["error"]


def test_a_run_that_cannot_be_judged_is_waited_for_no_longer(tmp_path):
    folder = write_run(tmp_path / "damaged", 20, ("bad", "good"))
    file = next((folder.path / "findings").glob("permutation*.parquet"))
    altered = bytearray(file.read_bytes())
    altered[len(altered) // 2] ^= 4
    file.write_bytes(altered)
    with TestClient(explorer(tmp_path, judging=False), base_url="http://127.0.0.1") as other:
        assert other.get("/home.json").json()["judging"] == 1
        assert "altered" in other.get("/runs/damaged.json").json()["error"]
        home = other.get("/home.json").json()
        assert home["judging"] == 0
        assert "altered after it was written" in home["runs"][0]["unjudged"]
