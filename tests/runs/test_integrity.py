"""Any flipped bit in a run's folder is noticed, named and computed again."""

from __future__ import annotations

import random
import shutil

import pytest
from tests.conftest import Heard
from tests.runs.test_run import bytes_of, small

import attentest
from attentest.challenges import CHALLENGES
from attentest.errors import StorageError
from attentest.runs.describe import describe_run
from attentest.runs.execute import execute
from attentest.store.folder import RunFolder
from attentest.store.verifying import verify_run

FLIPS = 100


def run():
    return small(challenges=tuple(CHALLENGES.parse(t) for t in ("permutation(draws=5)", "uniform")))


def read_everything(folder, challenges):
    for challenge in challenges:
        folder.findings(challenge)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return execute(run(), tmp_path_factory.mktemp("whole"))


@pytest.mark.slow
def test_every_one_of_a_hundred_flipped_bits_is_noticed_and_named(whole, tmp_path):
    chance = random.Random(0)
    names = ["run.json", *(f"findings/{name}.parquet" for name in whole.challenges)]
    for number in range(FLIPS):
        name = names[number % len(names)]
        copy = tmp_path / str(number) / whole.path.name
        shutil.copytree(whole.path, copy)
        data = bytearray((copy / name).read_bytes())
        bit = chance.randrange(8 * len(data))
        data[bit // 8] ^= 1 << bit % 8
        (copy / name).write_bytes(data)
        with pytest.raises(StorageError, match=name.replace(".", r"\.")):
            read_everything(RunFolder(copy), whole.challenges)
        shutil.rmtree(copy)


@pytest.mark.parametrize("name", ["run.json", "findings/instances.parquet", "model.safetensors", "corpus.json"])
def test_what_was_altered_is_named_and_computed_again(whole, tmp_path, name):
    shutil.copytree(whole.path, tmp_path / whole.path.name)
    path = tmp_path / whole.path.name / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    heard = Heard()
    again = execute(run(), tmp_path, progress=heard)
    assert any(path.name in line and "altered" in line and "again" in line for line in heard.lines), heard.lines
    assert bytes_of(again) == bytes_of(whole)
    assert set(again.record["finished"]) == set(whole.record["finished"])


def flip(path, place=0.5):
    data = bytearray(path.read_bytes())
    data[min(len(data) - 1, int(place * len(data)))] ^= 4
    path.write_bytes(data)


@pytest.fixture
def copy(whole, tmp_path):
    return shutil.copytree(whole.path, tmp_path / whole.path.name)


@pytest.mark.parametrize("name", ["model.safetensors", "vocabulary.json", "training-texts.u64"])
def test_no_altered_file_of_a_model_is_used_by_an_audit_of_it(copy, name):
    """Weights times −1000 pass every check but the seal."""
    flip(copy / name)
    with pytest.raises(StorageError, match=rf"{name} is missing or was altered"):
        describe_run(copy, texts=["word1 word2", "word3"], labels=["class0", "class1"]).seen_in_training()


@pytest.mark.parametrize("name", ["model.safetensors", "vocabulary.json"])
def test_no_altered_file_of_a_model_explains_a_text(copy, name):
    flip(copy / name)
    with pytest.raises(StorageError, match=rf"{name} is missing or was altered"):
        attentest.explain("a good film", copy)


def test_an_altered_file_is_not_copied_to_a_run_beside_it(copy, tmp_path):
    flip(copy / "model.safetensors")
    target = RunFolder.create(tmp_path / "target", {}, {})
    with pytest.raises(StorageError, match="altered"):
        target.copy(RunFolder(copy), "model.safetensors")
    assert sorted(path.name for path in target.path.iterdir()) == ["run.json"]


@pytest.mark.parametrize("name", ["vocabulary.json", "training-texts.u64"])
def test_words_and_hashes_that_were_altered_are_written_again(whole, copy, tmp_path, name):
    flip(copy / name)
    heard = Heard()
    again = execute(run(), tmp_path, progress=heard)
    assert any(name in line and "altered" in line for line in heard.lines), heard.lines
    assert (again.path / name).read_bytes() == (whole.path / name).read_bytes()
    assert verify_run(again).whole
