from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attentest.presentation.certificates import OUTCOMES, checks_of, figure


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_a_figure_can_be_read_aloud(value):
    text = figure(value, signed=True)
    assert "e" not in text.replace("not a number", "")
    if math.isfinite(value):
        assert float(text.replace("−", "-")) == pytest.approx(value, rel=0.005, abs=0.0006 if abs(value) < 1000 else 1)
        assert "-" not in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.000"),
        (-0.0004, "0.000"),
        (1.0, "1.00"),
        (-2.345, "−2.35"),
        (12345.6, "12346"),
        (999.9, "1000"),
        (0.0123, "0.0123"),
    ],
)
def test_figures_have_three_digits_that_count(value, text):
    assert figure(value) == text


INTEGRATED = {"completeness_gap": 1e-6, "difference": 4.62, "steps": 50.0, "complete": 1.0}
RELEVANCE = {"bias": 0.3, "symbols": 0.1, "epsilon": 0.001, "conservation_gap": 1e-7}


@pytest.mark.parametrize(
    ("certificate", "outcome", "words"),
    [
        (INTEGRATED, "holds", ["add up", "+4.62", "less than 0.001", "50 steps"]),
        ({**INTEGRATED, "complete": 0.0, "completeness_gap": 0.5}, "fails", ["do not add up", "0.500"]),
        ({**INTEGRATED, "completeness_gap": 0.5}, "fails", ["do not add up", "0.500"]),
        ({**INTEGRATED, "difference": 1e-4, "completeness_gap": 1e-6}, "holds", ["add up"]),
        ({"completeness_gap": 1e-9}, "holds", ["add up"]),
        ({"completeness_gap": 0.2}, "fails", ["do not add up"]),
        ({"summation_gap": 1e-7, "delta": -2.0}, "holds", ["add up", "−2.00"]),
        ({"summation_gap": 0.1, "delta": -2.0}, "fails", ["do not add up"]),
        ({"summation_gap": 9e-4, "delta": 0.02}, "fails", ["do not add up"]),
        (RELEVANCE, "holds", ["words get 60 %", "biases 30 %", "symbols 10 %", "Nothing is missing"]),
        ({**RELEVANCE, "conservation_gap": 0.2}, "fails", ["0.200 is missing"]),
        (
            {**RELEVANCE, "positions": 0.2, "softmax": -0.1},
            "holds",
            ["words get 50 %", "positions 20 %", "constants −10 %"],
        ),
        ({**RELEVANCE, "symbols": 4.2}, "holds", ["nearly cancels"]),
        ({**RELEVANCE, "symbols": -0.001}, "holds", ["symbols 0 %"]),
        ({"exact": 1.0}, "holds", ["exact Shapley"]),
        ({"exact": 0.0}, "note", ["sampled"]),
        ({"fit": 0.87}, "note", ["87 %", "adjusted"]),
        ({"fit": math.nan}, "note", ["too few samples for so many words"]),
        ({"standard_error": 0.012}, "note", ["0.0120"]),
        ({"symmetry_gap": 0.0}, "holds", ["orders"]),
        ({"difference_from_a_loop": 1e-7}, "holds", ["each word out by itself"]),
        ({"difference_from_a_loop": 0.0, "words_in_the_loop": 100.0}, "holds", ["tried on 100 words"]),
        ({"difference_from_a_loop": 0.2}, "fails", ["20 %"]),
        ({"difference_when_repeated": 0.0}, "holds", ["The same scores"]),
        ({"difference_when_repeated": 0.0, "seed": 0.0}, "holds", ["with the same seed"]),
        ({"difference_when_repeated": 0.03}, "fails", ["3 %"]),
        ({"difference_when_alone": 0.0}, "holds", ["by itself and among others"]),
        ({"difference_when_alone": 0.5}, "fails", ["50 %"]),
        ({"completeness_gap": math.nan}, "note", ["Completeness gap: not a number"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_a_certificate_says_in_a_sentence_whether_the_promise_holds(certificate, outcome, words):
    (check,) = checks_of(certificate)
    assert check.outcome == outcome
    for word in words:
        assert word in check.words


@pytest.mark.parametrize("exact", [0.0, 1.0])
def test_a_sum_that_a_constraint_imposes_is_no_proof_and_exact_values_need_no_seed(exact):
    shapley = {"completeness_gap": 1e-12, "fit": 0.9, "exact": exact, "difference_when_repeated": 0.0, "seed": 0.0}
    total, _, fit, repeated = checks_of(shapley)
    assert (total.outcome, "made to add up" in total.words) == ("note", True)
    assert ("adjusted" in fit.words) == ("same seed" in repeated.words) == (not exact)
    assert checks_of({**shapley, "completeness_gap": 0.2})[0].outcome == "fails"


def test_nothing_that_an_explainer_says_of_itself_is_lost():
    (check,) = checks_of({"made_up_share": 0.25})
    assert (check.outcome, check.words) == ("note", "Made up share: 0.250.")


def test_every_outcome_has_a_sign_of_its_own():
    assert len({sign for sign, _ in OUTCOMES.values()}) == len(OUTCOMES)
