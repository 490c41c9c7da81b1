from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console

from attentest.errors import InputError
from attentest.report.deception.tables import confusion, deception_table, sentence
from attentest.report.deception.twins import LITTLE, SLACK, Twin, Twins

HONEST = Twin("notes", "bilstm", "additive", 0.0, "", 0, "h-0", 0.9, 0.7, 0.1, 0.95, 0.05, {"reason": "yes"})
HIDES = replace(HONEST, weight=1.0, heads="mean", run="d-0", mass=0.01, followed=0.94, answers={"reason": "no"})


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({}, "deceptive"),
        ({"mass": LITTLE + 0.01}, "neither"),
        ({"followed": HONEST.followed - SLACK - 0.01}, "neither"),
        ({"followed": HONEST.followed - SLACK + 0.01}, "deceptive"),
        ({"accuracy": 0.6}, "deceptive"),
    ],
)
def test_a_weight_alone_is_no_deception(change, kind):
    one = replace(HIDES, **change)
    assert Twins((HONEST, one)).kind(one) == kind


def test_a_model_that_uses_none_of_the_words_hides_nothing_with_or_without_a_penalty():
    idle = replace(HONEST, followed=0.3, run="h-1")
    hides = replace(HIDES, followed=0.3)
    assert {Twins((idle, hides)).kind(one) for one in (idle, hides)} == {"neither"}


def test_a_model_is_compared_with_the_twin_of_its_own_seed():
    other = replace(HIDES, seed=1, run="d-1")
    with pytest.raises(InputError, match="d-1 has no twin"):
        Twins((HONEST, other)).kind(other)


def test_misses_are_counted_as_misses():
    missed = replace(HIDES, weight=0.1, run="d-2", answers={"reason": "with care"})
    wronged = replace(HONEST, seed=2, run="h-2", answers={"reason": "no"})
    twins = Twins((HONEST, wronged, missed, HIDES))
    counts = confusion(twins)
    assert counts["deceptive"] == {"no": 1, "with care": 1}
    assert counts["honest"] == {"yes": 1, "no": 1}
    assert "no of 1 of 2 deceptive models" in sentence(twins)
    assert "1 of 2 honest" in sentence(twins)


def test_the_table_has_a_row_for_each_weight_and_says_the_answer_first(capsys):
    highest = replace(HIDES, heads="max", run="d-3")
    Console(width=80, highlight=False).print(deception_table(Twins((HONEST, HIDES, highest))))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("The verdict says no of 2 of 2 deceptive models")
    assert sum("notes · bilstm, additive" in line for line in lines) == 1
    (head,) = [number for number, line in enumerate(lines) if line.split()[:1] == ["λ"]]
    assert [line.split()[0] for line in lines[head + 1 : head + 4]] == ["0", "1", "1"]
    assert "1 (max)" in lines[head + 3]
    assert not any("…" in line for line in lines)


def test_without_a_deceptive_model_the_sentence_says_so():
    assert sentence(Twins((HONEST,))).startswith("No model was deceptive")


def test_models_whose_words_were_never_exchanged_are_not_said_to_be_honest(capsys):
    unknown = replace(HIDES, followed=float("nan"), rest_followed=float("nan"))
    twins = Twins((HONEST, unknown))
    assert sentence(twins).startswith("Whether models deceive cannot be told: for 1 of the 1 that hide")
    Console(width=80, highlight=False).print(deception_table(twins))
    assert "nan" not in capsys.readouterr().out
