from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import torch
from tests.conftest import classifier, made_up_split, whole

from attentest.challenges.challenge import Examination
from attentest.challenges.faithfulness.examine import Faithfulness
from attentest.challenges.randomisation.examine import Randomisation
from attentest.challenges.rationale.examine import Rationale
from attentest.data.batches import Batch
from attentest.data.corpus import Split
from attentest.errors import InputError
from attentest.explainers import EXPLAINERS
from attentest.explainers.precomputed import Precomputed
from attentest.models.copies import copies
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.registry import text_of
from attentest.runs.run import code_of
from attentest.store.folder import RunFolder
from attentest.store.scores import Scores, Texts, keep_scores


def kept(
    folder: Path, split: Split, seed: int = 0, values: list[np.ndarray] | None = None
) -> tuple[Precomputed, list[np.ndarray]]:
    """Scores of a split's texts, random unless given, imported."""
    rng = np.random.default_rng(seed)
    run = RunFolder.create(folder, {"seed": 0}, {})
    (folder / "findings").mkdir(exist_ok=True)
    count = len(split)
    values = values or [rng.normal(size=length) for length in split.lengths]
    tokens = tuple(map(tuple, split.table["tokens"].to_pylist()))
    texts = Texts(tuple(split.ids), tokens, (0,) * count, ((0.5, 0.5),) * count, ("a", "b"))
    return Precomputed(file=str(keep_scores(run, "mine", Scores("x", texts, tuple(values)), "test"))), values


@pytest.fixture
def made() -> tuple[Split, Classifier, Batch]:
    split = made_up_split(low=1)
    model, encoded = classifier(Architecture(embedding=6), split)
    return split, model, whole(encoded)


def test_every_text_gets_its_own_scores_wherever_it_stands(made, tmp_path):
    split, model, batch = made
    explainer, values = kept(tmp_path / "run", split)
    order = torch.tensor([5, 0, 11, 3, 3])
    for some in (batch, copies(batch, order), batch[4:7]):
        scores = explainer.scores(model, some, model.read(some))
        assert torch.all(scores[~some.mask] == 0)
        for row, mask, number in zip(scores, some.mask, some.rows.tolist(), strict=True):
            assert row[mask].tolist() == values[number].tolist()


def test_its_text_form_is_its_identity_in_every_challenge(made, tmp_path):
    split, _, _ = made
    explainer, _ = kept(tmp_path / "run", split)
    assert EXPLAINERS.parse(text_of(explainer)) == explainer
    assert Rationale(explainers=(text_of(explainer),)).explained_by == (text_of(explainer),)


#: What a table of scores does not say of itself: its name, and whether its scores have a sign.
KIND = ["explainer", "signed", "made_of_erasure"]


def test_challenges_judge_it_like_the_explainer_whose_scores_it_holds(made, tmp_path):
    split, model, batch = made
    scores = EXPLAINERS.parse("gradient").scores(model, batch, model.read(batch)).double()
    values = [row[mask].numpy() for row, mask in zip(scores, batch.mask, strict=True)]
    twin, _ = kept(tmp_path / "run", split, values=values)
    tokens = pa.concat_arrays(split.table["tokens"].chunks)
    names = ("gradient", text_of(twin))
    with torch.no_grad():
        table = Faithfulness(explainers=names).examine(Examination(model, batch, model.read(batch), 0, tokens))
    own, theirs = (table.filter(pc.equal(table["explainer"], name)).drop_columns(KIND) for name in names)
    assert len(own) == len(split)
    assert own.equals(theirs)


def test_other_scores_are_another_version_of_the_findings(made, tmp_path):
    split, _, _ = made
    explainer, _ = kept(tmp_path / "run", split)
    challenge = Rationale(explainers=("attention", text_of(explainer)))
    before = code_of(challenge, (), Classifier)
    assert code_of(challenge, (), Classifier) == before
    other, _ = kept(tmp_path / "other", split, seed=1)
    Path(explainer.file).write_bytes(Path(other.file).read_bytes())
    assert code_of(challenge, (), Classifier) != before


def test_scores_that_are_written_anew_are_read_anew(made, tmp_path):
    split, model, batch = made
    explainer, _ = kept(tmp_path / "run", split)
    reading = model.read(batch)
    before = explainer.scores(model, batch, reading)
    other, values = kept(tmp_path / "other", split, seed=1)
    Path(explainer.file).unlink()
    Path(explainer.file).write_bytes(Path(other.file).read_bytes())
    after = explainer.scores(model, batch, reading)
    assert not torch.equal(before, after)
    assert after[0][batch.mask[0]].tolist() == values[0].tolist()


def test_a_text_without_scores_is_an_error_and_never_a_zero(made, tmp_path):
    split, model, batch = made
    explainer, _ = kept(tmp_path / "run", split.take([0, 1, 2]))
    with pytest.raises(InputError, match="no scores for 9 of these 12 texts"):
        explainer.scores(model, batch, model.read(batch))


def test_a_text_of_another_length_is_an_error(made, tmp_path):
    split, model, batch = made
    longer = Split.of(split.ids, [[*tokens, "more"] for tokens in split.table["tokens"].to_pylist()], split.labels)
    explainer, _ = kept(tmp_path / "run", longer)
    with pytest.raises(InputError, match=r"scores and \d+ tokens here"):
        explainer.scores(model, batch, model.read(batch))


@pytest.mark.parametrize(("text", "words"), [("precomputed", "file=''"), ("precomputed(file='a~b')", "'~'")])
def test_a_file_that_cannot_be_one_is_refused_at_once(text, words):
    with pytest.raises(InputError, match=words):
        EXPLAINERS.parse(text)


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(InputError, match="there is no file nowhere"):
        code_of(Rationale(explainers=("precomputed(file='nowhere.parquet')",)), (), Classifier)


def test_no_model_can_be_taken_from_scores_that_look_at_none():
    with pytest.raises(InputError, match="looks at no model"):
        Randomisation(explainers=("precomputed(file='x.parquet')",))
