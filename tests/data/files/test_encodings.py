"""A file is read in the encoding that was named, or in the one it looks like; a guess is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attentest.data.files.encodings import decoded
from attentest.data.files.to_corpus import corpus_from_files
from attentest.errors import InputError

FRENCH = "text,label\nLe café était très bon,1\nDéçu… “mal fait”,0\n"
CHINESE = "text,label\n这部电影很好看,1\n那本书不太好看,0\n"
PATH = Path("reviews.csv")


@pytest.mark.parametrize(
    ("encoding", "guessed"),
    [
        ("utf-8", ""),
        ("utf-8-sig", ""),
        ("utf-16", ""),
        ("utf-32", ""),
        ("utf-16-le", "UTF-16-LE"),
        ("utf-16-be", "UTF-16-BE"),
        ("cp1252", "Windows-1252 (Latin-1)"),
    ],
)
def test_the_encoding_is_found_and_a_guess_is_said(encoding: str, guessed: str) -> None:
    text, note = decoded(PATH, FRENCH.encode(encoding))
    assert text == FRENCH
    assert note.startswith(f"reviews.csv: read as {guessed}, which was guessed" if guessed else "")
    assert bool(note) == bool(guessed)


@pytest.mark.parametrize("encoding", ["gb18030", "shift_jis", "utf-16-be"])
def test_a_named_encoding_is_taken_and_no_other(encoding: str) -> None:
    text = CHINESE.replace("这", "此").replace("电", "電").replace("书", "書") if encoding == "shift_jis" else CHINESE
    assert decoded(PATH, text.encode(encoding, "ignore"), encoding) == (
        text.encode(encoding, "ignore").decode(encoding),
        "",
    )
    with pytest.raises(InputError, match=r"is not ASCII: byte .* \(line \d\) cannot be decoded"):
        decoded(PATH, text.encode("utf-8"), "ascii")


@pytest.mark.parametrize("encoding", ["gb18030", "cp1251", "shift_jis"])
def test_what_is_no_western_text_is_not_guessed_to_be(encoding: str) -> None:
    text = "text,label\nЭтот фильм очень хорош,1\n" if encoding == "cp1251" else CHINESE
    with pytest.raises(InputError, match=r"or name its encoding \(--encoding"):
        decoded(PATH, text.encode(encoding, "ignore"))


def test_an_unknown_encoding_is_named() -> None:
    with pytest.raises(InputError, match="No encoding is called 'latin-9000'"):
        decoded(PATH, b"", "latin-9000")


@given(st.binary(max_size=300))
def test_any_bytes_are_text_or_an_input_error(content: bytes) -> None:
    try:
        text, _ = decoded(PATH, content)
    except InputError:
        return
    assert "\0" not in text


def test_a_corpus_says_how_its_file_was_read(tmp_path: Path) -> None:
    rows = "".join(f"café {n} était {('mauvais', 'bon')[n % 2]},{n % 2}\n" for n in range(40))
    path = tmp_path / "avis.csv"
    path.write_bytes(f"text,label\n{rows}".encode("latin-1"))
    corpus = corpus_from_files(path)
    assert [note.partition(",")[0] for note in corpus.provenance.notes] == ["avis.csv: read as Windows-1252 (Latin-1)"]
    assert corpus_from_files(path, encoding="latin-1").provenance.notes == ()
    assert corpus_from_files(path, encoding="latin-1").digest == corpus.digest
