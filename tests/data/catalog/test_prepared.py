from __future__ import annotations

import errno
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.data.made_up_corpus import Toy, official, rows_file, toy_rows

from attentest.data.batches import Encoded
from attentest.data.catalog import cache, prepared
from attentest.data.catalog.installing import get
from attentest.data.catalog.prepared import load_prepared, pack, prepared_folder
from attentest.data.corpora.declared import Instance, Prepared
from attentest.data.corpus import Corpus, Provenance, Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError, StorageError


def test_a_prepared_corpus_holds_what_was_declared(toy: Path) -> None:
    corpus = load_prepared(Toy())
    assert corpus["train"].ids == [f"train-{i}" for i in range(6)]
    assert corpus["train"].table["tokens"][0].as_py() == ["a", "fine", "film"]
    assert corpus["test"].labels.tolist() == [0, 1, 0, 1, 0, 1]
    assert corpus.classes == ("bad", "good")
    assert corpus.provenance.source == "https://example.org/toy"
    assert corpus.provenance.left_out == ("train: 0 texts left out", "test: 0 texts left out")
    assert not corpus["train"].has("second")


def test_the_second_time_nothing_is_prepared_and_no_token_is_read(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_prepared(Toy())

    def refuse(*_: Any) -> Any:
        raise AssertionError("prepared again")

    monkeypatch.setattr(Toy, "prepare", refuse)
    monkeypatch.setattr(cache, "computed_sum", refuse)
    monkeypatch.setattr("attentest.data.corpus.flat_bytes", refuse)
    again = load_prepared(Toy())
    assert again.digest == first.digest
    assert again["train"].table.equals(first["train"].table)


def test_the_digest_is_the_one_the_corpus_itself_computes(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "BATCH", 2)
    corpus = load_prepared(Toy(marked=True))
    plain = {name: Split(split.table.combine_chunks()) for name, split in corpus.splits.items()}
    assert corpus["train"].table["tokens"].num_chunks == 3
    own = Corpus(corpus.name, corpus.classes, plain, corpus.provenance, corpus.task, corpus.min_frequency)
    assert own.digest == corpus.digest


def test_other_rows_other_options_and_other_code_are_prepared_anew(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = prepared_folder(Toy())
    assert prepared_folder(Toy(upper=True)) != first
    load_prepared(Toy())
    rows_file(toy / "train.jsonl.gz", toy_rows("train", 5))
    second = prepared_folder(Toy())
    assert second != first
    assert len(load_prepared(Toy())["train"]) == 5
    assert not first.exists(), "what other rows made is superseded"
    monkeypatch.setattr(prepared, "PREPARATION", -1)
    assert prepared_folder(Toy()) != second


@pytest.mark.parametrize("damage", ["cut", "gone", "record", "empty record", "folder"])
def test_a_damaged_cache_is_prepared_anew(toy: Path, damage: str) -> None:
    digest = load_prepared(Toy()).digest
    folder = prepared_folder(Toy())
    split = folder / "train.arrow"
    if damage == "cut":
        split.write_bytes(split.read_bytes()[:-100])
    elif damage == "gone":
        split.unlink()
    elif damage == "folder":
        split.unlink()
        split.mkdir()
    else:
        (folder / "corpus.json").write_text("{}" if damage == "empty record" else "{", encoding="utf-8")
    assert load_prepared(Toy()).digest == digest
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_any_flipped_bit_in_the_cache_is_noticed(toy: Path) -> None:
    whole = load_prepared(Toy())
    path = prepared_folder(Toy()) / "train.arrow"
    content = path.read_bytes()
    random = np.random.default_rng(0)
    for place in random.integers(0, len(content), 20):
        broken = bytearray(content)
        broken[place] ^= 1 << int(random.integers(0, 8))
        path.write_bytes(bytes(broken))
        assert load_prepared(Toy())["train"].table.equals(whole["train"].table)


@pytest.mark.slow
def test_two_processes_at_once_both_get_it(toy: Path) -> None:
    code = "from tests.data.made_up_corpus import Toy; print(Toy().load().digest)"
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(2)]
    said = {process.communicate(timeout=120)[0] for process in both}
    assert said == {f"{load_prepared(Toy()).digest}\n".encode()}
    assert len(list(prepared_folder(Toy()).parent.iterdir())) == 1


def test_a_folder_that_came_in_between_is_taken(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = prepared.write_splits

    def slow(declared: Any, made: Any, folder: Path, progress: Any) -> dict[str, Any]:
        record = written(declared, made, folder, progress)
        monkeypatch.setattr(prepared, "write_splits", written)
        load_prepared(Toy())  # another process, meanwhile
        return record

    monkeypatch.setattr(prepared, "write_splits", slow)
    assert len(load_prepared(Toy())["train"]) == 6
    assert len(list(prepared_folder(Toy()).parent.iterdir())) == 1


def test_a_full_disk_is_named_and_leaves_nothing(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pa, "OSFile", full)
    with pytest.raises(StorageError, match=r"Cannot write the prepared corpus 'toy' .*No space left.*ATTENTEST_CACHE"):
        load_prepared(Toy())
    assert not list(prepared_folder(Toy()).parent.iterdir())


def test_an_interruption_leaves_nothing(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Toy, "read_instances", interrupted)
    with pytest.raises(KeyboardInterrupt):
        load_prepared(Toy())
    assert not list(prepared_folder(Toy()).parent.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "work"),
    [
        ("read_instances", "Toy().load()"),
        ("read_rows", "get(Toy(), from_folder=Path(sys.argv[1]))"),
    ],
)
def test_what_a_killed_process_left_goes(toy: Path, places: Path, moment: str, work: str) -> None:
    """Killed while it prepares, or while it takes rows from an official folder; the same again leaves nothing."""
    folder = official(places / "official")
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom tests.data.made_up_corpus import Toy\n"
        f"from attentest.data.catalog.installing import get\nToy.{moment} = lambda *_: os._exit(9)\n{work}"
    )
    assert subprocess.run([sys.executable, "-c", code, str(folder)], check=False).returncode == 9
    assert len(list(places.rglob(".*.part"))) == 1
    get(Toy(), from_folder=folder)
    load_prepared(Toy())
    assert not list(places.rglob(".*.part"))


