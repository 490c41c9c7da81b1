"""The same findings, to the byte, from every engine; and from a study that was killed and went on."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import sys
import time

import pytest
from tests.studies.made_up_study import TEXT, Silence, bytes_of_all, made_up_study

from attentest.runs import model as stages
from attentest.studies.conduct import conduct, jobs_of
from attentest.studies.engines import InProcess, Processes
from attentest.studies.plan import costs, plan
from attentest.studies.record import finished_cells, recorded

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The study from one process."""
    folder = tmp_path_factory.mktemp("undisturbed")
    watch = Silence()
    done = conduct(made_up_study(folder), folder / "runs", InProcess(), watch)
    assert watch.errors == dict.fromkeys(cell.label for cell in made_up_study(folder).cells())
    assert done.done == 4
    assert watch.stages >= {"Training", "Examining"}
    return folder / "runs"


def test_workers_give_the_same_bytes_as_one_process(undisturbed, tmp_path):
    watch = Silence()
    done = conduct(made_up_study(tmp_path), tmp_path / "runs", Processes(2), watch)
    assert done.done == 4
    assert not done.failed
    assert bytes_of_all(tmp_path / "runs") == bytes_of_all(undisturbed)


def test_a_finished_cell_is_never_computed_twice(undisturbed, tmp_path):
    study = made_up_study(tmp_path)
    planned = plan(study, undisturbed)
    assert {cell.state for cell in planned} == {"done"}
    assert jobs_of(planned, undisturbed, "cpu", retry_failed=True) == []


def test_a_cell_that_asks_more_computes_only_what_is_new(undisturbed, tmp_path):
    runs = tmp_path / "runs"
    shutil.copytree(undisturbed, runs)
    before = bytes_of_all(runs)
    text = TEXT.replace('"permutation(draws=20)"', '"permutation(draws=20)", "uniform"').replace("[0, 1]", "[0]")
    watch = Silence()
    conduct(made_up_study(tmp_path, text), runs, InProcess(), watch)
    assert "Training" not in watch.stages
    after = bytes_of_all(runs)
    new = {name: value for name, value in after.items() if name not in before}
    fresh = [name for name, value in new.items() if value not in before.values()]
    assert sorted(name.rpartition("/")[2] for name in fresh) == ["uniform.parquet", "uniform.parquet"]


def test_a_failed_cell_is_recorded_does_not_stop_the_others_and_is_tried_again_when_asked(tmp_path):
    broken = TEXT.replace('["additive", "dot"]', '["additive"]').replace("embedding = 40\n", 'vectors = "v.txt"\n')
    (tmp_path / "v.txt").write_text("good 1 2 3\n")
    text = broken + "\n[[adjust]]\nwhere = { seed = 1 }\nset = { embedding = 3 }\n"
    study = made_up_study(tmp_path, text)
    watch = Silence()
    done = conduct(study, tmp_path / "runs", InProcess(), watch)
    assert watch.errors["additive · seed 1"] is None
    assert "vectors of 3 numbers" in str(watch.errors["additive · seed 0"])
    (identity,) = done.failed
    kept = json.loads((tmp_path / "runs" / identity / "failed.json").read_text())
    assert "vectors of 3 numbers" in kept["error"]
    assert "Traceback" in kept["traceback"]
    again = Silence()
    assert conduct(study, tmp_path / "runs", InProcess(), again).failed == done.failed
    assert again.errors == {}
    third = Silence()
    conduct(study, tmp_path / "runs", InProcess(), third, retry_failed=True)
    assert set(third.errors) == {"additive · seed 0"}


def test_a_corpus_that_is_not_here_is_said_before_anything_is_computed(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path / "nothing"))
    text = TEXT.replace('corpus = "reviews(train=400, dev=60, test=60)"', 'corpus = "sst"')
    done = conduct(made_up_study(tmp_path, text), tmp_path / "runs", InProcess(), Silence())
    assert len(done.impossible) == 4
    assert "attentest corpora get sst" in done.impossible[0].problem


