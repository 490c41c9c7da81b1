from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import made_up_corpus
from tests.runs.test_run import SMALL, bytes_of
from tests.support.hierarchy import texts

from attentest.challenges import CHALLENGES
from attentest.data.batches import Encoded
from attentest.data.corpora import CORPORA
from attentest.data.corpus import Corpus, Provenance
from attentest.errors import InputError, UnknownName
from attentest.explainers import EXPLAINERS
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.encoders import ENCODERS
from attentest.runs.describe import describe_run
from attentest.runs.execute import execute
from attentest.runs.removal import Removal, ranks_of, without_top
from attentest.runs.run import MODEL, VOCABULARY
from attentest.runs.trained import TrainedRun
from attentest.store.folder import RunFolder
from attentest.store.summary import estimate
from attentest.training.checkpoints import load_network, load_vocabulary
from attentest.training.loop import Training

INSTANCES = (CHALLENGES.parse("instances(per_token=False)"),)


def run(removal: Removal | None = None, **changes) -> TrainedRun:
    fields = {"architecture": SMALL, "training": Training(epochs=2), "challenges": INSTANCES, **changes}
    return TrainedRun(made_up_corpus(), **fields, removal=removal)


@pytest.mark.parametrize("by", ["mask", "delete"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_the_highest_ranked_tokens_go_and_one_always_stays(by, share):
    corpus = made_up_corpus()
    chance = np.random.default_rng(0)
    ranks = {
        name: np.concatenate([chance.permutation(n) for n in split.lengths]).astype(np.int32)
        for name, split in corpus.splits.items()
    }
    reduced = without_top(corpus, ranks, Removal("random", share, by))
    for name, split in corpus.splits.items():
        assert reduced[name].ids == split.ids
        assert reduced[name].labels.tolist() == split.labels.tolist()
        start = 0
        for before, after in zip(
            split.table["tokens"].to_pylist(), reduced[name].table["tokens"].to_pylist(), strict=True
        ):
            most = min(int(np.ceil(share * len(before))), len(before) - 1)
            gone = ranks[name][start : start + len(before)] < most
            start += len(before)
            if by == "mask":
                assert after == ["<unk>" if g else token for token, g in zip(before, gone, strict=True)]
            else:
                assert after == [token for token, g in zip(before, gone, strict=True) if not g]
            assert after


@pytest.mark.slow
def test_ranks_are_the_order_of_the_scores_text_by_text(tmp_path):
    import torch

    folder = execute(run(), tmp_path)
    model, _ = load_network(folder.path / MODEL, torch.device("cpu"))
    vocabulary = load_vocabulary(folder.path / VOCABULARY)
    corpus = run().corpus
    ranks = ranks_of(folder, model, vocabulary, corpus, "gradient")
    encoded = Encoded.of(corpus["test"], vocabulary)
    start = 0
    for row in range(len(encoded)):
        batch = encoded.batch(np.array([row]))
        with torch.no_grad():
            scores = EXPLAINERS.parse("gradient").scores(model, batch, model.read(batch))[batch.mask].double()
        mine = ranks["test"][start : start + len(scores)]
        start += len(scores)
        assert sorted(mine) == list(range(len(scores)))
        ordered = scores.numpy()[np.argsort(mine)]
        assert (np.diff(ordered) <= 1e-6).all()


@pytest.mark.slow
def test_a_run_after_removal_trains_the_first_model_once_and_is_worse_without_what_mattered(tmp_path):
    corpus = CORPORA.parse("reviews(train=2000, dev=200, test=400)").load()

    def made(removal: Removal | None = None) -> RunFolder:
        small = Architecture(ENCODERS.parse("average(hidden=32)"), embedding=32)
        choices = {"architecture": small, "training": Training(epochs=6), "challenges": INSTANCES}
        return execute(TrainedRun(corpus, **choices, removal=removal), tmp_path)

    whole = made()
    found = {explainer: made(Removal(explainer, 0.1)) for explainer in ("random", "leave_one_out")}
    accuracies = {
        name: estimate(folder.findings(folder.named("instances")), "accuracy").value
        for name, folder in (("whole", whole), *found.items())
    }
    assert accuracies["leave_one_out"] < accuracies["random"] < accuracies["whole"], accuracies
    ids = {folder.path.name for folder in (whole, *found.values())}
    assert len(ids) == 3
    first = [path for path in tmp_path.iterdir() if list(path.glob("ranks-*.npz"))]
    assert len(first) == 1
    assert len(list(first[0].glob("ranks-*.npz"))) == 2


@pytest.mark.slow
def test_a_removal_is_reproduced_to_the_byte(tmp_path):
    removal = Removal("attention", 0.3, "delete")
    assert bytes_of(execute(run(removal), tmp_path / "a")) == bytes_of(execute(run(removal), tmp_path / "b"))


def test_sentences_lose_the_words_that_are_deleted_and_keep_those_that_are_masked():
    splits = {"train": texts(count=6)}
    corpus = Corpus("made-up", ("a", "b"), splits, Provenance("", ""))
    ranks = {"train": np.concatenate([np.arange(length) for length in splits["train"].lengths])}
    before = splits["train"].table["sentences"].to_pylist()
    masked, deleted = (without_top(corpus, ranks, Removal("random", 0.5, by))["train"] for by in ("mask", "delete"))
    assert masked.table["sentences"].to_pylist() == before
    for sizes, after, left in zip(before, deleted.table["sentences"].to_pylist(), deleted.lengths, strict=True):
        assert sum(after) == left
        # The first half of the words is gone: the sentences at the end are whole.
        assert after[-1] <= sizes[-1]
        assert after[1:] == sizes[len(sizes) - len(after) + 1 :]


def test_what_cannot_be_removed_is_said():
    with pytest.raises(UnknownName, match="atention"):
        Removal("atention", 0.5)
    with pytest.raises(InputError, match="between 0 and 1"):
        Removal("attention", 1.0)
    with pytest.raises(InputError, match="removal_by"):
        Removal("attention", 0.5, "burn")  # type: ignore[arg-type]


def test_a_removal_and_a_guided_model_are_refused_together():
    chosen = {"corpus": "reviews", "removal": "attention", "removal_share": 0.2}
    assert describe_run(challenges=["uniform"], **chosen).removal is not None
    with pytest.raises(InputError, match="'guide' compares with a guided model"):
        describe_run(challenges=["guide"], **chosen)