@pytest.mark.parametrize(
    ("instance", "said"),
    [
        (Instance("a", [], 0), "has no tokens"),
        (Instance("a", ["w"], 2), "has the label 2, which is none of the 2 classes"),
        (Instance("a", ["w"], 0, rationale=[True, False]), "has 2 marks for 1 tokens"),
        (Instance("a", ["w"], 0, annotations=[[True], [True, False]]), "has 2 marks of one person for 1 tokens"),
        (Instance("z", ["w"], 0), "has an id that another one has"),
    ],
)
def test_an_instance_that_cannot_be_used_is_named(
    toy: Path, monkeypatch: pytest.MonkeyPatch, instance: Instance, said: str
) -> None:
    first = Instance("z", ["w"], 0)
    monkeypatch.setattr(Toy, "prepare", lambda self, rows: Prepared({"train": [first, instance]}, ("x", "y"), "none"))
    with pytest.raises(InputError, match=f"Corpus 'toy', train: instance '{instance.id}' {said}"):
        load_prepared(Toy())


def test_texts_without_marks_and_columns_nobody_uses(toy: Path) -> None:
    corpus = load_prepared(Toy(marked=True))
    assert corpus["train"].table.column_names == ["id", "tokens", "label", "rationale"]
    marks = corpus["train"].table["rationale"].to_pylist()
    assert marks[0] == [False, True, False]
    assert marks[2] is None
    assert json.loads((prepared_folder(Toy(marked=True)) / "corpus.json").read_text())["text"] == "toy(marked=True)"


