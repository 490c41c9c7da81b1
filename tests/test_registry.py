from __future__ import annotations

import dataclasses
import math
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Annotated, ClassVar, get_origin

import pytest

from attentest.catalogue.entries import REGISTRIES
from attentest.challenges import CHALLENGES
from attentest.errors import InputError, UnknownName
from attentest.explainers import EXPLAINERS
from attentest.explainers.explainer import Explainer
from attentest.parameters import SHARE, Several, Within, check_parameter, rules_of
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


@dataclass(frozen=True)
class Bounded:
    """Every kind of rule."""

    name: ClassVar[str] = "bounded"
    draws: Annotated[int, "Draws.", Within(1, 9)] = 3
    share: Annotated[float, "A share.", SHARE] = 0.5
    part: Annotated[float, "A part, or all.", Within(0, 1, without=(0,))] = 0.5
    shift: Annotated[float, "Any but none.", Within(-2, 2, without=(0,))] = 1.0
    words: Annotated[tuple[str, ...], "Words.", Several(1, 2)] = ("a",)
    bins: Annotated[tuple[float, ...], "Shares.", Several(0), SHARE] = (0.5,)
    free: float = 0.0


@dataclass(frozen=True)
class Redeclared(Bounded):
    """Its bounds are its base's."""

    name: ClassVar[str] = "redeclared"
    draws: int = 5


BOUNDED: Registry[Bounded] = Registry("thing", {"bounded": Bounded, "redeclared": Redeclared})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bounded(draws=0)", "bounded: draws=0 must be at least 1."),
        ("bounded(draws=1000000000)", "bounded: draws=1000000000 must be at most 9."),
        ("redeclared(draws=10)", "redeclared: draws=10 must be at most 9."),
        ("bounded(draws=True)", "thing 'bounded': draws=True must be of type int, as the default 3 is."),
        ("bounded(share=1)", "bounded: share=1.0 must lie between 0 and 1."),
        ("bounded(part=0)", "bounded: part=0.0 must be above 0, and at most 1."),
        ("bounded(part=-1)", "bounded: part=-1.0 must be above 0, and at most 1."),
        ("bounded(part=2)", "bounded: part=2.0 must be at most 1."),
        ("bounded(shift=0)", "bounded: shift=0.0 must be a number other than 0."),
        ("bounded(shift=-3)", "bounded: shift=-3.0 must be at least -2."),
        ("bounded(words=())", "bounded: words=() must name at least one."),
        ("bounded(words=('a', 'b', 'c'))", "names 3, and 2 are the most"),
        (
            "bounded(words=(1,))",
            "thing 'bounded': words=(1,) must hold values of type str, as the default ('a',) does.",
        ),
        ("bounded(words='ab')", "words='ab' must be of type tuple"),
        ("bounded(bins=(0.1, 1))", "bounded: bins=(0.1, 1) must lie between 0 and 1."),
        ("bounded(bins=(0.1, None))", "must hold values of type float"),
        ("bounded(free=1e999)", "bounded: free=inf must be a finite number."),
        (f"bounded(free=1{'0' * 400})", "bounded: free=inf must be a finite number."),
        (f"bounded(draws=0x{'f' * 5000})", "bounded: draws=a int must be at most 9."),
        ("bounded(draws=1, draws=2)", "is not a thing"),
        ("bounded(words={[]: 1})", "is not a thing"),
        (f"bounded(words={'(' * 5000})", "is not a thing"),
        (f"bounded(draws={'-' * 50000}1)", "is not a thing"),
    ],
)
def test_a_parameter_is_what_its_declaration_says(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        BOUNDED.parse(text)
    assert said in str(refused.value)
    assert len(str(refused.value)) < 400


def test_what_is_declared_is_taken() -> None:
    text = "bounded(draws=9, part=1, shift=-2, words=('a', 'b'), bins=(), free=3)"
    assert text_of(BOUNDED.parse(text)) == "bounded(draws=9, part=1.0, shift=-2.0, words=('a', 'b'), bins=(), free=3.0)"


def test_reading_a_text_warns_of_nothing(recwarn: pytest.WarningsRecorder) -> None:
    with pytest.raises(InputError):
        BOUNDED.parse(r"bounded(words='C:\data')")
    assert not recwarn.list


@pytest.mark.parametrize("kind", sorted(REGISTRIES))
def test_every_number_that_a_person_may_choose_has_bounds(kind: str) -> None:
    for name, cls in REGISTRIES[kind].items():
        for field, (hint, rules) in rules_of(cls).items():
            if hint in (int, float):
                assert any(isinstance(rule, Within) for rule in rules), f"{kind} {name}: {field} has no bounds"
            if get_origin(hint) is tuple:
                assert any(isinstance(rule, Several) for rule in rules), f"{kind} {name}: {field} may be of any length"
        for field in dataclasses.fields(cls):
            if field.default is not dataclasses.MISSING:
                assert check_parameter(cls, kind, field.name, field.default, field.default) == field.default
