from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attentest.data import vectors as vectors_module
from attentest.data.corpus import Split
from attentest.data.vectors import LONGEST, Missing, check_vectors, load_vectors
from attentest.data.vocabulary import PAD, SPECIAL, UNKNOWN, Vocabulary
from attentest.errors import InputError
from attentest.runs.describe import describe_run

VOCABULARY = Vocabulary((*SPECIAL, ". . .", "film", "good", "unseen"))
GLOVE = b", 0.5 0.5\n. . . 1 2\nfilm 3.0 -4e0\n\xc2\x85 9 9\ngood 5 6\ngood 7 8\n<pad> 1 1\n<unk> 1 1\n"
EXPECTED = {". . .": [1, 2], "film": [3, -4], "good": [5, 6]}


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def npz(path: Path, words: object, vectors: object) -> Path:
    np.savez(path, words=np.array(words), vectors=np.array(vectors))
    return path


def every_form(folder: Path) -> list[Path]:
    words, vectors = list(EXPECTED), np.array(list(EXPECTED.values()), np.float16)
    return [
        write(folder / "glove.txt", GLOVE),
        write(folder / "glove.txt.gz", gzip.compress(GLOVE)),
        write(folder / "crlf.txt", GLOVE.replace(b"\n", b"\r\n")),
        write(folder / "wiki.vec", b"8 2\n" + GLOVE.replace(b"\n", b" \n")),
        write(folder / "wiki.vec.gz", gzip.compress(b"8 2\n" + GLOVE)),
        npz(folder / "joined.npz", "\n".join(words), vectors),
        npz(folder / "array.npz", words, vectors),
    ]


def test_every_form_gives_the_same_vectors(tmp_path: Path) -> None:
    for path in every_form(tmp_path):
        loaded = load_vectors(path, VOCABULARY, missing="zero")
        assert loaded.matrix.dtype == np.float32
        assert loaded.dimension == 2
        for word, row in VOCABULARY.index.items():
            assert loaded.matrix[row].tolist() == EXPECTED.get(word, [0, 0]), (path.name, word)
            assert loaded.found[row] == (word in EXPECTED)


def test_words_without_a_vector_are_drawn_from_the_seed(tmp_path: Path) -> None:
    path = write(tmp_path / "glove.txt", GLOVE)
    one, same, other = (load_vectors(path, VOCABULARY, seed=seed).matrix for seed in (1, 1, 2))
    unseen = VOCABULARY.index["unseen"]
    assert np.array_equal(one, same)
    assert not np.array_equal(one[unseen], other[unseen])
    assert not np.array_equal(one[UNKNOWN], np.ones(2))
    assert one[PAD].tolist() == [0, 0]
    assert one[VOCABULARY.index["film"]].tolist() == [3, -4]


def test_missing_words_are_standard_normal(tmp_path: Path) -> None:
    many = Vocabulary((*SPECIAL, "film", *(f"w{i}" for i in range(20_000))))
    matrix = load_vectors(write(tmp_path / "glove.txt", GLOVE), many).matrix
    assert abs(matrix.mean()) < 0.02
    assert abs(matrix.std() - 1) < 0.02


def test_coverage_counts_types_and_tokens(tmp_path: Path) -> None:
    split = Split.of(["a", "b"], [["good", "film", "film"], ["unseen", "never"]], [0, 1])
    loaded = load_vectors(write(tmp_path / "glove.txt", GLOVE), VOCABULARY, split=split)
    assert loaded.types == 3 / 4
    assert loaded.tokens == 3 / 5
    assert load_vectors(tmp_path / "glove.txt", VOCABULARY).tokens is None


@pytest.mark.slow
@settings(deadline=None)
@pytest.mark.parametrize("missing", ["normal", "zero"])
@given(rows=st.lists(st.lists(st.floats(-9, 9, width=16), min_size=3, max_size=3), min_size=1, max_size=5))
def test_text_and_npz_agree(
    tmp_path_factory: pytest.TempPathFactory, missing: Missing, rows: list[list[float]]
) -> None:
    folder = tmp_path_factory.mktemp("vectors")
    words = [f"w{i}" for i in range(len(rows))]
    vocabulary = Vocabulary((*SPECIAL, *words, "other"))
    lines = [f"{word} {' '.join(map(repr, row))}" for word, row in zip(words, rows, strict=True)]
    text = write(folder / "a.txt", "\n".join(lines).encode())
    packed = npz(folder / "a.npz", "\n".join(words), np.array(rows, np.float16))
    one, two = (load_vectors(path, vocabulary, missing=missing, seed=3) for path in (text, packed))
    assert np.array_equal(one.matrix, two.matrix)


