"""Companions: the other models that challenges ask for, trained once, shared, and the same whoever trains them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from tests.studies.made_up_study import Silence, bytes_of_all, made_up_study

from attentest.catalogue.entries import catalogue
from attentest.challenges.companions import SUBJECT, Against, Companion
from attentest.errors import InputError, NotApplicable
from attentest.progress import SILENT, Silent
from attentest.runs.describe import describe_run
from attentest.runs.execute import execute
from attentest.runs.given import GivenRun
from attentest.runs.model import train
from attentest.runs.run import MODEL
from attentest.store.folder import RunFolder, find_run, runs_in
from attentest.store.summary import estimate
from attentest.studies.cell import FAILED, describe_cell
from attentest.studies.conduct import conduct, jobs_of
from attentest.studies.controls import train_controls
from attentest.studies.engines import InProcess, Processes
from attentest.studies.plan import plan
from attentest.training.checkpoints import load_network

pytestmark = pytest.mark.slow

TEXT = """
name = "made-up"
title = "Four tests"

[run]
corpus = "reviews(train=300, dev=60, test=60)"
encoder = "bilstm(hidden=16)"
embedding = 24
epochs = 2
challenges = [
  "trained_uniform",
  "seed_variance(seeds=3)",
  "guide(hidden=8)",
  "adversarial_training(weights=(0.0, 0.01), start='previous')",
]

