from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import mutual_info_score
from tests.conftest import classifier, made_up_split, whole

from attentest.challenges.challenge import Examination
from attentest.challenges.mutual_information import clusters
from attentest.challenges.mutual_information.clusters import Clusters, KMeans, Sample, nearest
from attentest.challenges.mutual_information.examine import MutualInformation
from attentest.data.vocabulary import END
from attentest.errors import InputError
from attentest.models.architecture import Architecture
from attentest.models.parts.encoders import ENCODERS
from attentest.models.subject import Reading
from attentest.store.findings import Findings
from attentest.store.summary import estimate
from attentest.tasks import DEFAULT, THOROUGH
from attentest.training.training_texts import TrainingTexts


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def model_of(count: int = 60, high: int = 12):
    """A model, its texts, and the same texts as training texts."""
    split = made_up_split(count, 1, high)
    model, encoded = classifier(Architecture(ENCODERS.parse("bilstm(hidden=6)"), embedding=8), split)
    return model.eval(), encoded, pa.concat_arrays(split.table["tokens"].chunks)


def examination(rows: list[int] | None = None, **changes) -> Examination:
    model, encoded, tokens = model_of()
    batch = whole(encoded) if rows is None else encoded.batch(np.array(rows))
    words = tokens.take(pa.array(batch.rows.numpy()))
    training = TrainingTexts(lambda: encoded)
    return replace(Examination(model, batch, model.read(batch), 0, words, training=training), **changes)


ASKED = MutualInformation(words=12, clusters=9, batch=20)


def test_the_information_is_that_of_the_labels_of_the_training_tokens():
    table = ASKED.examine(examination())
    rows = [row for row in table.to_pylist() if row["not_judged"] is None]
    first, second = ([label for row in rows for label in row[f"{name}_clusters"]] for name in ("embedding", "state"))
    # The texts examined are the training texts here, and all of them are in the sample.
    assert rows[0]["training_tokens"] == len(first) == sum(row["tokens"] for row in rows)
    expected = mutual_info_score(first, second)
    assert rows[0]["training_information"] == pytest.approx(expected)
    assert rows[0]["training_bits"] == pytest.approx(expected / np.log(2))
    assert rows[0]["training_embedding_entropy"] == pytest.approx(mutual_info_score(first, first))
    found = Findings("mutual_information", ASKED.measures, table)
    training, examined = estimate(found, "training"), estimate(found, "examined")
    assert training.value == pytest.approx(examined.value) == pytest.approx(expected)
    # The delta method and the bootstrap of the same texts.
    assert training.high - training.low == pytest.approx(examined.high - examined.low, rel=0.15)
    assert estimate(found, "training_chance").value < expected
    assert estimate(found, "examined_chance").value < expected


def test_only_the_most_frequent_words_are_clustered():
    examined = examination()
    counts = Counter(word for text in examined.tokens.to_pylist() for word in text)
    most = {word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:5]}
    rows = MutualInformation(words=5, clusters=3, batch=10).examine(examined).to_pylist()
    for text, row in zip(examined.tokens.to_pylist(), rows, strict=True):
        assert row["tokens"] == sum(word in most for word in text) == len(row["state_clusters"])
        assert (row["not_judged"] is not None) == (row["tokens"] == 0)


def test_words_are_drawn_by_their_frequency_to_the_power_of_three_quarters():
    _, encoded, _ = model_of()
    counts = np.bincount(encoded.text[0])
    known = np.flatnonzero(counts)
    known = known[known > END]
    expected = counts[known] ** 0.75 / (counts[known] ** 0.75).sum()
    drawn = np.concatenate([Sample.of(encoded, 1, "sampled", 10**6, seed).words for seed in range(4000)])
    shares = np.bincount(drawn, minlength=len(counts))[known] / len(drawn)
    assert np.abs(shares - expected).max() < 0.02
    several = Sample.of(encoded, 7, "sampled", 10**6, 0).words
    assert len(set(several.tolist())) == 7


