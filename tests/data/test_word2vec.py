from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import made_up_corpus

from attentest.data.vectors import load_vectors
from attentest.data.vocabulary import Vocabulary
from attentest.data.word2vec import Word2Vec
from attentest.errors import InputError, StorageError

SMALL = Word2Vec(dimension=8, epochs=2)


@pytest.mark.slow
def test_every_word_of_the_vocabulary_gets_a_vector_that_is_read_back(tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    corpus = made_up_corpus()
    made = SMALL.train(corpus, tmp_path / "own.npz")
    vocabulary = Vocabulary.from_split(corpus["train"])
    again = load_vectors(tmp_path / "own.npz", vocabulary, split=corpus["train"])
    assert (made.types, made.tokens, made.dimension) == (1.0, 1.0, 8)
    np.testing.assert_array_equal(again.matrix, made.matrix)
    assert made.found.sum() == len(vocabulary) - 4
    assert [path.name for path in tmp_path.iterdir()] == ["own.npz"]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_whatever_python_s_hash_seed(tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    code = (
        "import sys; from pathlib import Path; from tests.conftest import made_up_corpus; "
        "from attentest.data.word2vec import Word2Vec; "
        "Word2Vec(dimension=8, epochs=2).train(made_up_corpus(), Path(sys.argv[1]))"
    )
    sums = set()
    for seed in ("1", "2"):
        path = tmp_path / f"{seed}.npz"
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", code, str(path)], env=environment, check=True)
        sums.add(hashlib.sha256(path.read_bytes()).hexdigest())
    assert len(sums) == 1
    Word2Vec(dimension=8, epochs=2, seed=1).train(made_up_corpus(), tmp_path / "other.npz")
    assert hashlib.sha256((tmp_path / "other.npz").read_bytes()).hexdigest() not in sums


@pytest.mark.slow
def test_words_that_occur_together_come_to_lie_together(tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    from attentest.data.corpus import Corpus, Provenance, Split

    rng = np.random.default_rng(0)
    texts = [[f"{'ab'[i % 2]}{j}" for j in rng.integers(0, 5, 12)] for i in range(400)]
    split = Split.of([str(i) for i in range(400)], texts, [i % 2 for i in range(400)])
    corpus = Corpus("two", ("a", "b"), {"train": split}, Provenance("made up", "none"))
    made = Word2Vec(dimension=16, epochs=10).train(corpus, tmp_path / "v.npz")
    words = Vocabulary.from_split(split).words
    unit = made.matrix / np.linalg.norm(made.matrix, axis=1, keepdims=True).clip(1e-9)
    own = [i for i, word in enumerate(words) if word[0] == "a"]
    other = [i for i, word in enumerate(words) if word[0] == "b"]
    assert (unit[own] @ unit[own].T).mean() > (unit[own] @ unit[other].T).mean() + 0.3


def test_what_cannot_be_done_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = made_up_corpus()
    with pytest.raises(InputError, match=r"must end with .npz"):
        SMALL.train(corpus, tmp_path / "own.txt")
    with pytest.raises(InputError, match=r"dimension=0 must be 1 or more"):
        Word2Vec(dimension=0).train(corpus, tmp_path / "own.npz")
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(InputError, match=r"pip install 'attentest\[word2vec\]'"):
        SMALL.train(corpus, tmp_path / "own.npz")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    with pytest.raises(StorageError, match=r"Cannot write .*--out"):
        SMALL.train(made_up_corpus(), tmp_path / "nowhere" / "own.npz")