BAD = {
    "short.txt": (b"film 1 2\nbad 1\n", "line 2 has 1 numbers where 2 were expected"),
    "long.txt": (b"film 1 2\nbad 1 2 3\n", "line 2 has 3 numbers where 2 were expected"),
    "header.vec": (b"1 3\nfilm 1 2\n", "line 2 has 2 numbers where 3 were expected"),
    "words.txt": (b"a 1 2\nfilm one two\n", "line 2: could not convert string to float"),
    "nan.txt": (b"a 1 2\nfilm nan 2\n", "line 2 holds a number that is not finite"),
    "empty.txt": (b"", "line 1: expected a word and its numbers"),
    "word.txt": (b"film\n", "line 1: expected a word and its numbers"),
    "none.txt": (b"x 1 2\n", "has a vector for none of the vocabulary's 4 words"),
    "cut.vec.gz": (gzip.compress(GLOVE * 50)[:-20], "cannot be read .*: copy it again"),
    "plain.txt.gz": (GLOVE, "cannot be read"),
    "a.bin": (b"xx", "of no known format"),
    "bad.npz": (b"xx", "no .npz file of plain arrays 'words' and 'vectors'"),
    "npy.npz": (
        b"\x93NUMPY\x01\x00v\x00{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }".ljust(127)
        + b"\n"
        + bytes(8),
        "no .npz file",
    ),
    "cut.npz": (b"PK\x03\x04", "no .npz file"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_holds_no_vectors_is_named_in_one_line(tmp_path: Path, name: str) -> None:
    content, message = BAD[name]
    with pytest.raises(InputError, match=message) as raised:
        load_vectors(write(tmp_path / name, content), VOCABULARY)
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere.txt is no file"):
        load_vectors(tmp_path / "nowhere.txt", VOCABULARY)


def test_pickled_words_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, words=np.array([None, {}], dtype=object), vectors=np.zeros((2, 2)))
    with pytest.raises(InputError, match=r"no .npz file of plain arrays"):
        load_vectors(path, VOCABULARY)


@pytest.mark.parametrize(("words", "vectors"), [(["film"], np.zeros((2, 2))), ([1], np.zeros((1, 2))), ("film", [1])])
def test_arrays_that_do_not_fit_are_refused(tmp_path: Path, words: object, vectors: object) -> None:
    with pytest.raises(InputError, match="must be text, one word for each row"):
        load_vectors(npz(tmp_path / "a.npz", words, vectors), VOCABULARY)


def test_an_array_with_a_number_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'vectors' holds a number that is not finite"):
        load_vectors(npz(tmp_path / "a.npz", "film", [[1.0, np.nan]]), VOCABULARY)


@pytest.mark.parametrize("content", [b"good 1 2 x\n", b"good\n", b"3 2\ngood 1\n", b"x" * LONGEST + b"\n"])
def test_what_begins_like_no_vectors_is_refused_before_anything_is_begun(tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path / "v.txt", content)
    for read in (lambda: check_vectors(path), lambda: load_vectors(path, VOCABULARY)):
        with pytest.raises(InputError, match=r"v\.txt, line \d"):
            read()
    with pytest.raises(InputError, match=r"v\.txt, line \d"):
        describe_run(vectors=path, embedding=3)


def test_arrays_that_unpack_to_more_than_there_is_room_for_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, words=np.array(["film", "good"]), vectors=np.zeros((2, 50_000_000), np.float32))
    monkeypatch.setattr(vectors_module, "MEMORY", 64 << 20)
    with pytest.raises(InputError, match="GB of memory to read: give a part of it"):
        load_vectors(path, VOCABULARY)