[grid]
seed = [0]
"""
# A model for uniform weights, two seeds, four without context, the adversaries of λ = 0 and .01 (the second also as a
# fresh one, for the guide), and the subject itself for those that need it first.
COMPANIONS = 1 + 2 + 4 + 2 + 1 + 1


class Counting(Silent):
    """Keeps every stage and its size."""

    def __init__(self):
        self.stages = []

    def stage(self, description, total):
        self.stages.append((description, total))
        return super().stage(description, total)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("four")
    watch = Silence()
    done = conduct(made_up_study(folder, TEXT), folder / "runs", InProcess(), watch)
    assert not done.failed
    assert len(watch.errors) == 1 + COMPANIONS
    return folder / "runs"


@pytest.fixture
def run(tmp_path):
    (cell,) = made_up_study(tmp_path, TEXT).cells()
    return describe_cell(cell.choices)


def test_every_test_is_answered_for_every_text(undisturbed, run):
    folder = RunFolder(undisturbed / run.id)
    for name in ("trained_uniform", "seed_variance", "guide", "adversarial_training"):
        findings = folder.findings(folder.named(name))
        assert all(estimate(findings, measure.name).judged == 60 for measure in findings.measures)


def test_two_workers_give_the_same_bytes_as_one_process(undisturbed, tmp_path):
    done = conduct(made_up_study(tmp_path, TEXT), tmp_path / "runs", Processes(2), Silence())
    assert not done.failed
    assert bytes_of_all(tmp_path / "runs") == bytes_of_all(undisturbed)


def test_an_audit_trains_them_itself_and_finds_the_same(undisturbed, run, tmp_path):
    only = replace(run, challenges=run.challenges[:1])
    folder = execute(only, tmp_path)
    (findings,) = folder.path.glob("findings/trained_uniform.parquet")
    assert findings.read_bytes() == (undisturbed / run.id / "findings" / findings.name).read_bytes()


def test_an_audit_trains_them_side_by_side_and_finds_the_same(undisturbed, run, tmp_path):
    (cell,) = made_up_study(tmp_path, TEXT).cells()
    heard = Counting()
    train_controls(run, cell.choices, tmp_path / "runs", heard)
    assert heard.stages == [("Controls", COMPANIONS)]
    assert len(list(runs_in(tmp_path / "runs"))) == COMPANIONS
    execute(run, tmp_path / "runs")
    assert bytes_of_all(tmp_path / "runs") == bytes_of_all(undisturbed)
    train_controls(run, cell.choices, tmp_path / "runs", heard)
    assert len(heard.stages) == 1  # all are there


def test_control_models_that_fail_side_by_side_are_left_to_the_audit(run, tmp_path):
    (cell,) = made_up_study(tmp_path, TEXT).cells()
    train_controls(replace(run, seed=5), cell.choices, tmp_path, SILENT)  # these choices make other models
    assert not list(tmp_path.rglob(FAILED))
    assert not list(tmp_path.rglob(MODEL))


def test_what_is_trained_is_not_trained_again(undisturbed, run, tmp_path):
    planned = plan(made_up_study(tmp_path, TEXT), undisturbed)
    assert jobs_of(planned, undisturbed, "cpu", retry_failed=True) == []
    more = replace(run, limit=30)
    before = {path.name for path in undisturbed.iterdir()}
    execute(more, undisturbed)
    assert {path.name for path in undisturbed.iterdir()} - before == {more.id}


def test_what_comes_first_is_started_first(run, tmp_path):
    planned = plan(made_up_study(tmp_path, TEXT), tmp_path / "runs")
    order = [job.companion for job in jobs_of(planned, tmp_path / "runs", "cpu", retry_failed=False)]
    assert order[-1] is None
    places = {companion: place for place, companion in enumerate(order)}
    for companion in order[:-1]:
        assert all(places[needed] < places[companion] for needed in companion.needs)


def test_a_companion_is_the_run_but_for_what_is_named(run):
    assert run.companion(SUBJECT).model_key == run.model_key
    assert run.companion(Companion(seed=1)).model_key == replace(run, seed=1).model_key
    adversary = run.companion(Companion(seed=1, against=Against(0.01)))
    assert adversary.model_key != run.companion(Companion(seed=1)).model_key
    assert adversary.relation.opponent.model_key == run.model_key


def test_an_adversary_with_a_warm_start_begins_where_the_other_ended(undisturbed, run):
    first, second = run.challenges[3].companions
    assert second.starts_from == first
    fresh = run.companion(replace(second, starts_from=None))
    assert run.companion(second).model_key != fresh.model_key


def test_the_weights_of_a_guided_model_are_kept_without_its_guide(undisturbed, run):
    guided = run.companion(run.challenges[2].guided["model"])
    network, _ = load_network(undisturbed / guided.id / "model.safetensors", "cpu")
    assert type(network).__name__ == "Classifier"


def test_findings_belong_to_their_companions(run):
    (first, *_) = run.challenges
    other = replace(run, training=replace(run.training, epochs=1))
    assert run.findings_key(first) != other.findings_key(first)


def test_a_model_from_elsewhere_has_no_companions(undisturbed, run, tmp_path):
    given = GivenRun.of_run(RunFolder(undisturbed / run.id), run.corpus, challenges=run.challenges[:1])
    with pytest.raises(NotApplicable, match="audit without a model"):
        execute(given, tmp_path)


def test_at_the_words_there_are_other_seeds_but_no_guides_and_adversaries(run):
    words = replace(run, architecture=replace(run.architecture, structure="hierarchical"), site="word")
    assert words.companion(Companion(seed=1)).site == ""
    for companion in (Companion(guide=SUBJECT), Companion(seed=1, against=Against(0.1))):
        with pytest.raises(NotApplicable, match="attention over sentences"):
            words.companion(companion)
    with pytest.raises(NotApplicable, match="leave out site"):
        describe_run(
            corpus="reviews(train=60, dev=20, test=20)", structure="hierarchical", site="word", challenges=["guide"]
        )


@pytest.mark.parametrize(
    "wrong",
    [{"weight": -1.0}, {"weight": math.nan}, {"weight": 1.0, "divergence": "x"}, {"weight": 1.0, "select": "train"}],
)
def test_an_impossible_adversary_is_refused(wrong):
    with pytest.raises(InputError):
        Against(**wrong)


def test_the_latest_run_is_one_that_somebody_asked_for(undisturbed, run):
    folders = list(runs_in(undisturbed))
    named = {folder.path.name: folder.companion for folder in folders}
    assert named[run.id] == ""
    assert named[run.companion(Companion(seed=1)).id] == "seed +1"
    assert find_run("latest", undisturbed).companion == ""
    lines = [entry["summary"] for entry in catalogue("runs", undisturbed)]
    assert sum("companion: adversary, λ = 0.01" in line for line in lines) == 2


def test_a_companion_that_is_trained_for_its_own_sake_is_a_companion_no_more(run, tmp_path):
    other = run.companion(Companion(seed=1))
    assert train(other, tmp_path, companion="seed +1").companion == "seed +1"
    assert train(other, tmp_path, companion="seed +1").companion == "seed +1"
    assert train(other, tmp_path).companion == ""
    assert train(other, tmp_path, companion="seed +1").companion == ""