def test_what_each_person_marked_is_kept_and_decides_the_digest(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    each = [[[True, False], [False, True]], [[True], [True], [False]], None, []]

    def prepare(people: list[Any]) -> Any:
        texts = [["a", "b"], ["c"], ["d", "e"], ["f"]]
        instances = [Instance(f"t-{i}", texts[i], 0, annotations=people[i]) for i in range(4)]
        return lambda self, rows: Prepared({"train": instances}, ("x", "y"), "none")

    digests = set()
    for number, people in enumerate((each, [[[True, False], [True, True]], *each[1:]], [None] * 4)):
        monkeypatch.setattr(prepared, "PREPARATION", -number)
        monkeypatch.setattr(prepared, "BATCH", 3)
        monkeypatch.setattr(Toy, "prepare", prepare(people))
        corpus = load_prepared(Toy())
        digests.add(corpus.digest)
        assert corpus["train"].has("annotations") == any(one is not None for one in people)
        if number < 2:
            assert corpus["train"].table["annotations"].to_pylist() == people
        plain = {"train": Split(corpus["train"].table.combine_chunks())}
        own = Corpus(corpus.name, corpus.classes, plain, corpus.provenance, corpus.task, corpus.min_frequency)
        assert own.digest == corpus.digest
    assert len(digests) == 3


def test_the_digest_of_a_corpus_without_each_persons_marks_is_what_it_always_was() -> None:
    split = Split.of(["a", "b"], [["w", "x"], ["y"]], [0, 1], rationale=[[True, False], [True]])
    corpus = Corpus("pinned", ("no", "yes"), {"train": split}, Provenance("made up", "none"))
    hashed = hashlib.sha256(repr(("pinned", ("no", "yes"), "single", 1)).encode() + b"train")
    lengths = np.array([2, 1], np.int32).tobytes()
    hashed.update(b"a\x1fb" + lengths + b"w\x1fx\x1fy" + np.array([0, 1], np.int32).tobytes())
    hashed.update(lengths + b"\x01\x00\x01")
    assert corpus.digest == hashed.hexdigest()[:16]


# ── what reads a corpus takes it in batches ──


@pytest.fixture
def cut(toy: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Split, Split]:
    """The same split in batches of two and in one piece."""
    monkeypatch.setattr(prepared, "BATCH", 2)
    split = load_prepared(Toy(marked=True))["train"]
    return split, Split(split.table.combine_chunks())


def test_vocabulary_and_encoding_do_not_depend_on_batches(cut: tuple[Split, Split]) -> None:
    vocabularies = [Vocabulary.from_split(split, 2) for split in cut]
    assert vocabularies[0] == vocabularies[1]
    first, second = (Encoded.of(split, vocabularies[0]) for split in cut)
    np.testing.assert_array_equal(first.text[0], second.text[0])
    np.testing.assert_array_equal(first.text[1], second.text[1])


@pytest.mark.parametrize("rows", [[0, 1, 2], [5, 0, 3], [4, 4, 1], [], [5]])
def test_taking_rows_does_not_depend_on_batches(cut: tuple[Split, Split], rows: list[int]) -> None:
    split, whole = cut
    taken = split.take(rows)
    assert taken.ids == [whole.ids[row] for row in rows]
    assert taken.table["rationale"].to_pylist() == [whole.table["rationale"][row].as_py() for row in rows]
    assert taken.table["tokens"].num_chunks <= 1 or rows


def test_a_pack_serves_as_data_folder_without_rows_and_tokenizer(
    toy: Path, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = {text: load_prepared(corpus) for text, corpus in (("plain", Toy()), ("upper", Toy(upper=True)))}
    pack([Toy(), Toy(upper=True)], places / "packed")
    monkeypatch.setenv("ATTENTEST_DATA", str(places / "packed"))
    monkeypatch.setenv("ATTENTEST_CACHE", str(places / "empty"))

    def refuse(*_: Any) -> Any:
        raise AssertionError("prepared again")

    monkeypatch.setattr(Toy, "prepare", refuse)
    for text, corpus in (("plain", Toy()), ("upper", Toy(upper=True))):
        there = load_prepared(corpus)
        assert there.digest == here[text].digest
        assert there["train"].table.equals(here[text]["train"].table)
    with pytest.raises(InputError, match="not on this machine"):
        load_prepared(Toy(marked=True))


@pytest.mark.parametrize("damage", ["index", "split"])
def test_a_damaged_pack_is_named(toy: Path, places: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    pack([Toy()], places / "packed")
    monkeypatch.setenv("ATTENTEST_DATA", str(places / "packed"))
    if damage == "index":
        (places / "packed" / "prepared" / "index.json").write_text("{")
    else:
        (split,) = places.glob("packed/prepared/*/train.arrow")
        split.write_bytes(split.read_bytes()[:-7] + b"altered")
    with pytest.raises(InputError, match=r"[Pp]ack it again|[Pp]ack the corpora again"):
        load_prepared(Toy())
