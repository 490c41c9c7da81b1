from __future__ import annotations

import dataclasses

import pytest

from attentest.data.corpora import CORPORA
from attentest.data.corpora.sst import SST
from attentest.errors import UnknownName


@pytest.mark.parametrize("name", sorted(CORPORA))
def test_every_corpus_is_a_frozen_value_that_says_what_it_is(name: str) -> None:
    source = CORPORA[name]
    assert source.name == name
    assert source.summary
    assert "\n" not in source.summary
    assert source.licence
    assert isinstance(source.citation, str)
    assert source() == source()
    field = next(iter(dataclasses.fields(source)), None)
    assert field is not None
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(source(), field.name, 0)


def test_options_are_written_in_the_name() -> None:
    assert CORPORA.parse("sst(more_than=0, drop_longest=False)") == SST(more_than=0, drop_longest=False)


def test_an_unknown_corpus_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"No corpus is called 'reviws'. Did you mean 'reviews'?"):
        CORPORA.parse("reviws")
