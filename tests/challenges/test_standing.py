"""Standing: the share of what a state says that its own word decides."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.challenges.test_scale import asked

from attentest.calibration.hand_built import Mechanism
from attentest.calibration.mechanisms import Leaked, OnDeciding, Own, Uniform
from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Examination
from attentest.challenges.standing.examine import Standing
from attentest.errors import InputError
from attentest.explainers.drawn_words import Continuations


def share(examination: Examination, **about: int) -> float:
    table = Standing(**about).examine(examination).to_pandas()
    return float(table["own"].sum() / table["total"].sum())


@pytest.mark.parametrize("bend", [None, torch.tanh], ids=["affine", "bent"])
def test_a_state_that_knows_of_no_other_word_stands_for_its_own(bend) -> None:
    table = Standing().examine(asked(Mechanism(Own(), OnDeciding()), bend=bend)).to_pandas()
    judged = table["not_judged"].isna()
    assert judged.sum() >= 10
    assert table["share"][judged].to_numpy() == pytest.approx(np.ones(judged.sum()), abs=1e-6)


def test_it_is_the_same_for_flat_and_for_peaked_attention() -> None:
    """States hold 5 % of their own word; what `stands` told of them ran from .10 (peaked) to 1.00 (flat)."""
    looks = (Uniform(), OnDeciding(sharp=1.0), OnDeciding(sharp=8.0))
    found = [share(asked(Mechanism(Leaked(share=0.95), look)), draws=8) for look in looks]
    assert found[0] < 0.2
    assert found[1:] == pytest.approx([found[0]] * 2, abs=1e-6)


def test_it_falls_with_what_a_state_holds_of_its_word_and_ends_where_all_hold_the_same() -> None:
    found = [share(asked(Mechanism(Leaked(share=part), OnDeciding())), draws=8) for part in (0.0, 0.5, 0.8, 1.0)]
    assert found == sorted(found, reverse=True)
    assert found[0] == pytest.approx(1.0)
    assert abs(found[-1]) < 0.2


def test_it_depends_neither_on_temperature_nor_on_bias_nor_on_the_batch() -> None:
    mechanism = Mechanism(Leaked(share=0.8), OnDeciding())
    usual = share(asked(mechanism))
    assert share(asked(mechanism, scale=60.0)) == pytest.approx(usual, rel=1e-4)
    assert share(asked(mechanism, scale=0.06)) == pytest.approx(usual, rel=1e-3)
    assert share(asked(mechanism, bias=3.0)) == pytest.approx(usual, rel=1e-4)
    together = asked(mechanism)
    whole = Standing().examine(together)["share"].to_numpy()
    part = together.batch[:3].narrowed(int(together.batch.text.lengths[:3].max()))
    few = Examination(
        *(together.subject, part, together.subject.read(part), 0, together.tokens[:3]),
        continuations=Continuations.of(together.batch),
    )
    assert Standing().examine(few)["share"].to_numpy() == pytest.approx(whole[:3], rel=1e-4)


def test_a_model_that_hears_no_word_is_not_judged() -> None:
    table = Standing().examine(asked(Mechanism(Own(), OnDeciding()), scale=0.0)).to_pandas()
    assert set(table["not_judged"]) == {"no word changes a state"}


@pytest.mark.parametrize("text", ["draws=0", "words=0", "texts=-1"])
def test_parameters_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        CHALLENGES.parse(f"standing({text})")