def test_an_estimate_comes_from_sizes_first_and_from_like_runs_later(undisturbed, tmp_path):
    study = made_up_study(tmp_path)
    planned = plan(study, tmp_path / "none")
    guessed = costs(planned, tmp_path / "none")
    assert all(cost is not None and not cost.measured and cost.seconds > 0 for cost in guessed)
    more = made_up_study(tmp_path, TEXT.replace("[0, 1]", "[0, 7]"))
    measured = costs(plan(more, undisturbed), undisturbed)
    assert [cost is not None and cost.measured for cost in measured] == [False, True, False, True]
    # What took so long on a processor says nothing of a graphics card.
    elsewhere = costs(plan(more, undisturbed), undisturbed, device="cuda:0")
    assert not any(cost is not None and cost.measured for cost in elsewhere)


def test_a_translators_estimate_grows_with_its_weights_and_challenges(tmp_path):
    text = """name = "dates"
[run]
corpus = "dates(train=24, dev=4, test=6)"
epochs = 2
challenges = ["uniform"]
[grid]
decoder = ["transformer(layers=1, heads=1, hidden=8, feedforward=8)", "transformer(layers=4, heads=2, hidden=64)"]
"""
    guessed = costs(plan(made_up_study(tmp_path, text), tmp_path / "none"), tmp_path / "none")
    seconds = [cost.seconds for cost in guessed if cost is not None]
    assert seconds[1] > 10 * seconds[0] > 0
    more = text.replace('["uniform"]', '["uniform", "permutation"]')
    asked = costs(plan(made_up_study(tmp_path, more), tmp_path / "none"), tmp_path / "none")
    assert asked[0] is not None
    assert asked[0].seconds > seconds[0]


def test_a_papers_finished_cells_are_found_without_its_corpora(tmp_path):
    study = made_up_study(tmp_path, TEXT.replace("[0, 1]", "[0]").replace("title =", 'paper = "a_paper"\ntitle ='))
    conduct(study, tmp_path / "runs", InProcess(), Silence())
    found = finished_cells(tmp_path / "runs", "a_paper")
    assert sorted(cell.choices["attention"] for cell in found) == ["additive", "dot"]
    assert finished_cells(tmp_path / "runs", "another") == []
    (record,) = recorded(tmp_path / "runs")
    assert record["study"] == "made-up"


DRIVER = """
import sys
from pathlib import Path
from attentest.runs import model
model.CHECKPOINT_SECONDS = 0.0
from attentest.studies.conduct import conduct
from attentest.studies.engines import InProcess, Processes
from attentest.studies.study import read_study
from tests.studies.made_up_study import Silence

if __name__ == "__main__":
    engine = InProcess() if sys.argv[3] == "1" else Processes(int(sys.argv[3]))
    conduct(read_study(Path(sys.argv[1])), Path(sys.argv[2]), engine, Silence())
"""


#: What is there when the driver dies: the checkpoint of a training, a whole model, findings.
TRAINING, MODEL, FINDINGS = "*/training.safetensors", "*/model.safetensors", "*/findings/*.parquet"


@pytest.mark.parametrize(("workers", "deaths"), [(1, (TRAINING, MODEL, FINDINGS)), (2, (FINDINGS,))])
def test_a_study_whose_driver_is_killed_again_and_again_ends_with_the_same_findings(
    undisturbed, tmp_path, monkeypatch, workers, deaths
):
    made_up_study(tmp_path)
    (tmp_path / "driver.py").write_text(DRIVER)
    command = [sys.executable, str(tmp_path / "driver.py"), str(tmp_path / "made-up.toml"), str(tmp_path / "runs")]
    for there in deaths:
        child = subprocess.Popen([*command, str(workers)])
        while child.poll() is None and not list((tmp_path / "runs").glob(there)):
            time.sleep(0.01)
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(signal.SIGKILL)
        child.wait()
    monkeypatch.setattr(stages, "CHECKPOINT_SECONDS", 0.0)
    done = conduct(made_up_study(tmp_path), tmp_path / "runs", InProcess(), Silence())
    assert done.done == 4
    assert bytes_of_all(tmp_path / "runs") == bytes_of_all(undisturbed)
    assert not list((tmp_path / "runs").glob("*/training.safetensors"))
