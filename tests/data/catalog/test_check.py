from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.made_up_corpus import Toy, rows_file, toy_rows

from attentest.data.catalog.check import recount
from attentest.data.catalog.presets import names_of, with_preset
from attentest.data.corpora.declared import Expected
from attentest.errors import InputError, UnknownName


def test_every_figure_of_the_preparation_is_counted_again(toy: Path) -> None:
    lines = {line.expected.what: line for line in recount(Toy())}
    assert set(lines) == {"rows", "instances", "class bad", "vocabulary", "average length"}
    assert lines["rows"].agrees
    assert lines["instances"].ours == 6
    assert (lines["class bad"].ours, lines["class bad"].agrees, lines["class bad"].reason) == (3, False, "a reason")
    assert lines["average length"].agrees, "(3 + 7 + 1 + 3 + 4 + 4) / 6 = 3.67 is 3 when cut"
    assert lines["vocabulary"].reason == "not explained"
    assert lines["vocabulary"].ours == 4 + len({w for row in toy_rows("train") for w in row["text"].split()})


def test_a_preset_has_figures_of_its_own(toy: Path) -> None:
    lines = {line.expected.what: line for line in recount(with_preset(Toy, "shouting"))}
    assert lines["class good"].agrees
    assert "class bad" not in lines


def test_options_that_are_no_preset_have_only_the_figures_of_all(toy: Path) -> None:
    assert names_of(Toy(marked=True)) == ()
    assert not [line for line in recount(Toy(marked=True)) if line.expected.presets]


def test_a_split_that_is_not_here_is_said_to_be_missing(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Toy, "expected", (Expected("dev", "instances", 3, "us"), Expected("dev", "rows", 3, "us")))
    assert [line.reason for line in recount(Toy())] == ["dev is not on this machine"] * 2


def test_a_partial_corpus_is_the_reason_where_there_is_no_other(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import dataclasses

    rows_file(toy / "train.jsonl.gz", toy_rows("train", 4))
    whole = Toy.prepare
    monkeypatch.setattr(Toy, "prepare", lambda s, rows: dataclasses.replace(whole(s, rows), partial="train: 4 of 6"))
    lines = {line.expected.what: line for line in recount(Toy())}
    assert lines["instances"].reason == "train: 4 of 6"


def test_a_figure_that_cannot_be_counted_is_a_fault_of_the_declaration(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Toy, "expected", (Expected("train", "class ugly", 3, "us"),))
    with pytest.raises(InputError, match=r"expects a figure 'class ugly', which cannot be counted"):
        recount(Toy())


def test_presets_are_known_by_name() -> None:
    assert with_preset(Toy, "paper") == with_preset(Toy, "released") == Toy()
    assert names_of(Toy()) == ("paper", "released")
    assert names_of(Toy(upper=True)) == ("shouting",)
    with pytest.raises(UnknownName, match=r"No preset of corpus 'toy' is called 'shoutin'. Did you mean 'shouting'"):
        with_preset(Toy, "shoutin")
