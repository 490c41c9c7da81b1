from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import ClassVar

import pytest

from attentest.challenges import CHALLENGES
from attentest.errors import InputError, UnknownName
from attentest.explainers import EXPLAINERS
from attentest.explainers.explainer import Explainer
from attentest.registry import Registry, Table, classes_below, name_in_words, text_of


@dataclass(frozen=True)
class Thing:
    name: ClassVar[str] = "thing"
    size: int = 3
    share: float = 0.5
    words: tuple[str, ...] = ("a",)
    on: bool = True


@dataclass(frozen=True)
class Hyphenated(Thing):
    name: ClassVar[str] = "thing-2"


THINGS: Registry[Thing] = Registry("thing", {"thing": Thing, "thing-2": Hyphenated})


@pytest.mark.parametrize(
    "text", ["thing", "thing(size=4)", "thing-2", "thing-2(on=False)", "thing(share=0.25, words=('b', 'c'), on=False)"]
)
def test_text_and_value_are_the_same_thing(text):
    assert text_of(THINGS.parse(text)) == text


def test_defaults_do_not_show_and_whole_numbers_pass_for_shares():
    assert text_of(THINGS.parse("thing(size=3, share=1)")) == "thing(share=1.0)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("thing(size='big')", "must be of type int"),
        ("thing(sice=1)", "Did you mean 'size'"),
        ("thing(1)", "is not a thing"),
        ("thing(size=open('x'))", "is not a thing"),
        ("", "is not a thing"),
        ("thing(", "is not a thing"),
        ("thing(size=1)(size=2)", "is not a thing"),
        ("thing(size=1) + 1", "is not a thing"),
        ("thing(**{})", "is not a thing|has no parameter"),
        ("two words", "is not a thing"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(text, said):
    with pytest.raises(InputError, match=said):
        THINGS.parse(text)


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(UnknownName, match="Did you mean 'thing'"):
        THINGS.parse("thin")
    with pytest.raises(UnknownName, match="Known: thing, thing-2"):
        THINGS.parse("qqqqqq")


def test_entries_of_other_packages_come_last_and_take_no_name_from_ours(monkeypatch):
    points = [EntryPoint(name, "math:pi", "attentest.numbers") for name in ("other", "ours")]
    monkeypatch.setattr("attentest.registry.entry_points", lambda group: [p for p in points if p.group == group])
    numbers: Table[float] = Table("number", {"ours": 1.0})
    assert dict(numbers) == {"ours": 1.0, "other": math.pi}
    assert [numbers.is_own(name) for name in numbers] == [True, False]
    with pytest.raises(UnknownName, match="Did you mean 'other'"):
        numbers["othr"]


@pytest.mark.parametrize(
    ("text", "among", "said"),
    [
        ("integrated_gradients(n_steps=8, tolerance=0.2)", ["gradient"], "integrated gradients"),
        ("integrated_gradients(n_steps=8)", None, "integrated gradients (n steps 8)"),
        ("gradient(path='full')", ["gradient", "gradient(path='full')"], "gradient (path full)"),
        ("gradient", ["gradient", "gradient(path='full')"], "gradient"),
        ("gradient_x_input", None, "gradient × input"),
        ("attention~leave_one_out", None, "attention ↔ leave-one-out"),
        ("attention~gradient(path='full')", None, "attention ↔ gradient (path full)"),
        ("captum(method='Saliency', broken", None, "captum (method='Saliency', broken"),
    ],
)
def test_people_have_one_name_for_a_value(text, among, said):
    assert name_in_words(text, among) == said


def test_no_two_explainers_have_the_same_name_in_words():
    for challenge in map(CHALLENGES.parse, CHALLENGES):
        named = [name_in_words(explainer, challenge.explained_by) for explainer in challenge.explained_by]
        assert len(set(named)) == len(named)
        assert not any(set(name) & set("_='") for name in named)
    assert len({name_in_words(name) for name in EXPLAINERS}) == len(EXPLAINERS)


def test_what_a_package_defines_is_found_and_made_when_it_is_asked_for():
    made = []
    things: Registry[Thing] = Registry("thing", lambda: made.append(1) or {"thing": Thing})
    assert not made
    assert (list(things), things.is_own("thing"), made) == (["thing"], True, [1])
    assert list(CHALLENGES) == sorted(CHALLENGES)
    for name, cls in CHALLENGES.items():
        assert (cls.name, cls.__module__) == (name, f"attentest.challenges.{name}.examine")
    below = classes_below("attentest.explainers", Explainer)
    assert {*below} == {*EXPLAINERS}


def test_the_table_of_challenges_needs_no_torch_before_it_is_asked():
    code = "import sys; from attentest.challenges import CHALLENGES; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