def test_no_more_tokens_than_asked_for_are_clustered():
    row = replace(ASKED, representations=50).examine(examination()).to_pylist()[0]
    assert row["training_tokens"] == 50


def test_findings_depend_on_nothing_but_seed_and_texts():
    together = ASKED.examine(examination()).to_pylist()
    for row in range(0, 60, 13):
        (alone,) = ASKED.examine(examination([row])).to_pylist()
        assert alone == together[row]
    other = ASKED.examine(examination(seed=1)).to_pylist()
    assert other[0]["training_information"] != together[0]["training_information"]


def test_one_cluster_for_each_word_keeps_every_word_apart(monkeypatch):
    monkeypatch.setattr(clusters, "FIRST", 100)  # the centres are drawn from all tokens
    rows = MutualInformation(words=12, clusters=12, batch=20).examine(examination()).to_pylist()
    words: dict[int, set[str]] = {}
    examined = examination()
    counts = Counter(word for text in examined.tokens.to_pylist() for word in text)
    most = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:12]]
    for text, row in zip(examined.tokens.to_pylist(), rows, strict=True):
        here = [word for word in text if word in most]
        for word, label in zip(here, row["embedding_clusters"], strict=True):
            words.setdefault(label, set()).add(word)
    assert all(len(of) == 1 for of in words.values())
    shares = np.array([counts[word] for word in most]) / sum(counts[word] for word in most)
    assert rows[0]["training_embedding_entropy"] == pytest.approx(-(shares * np.log(shares)).sum())


def test_the_nearest_centre_is_that_of_scikit_learn():
    random = np.random.default_rng(0)
    vectors = random.normal(size=(300, 5)).astype(np.float32)
    fitted = MiniBatchKMeans(11, batch_size=40, n_init=1, random_state=0).fit(vectors)
    found = nearest(torch.from_numpy(vectors), torch.from_numpy(fitted.cluster_centers_))
    assert found.tolist() == fitted.predict(vectors).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clusters, "CELLS", 50)
        assert nearest(torch.from_numpy(vectors), torch.from_numpy(fitted.cluster_centers_)).tolist() == found.tolist()


def learned(make, monkeypatch) -> Clusters:
    """Of a model whose states are others."""
    model, encoded, _ = model_of(400, 30)
    read = model.read
    monkeypatch.setattr(model, "read", lambda batch: replace(reading := read(batch), states=make(reading)))
    return Clusters.learned(model, encoded, Sample.of(encoded, 40, "frequent", 10**6, 0), KMeans(15, 50, 0.0))


def test_states_that_are_the_embeddings_say_all_there_is(monkeypatch):
    found = learned(lambda reading: reading.embeddings, monkeypatch).found
    assert found.value == pytest.approx(found.first_entropy) == pytest.approx(found.second_entropy)


def test_states_that_know_nothing_of_their_words_say_no_more_than_chance(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    noise: dict[tuple[int, ...], torch.Tensor] = {}

    def random(reading: Reading) -> torch.Tensor:
        key = tuple(reading.mask.shape)
        return noise.setdefault(key, torch.randn(reading.states.shape, generator=generator))

    found = learned(random, monkeypatch)
    assert found.found.value < 0.1
    assert found.found.value == pytest.approx(found.chance, abs=0.02)
    assert found.found.corrected == pytest.approx(0, abs=0.02)


def test_it_says_why_it_cannot_say_and_refuses_what_makes_no_sense():
    assert "mutual_information" not in (*DEFAULT, *THOROUGH)
    rows = ASKED.examine(examination(training=None)).to_pylist()
    assert {row["not_judged"] for row in rows} == {"there are no training texts"}
    with pytest.raises(InputError, match="sample='rare' must be one of frequent, sampled"):
        MutualInformation(sample="rare")
    with pytest.raises(InputError, match="reassignment=-1"):
        MutualInformation(reassignment=-1.0)
    with pytest.raises(InputError, match="clusters=0 must be at least 1"):
        MutualInformation(clusters=0)
