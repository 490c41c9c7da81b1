from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from attentest.challenges.alignment.figures import alignment_map, heat_map, shown_sentence
from attentest.presentation.charts import svg
from attentest.store.findings import Findings

WORDS = ("a", "dog", "runs", "fast", "here", "now", "and", "then", "he", "sits")


def findings(errors: dict[str, int], length: int = 9) -> Findings:
    """Sentences with so many errors each; attention is diagonal."""
    rows = []
    for sentence, wrong in errors.items():
        for step in range(length + 1):
            end = step == length
            hit = None if end else int(step >= wrong)
            at = min(step, length - 1)
            rows.append(
                {
                    "sentence": sentence,
                    "step": step,
                    "word": None if end else f"w{step}",
                    "explainer": "attention",
                    "proposed": None if end else 1,
                    "errors": None if hit is None else 2 - 2 * hit,
                    "total": None if end else 2,
                    "tokens": WORDS[:length],
                    "linked": [s == at for s in range(length)],
                    "scores": [float(s == at) for s in range(length)],
                    "not_judged": "end of the sentence" if end else None,
                }
            )
    return Findings("alignment", (), pa.Table.from_pylist(rows))


def test_the_sentence_shown_is_the_one_in_the_middle() -> None:
    assert shown_sentence(findings({"c": 9, "e": 0, "h": 4, "i": 2, "a": 7})) == "h"
    assert shown_sentence(findings({"c": 1}, length=2)) == "c"
    assert shown_sentence(Findings("alignment", (), findings({"c": 1}).table.slice(0, 0))) is None


@pytest.mark.slow
def test_every_word_and_every_given_link_is_drawn() -> None:
    drawn = svg(alignment_map(findings({"d": 2}), "d"))
    for word in (*WORDS[:9], *(f"w{step}" for step in range(9)), "given link", "highest score", "attention"):
        assert f">{word}</text>" in drawn
    assert drawn.count('stroke="#D55E00"') == 9 + 1


def test_words_that_look_like_code_are_words() -> None:
    words = ["'];alert(1)//", '"\\', "\u202e</svg>", "a", "a"]
    drawn = svg(heat_map(words, ["x"], np.full((1, 5), 0.2), np.zeros((1, 5), bool)))
    assert "alert(1)//" in drawn
    assert "</svg>" not in drawn.removesuffix("</svg>").rstrip().removesuffix("</svg>")
    assert "\u202e" not in drawn


def test_scores_that_are_not_weights_are_shown_beside_the_highest_of_their_word() -> None:
    scores = np.array([[0.0, 4.0, 1.0], [0.0, 0.0, 0.0]])
    made = heat_map(["a", "b", "c"], ["x", "y"], scores, np.zeros((2, 3), bool), "gradient").to_dict()
    cells = next(d["values"] for d in [layer["data"] for layer in made["layer"]] if "score" in d["values"][0])
    assert [cell["score"] for cell in cells] == [0, 1, 0.25, 0, 0, 0]
    assert "gradient, of the highest" in json.dumps(made)


@pytest.mark.parametrize("size", [1, 40])
def test_any_length_can_be_drawn(size: int) -> None:
    weights = np.full((size, size), 1 / size)
    assert svg(heat_map(["word"] * size, ["Wort"] * size, weights, np.eye(size, dtype=bool))).startswith("<svg")
