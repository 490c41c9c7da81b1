"""What lies outside of what was calibrated is said, and one way of taking words out decides nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import attentest
from attentest.calibration.hand_built import Mechanism, built
from attentest.calibration.mechanisms import OnDeciding, Own
from attentest.data.vocabulary import Vocabulary
from attentest.data.worlds.simple import Keyword
from attentest.presentation.calibrated import calibrated

WORLD = Keyword(train=60, dev=5, test=60)


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, attentest.Audit]:
    """A faithful model, asked as usual, in one way only, and with few orders."""
    corpus = WORLD.load()
    subject = built(Mechanism(Own(), OnDeciding(sharp=8.0)), WORLD, Vocabulary.from_split(corpus["train"]))
    asked = ("importance", "importance(erasures=('mask',))", "importance(orders=4)")
    runs = tmp_path_factory.mktemp("runs")
    texts = [" ".join(text.words) for text in WORLD.texts()]
    labels = [text.label for text in WORLD.texts()]
    return {
        one: attentest.audit(
            subject, texts=texts, labels=labels, classes=corpus.classes, challenges=[one], runs=runs / str(place)
        )
        for place, one in enumerate(asked)
    }


def test_both_ways_of_taking_words_out_are_needed(audits: dict[str, attentest.Audit]) -> None:
    usual, alone, _ = audits.values()
    assert [goal.answer for goal in usual.verdict.goals] == ["yes", "yes", "yes"]
    assert [goal.answer for goal in alone.verdict.goals] == ["cannot say"] * 3
    assert alone.verdict.goals[0].why == "It decides only with delete among the erasures of importance."


def test_importance_with_fewer_orders_than_were_calibrated_has_no_known_error(
    audits: dict[str, attentest.Audit],
) -> None:
    usual, _, few = audits.values()
    assert usual.verdict.outside == ()
    assert usual.verdict.goals[0].error
    assert few.verdict.outside == ("importance with orders=4, calibrated with 12 or more",)
    assert not few.verdict.goals[0].error


def test_the_readme_names_as_many_models_as_were_calibrated() -> None:
    readme = (Path(__file__).parents[3] / "README.md").read_text("utf-8")
    assert f"{calibrated().members} models of known truth" in readme
