from __future__ import annotations

import contextlib
import hashlib
import json
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import torch
from tests.conftest import made_up_corpus

from attentest.challenges import CHALLENGES
from attentest.devices import reproducibly
from attentest.errors import InputError, NotApplicable, StorageError
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.models.parts.encoders import ENCODERS
from attentest.runs.execute import execute
from attentest.runs.given import GivenRun
from attentest.runs.model import train
from attentest.runs.presets import preset
from attentest.runs.questions import Usual
from attentest.runs.run import MODEL
from attentest.runs.trained import TrainedRun
from attentest.training.loop import Training

SMALL = Architecture(ENCODERS.parse("bilstm(hidden=6)"), embedding=8)
QUICK = tuple(CHALLENGES.parse(t) for t in ("agreement", "permutation", "adversary(steps=20)", "uniform", "rationale"))


def small(classes: int = 2, **changes) -> TrainedRun:
    fields = {"architecture": SMALL, "training": Training(epochs=2), "challenges": QUICK, **changes}
    return TrainedRun(made_up_corpus(classes), **fields)


def bytes_of(folder) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted((folder.path / "findings").iterdir())}


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_a_run_leaves_findings_for_every_challenge_in_the_splits_order(tmp_path, classes):
    run = small(classes)
    folder = execute(run, tmp_path)
    ids = run.corpus["test"].ids
    assert len(folder.challenges) == 6
    for name in folder.challenges:
        table = folder.findings(name).table
        assert list(dict.fromkeys(table["id"].to_pylist())) == ids
        assert table["predicted"].null_count == 0


@pytest.mark.slow
def test_the_same_run_again_computes_nothing_and_changes_nothing(tmp_path):
    folder = execute(small(), tmp_path)
    before = {p: p.stat().st_mtime_ns for p in folder.path.rglob("*") if p.is_file()}
    again = execute(small(), tmp_path)
    assert again.path == folder.path
    assert before == {p: p.stat().st_mtime_ns for p in folder.path.rglob("*") if p.is_file()}


@pytest.mark.slow
def test_two_runs_of_the_same_fields_give_the_same_bytes(tmp_path):
    assert bytes_of(execute(small(), tmp_path / "a")) == bytes_of(execute(small(), tmp_path / "b"))


@pytest.mark.slow
def test_the_number_of_workers_changes_no_byte(tmp_path, monkeypatch):
    from attentest.runs.examination import examine

    cut = examine.bucketed
    monkeypatch.setattr(examine, "bucketed", lambda encoded, **_: cut(encoded, tokens=40, chunk=17))
    one = execute(small(), tmp_path / "one", workers=1)
    assert bytes_of(one) == bytes_of(execute(small(), tmp_path / "three", workers=3))


@pytest.mark.slow
def test_findings_do_not_depend_on_how_batches_are_cut(tmp_path, monkeypatch):
    one = execute(small(), tmp_path / "a")
    from attentest.runs.examination import examine

    cut = examine.bucketed
    monkeypatch.setattr(examine, "bucketed", lambda encoded, **_: cut(encoded, tokens=40, chunk=7))
    two = execute(small(), tmp_path / "b")
    for name in one.challenges:
        x, y = one.findings(name).table, two.findings(name).table
        assert x["id"].to_pylist() == y["id"].to_pylist()
        for column in x.column_names:
            if str(x.schema.field(column).type) == "double":
                left, right = (np.array(t[column].to_pylist(), dtype=float) for t in (x, y))
                close = np.isclose(left, right, atol=1e-4, equal_nan=True)
                # A rank can turn on the last bit of two nearly equal scores; nothing else may.
                assert close.mean() >= (0.95 if name in ("agreement", "rationale") else 1), (name, column)


def test_every_field_that_matters_changes_the_id():
    ids = {
        small().id,
        small(seed=1).id,
        small(limit=5).id,
        small(training=Training(epochs=3)).id,
        small(challenges=QUICK[:1]).id,
        small(architecture=Architecture(ENCODERS.parse("average(hidden=6)"), embedding=8)).id,
        small(classes=3).id,
    }
    assert len(ids) == 7


@pytest.mark.slow
def test_a_limit_examines_a_sample_that_depends_on_the_seed_alone(tmp_path):
    folder = execute(small(limit=9), tmp_path)
    assert folder.findings("instances").table.num_rows == 9


@pytest.mark.slow
def test_a_deleted_or_altered_file_is_noticed_and_computed_again(tmp_path):
    folder = execute(small(), tmp_path)
    before = bytes_of(folder)
    uniform = folder.path / "findings" / "uniform.parquet"
    uniform.write_bytes(uniform.read_bytes()[:-9] + b"something")
    (folder.path / "findings" / "agreement.parquet").unlink()
    with pytest.raises(StorageError, match="altered"):
        folder.findings("uniform")
    assert bytes_of(execute(small(), tmp_path)) == before


@pytest.mark.slow
def test_a_trained_model_can_be_audited_on_its_own(tmp_path):
    trained = train(small(), tmp_path)
    assert trained.challenges == []
    run = GivenRun.of_run(trained, made_up_corpus(), challenges=QUICK)
    folder = execute(run, tmp_path)
    assert (folder.path / MODEL).read_bytes() == (trained.path / MODEL).read_bytes()
    assert bytes_of(folder) == bytes_of(execute(small(), tmp_path))


def test_a_challenge_that_does_not_apply_is_refused_when_asked_for_and_passed_over_by_default(tmp_path):
    corpus = made_up_corpus()
    bare = type(corpus)(
        corpus.name,
        corpus.classes,
        {n: type(s)(s.table.drop_columns(["rationale"])) for n, s in corpus.splits.items()},
        corpus.provenance,
    )
    marked = (CHALLENGES.parse("rationale"),)
    choices = {"architecture": SMALL, "training": Training(epochs=1)}
    with pytest.raises(NotApplicable, match="has no rationales"):
        execute(TrainedRun(bare, **choices, challenges=marked), tmp_path)
    folder = execute(TrainedRun(bare, **choices, challenges=marked, usual=Usual(frozenset(marked))), tmp_path)
    assert folder.challenges == ["instances"]


def test_a_run_leaves_the_number_of_threads_as_it_was():
    torch.set_num_threads(2)
    try:
        with reproducibly():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


@pytest.mark.parametrize("name", ["tpu0", "cuda"])
def test_a_device_that_is_not_there_is_named(tmp_path, name):
    if name == "cuda" and torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(InputError, match=name):
        execute(small(), tmp_path, device=name)


def test_presets_differ_where_paper_and_code_do():
    assert preset("paper").encoder("convolution").filters == 64
    assert preset("released").encoder("convolution").filters == 32
    assert preset("released").encoder("average").activation == "tanh"
    assert preset("paper").training.decay_attention
    assert not preset("released").training.decay_attention
    assert preset("paper").encoder("bilstm(hidden=4)") == "bilstm(hidden=4)"


@pytest.mark.slow
def test_a_run_killed_at_any_moment_goes_on_and_ends_with_the_same_findings(tmp_path):
    expected = bytes_of(execute(small(), tmp_path / "whole"))
    script = textwrap.dedent(
        f"""
        import torch
        torch.set_num_threads(1)
        from pathlib import Path
        from tests.runs.test_run import small
        from attentest.runs.execute import execute
        execute(small(), Path({str(tmp_path / "killed")!r}))
        """
    )
    for there in ("*/run.json", "*/model.safetensors", "*/findings/*.parquet"):
        child = subprocess.Popen([sys.executable, "-c", script])
        while child.poll() is None and not list((tmp_path / "killed").glob(there)):
            time.sleep(0.005)
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(signal.SIGKILL)
        child.wait()
        for record in (tmp_path / "killed").glob("*/run.json"):
            json.loads(record.read_text())
    assert bytes_of(execute(small(), tmp_path / "killed")) == expected


@pytest.mark.slow
def test_a_batch_that_does_not_fit_into_memory_is_halved_and_finds_the_same(tmp_path, monkeypatch):
    expected = execute(small(), tmp_path / "whole")
    real = Classifier.read

    def scarce(self, batch, **options):
        if len(batch) > 3 and not torch.is_grad_enabled():
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.83 GiB.")
        return real(self, batch, **options)

    trained = train(small(), tmp_path / "scarce")
    monkeypatch.setattr(Classifier, "read", scarce)
    found = execute(small(), tmp_path / "scarce")
    assert found.path == trained.path
    x, y = (folder.findings("permutation").table for folder in (expected, found))
    assert x["id"].to_pylist() == y["id"].to_pylist()
    np.testing.assert_allclose(x["median_change"].to_numpy(), y["median_change"].to_numpy(), atol=1e-6)
