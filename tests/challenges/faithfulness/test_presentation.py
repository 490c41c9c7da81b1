from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.report.pages.test_run import Outline
from tests.runs.test_run import small

from attentest.challenges.faithfulness.comparison import MARKS, RANDOM, Compared
from attentest.challenges.faithfulness.examine import MARKS as WRITTEN
from attentest.challenges.faithfulness.examine import Faithfulness
from attentest.challenges.faithfulness.figures import faithfulness_overview
from attentest.challenges.faithfulness.presentation import saliency_line, saliency_table
from attentest.presentation.charts import svg
from attentest.report.pages.run import page
from attentest.report.verdict.judge import judge
from attentest.runs.execute import execute
from attentest.store.findings import Findings

#: As the challenge has them.
SIGNED, MADE = ("lrp", "occlusion"), ("occlusion", "leave_one_out")


def findings(
    count: int = 200, chance: float = 0.2, missing: int = 0, beaten: float = 0.1, **means: float | tuple[float, ...]
) -> Findings:
    """Explainers with these means (one for each way of erasing), the texts' own levels shared by all of them."""
    rng = np.random.default_rng(0)
    level = rng.normal(0, 0.1, count)
    tables = []
    for name, given in means.items():
        for way, mean in zip(("delete", "mask"), given if isinstance(given, tuple) else (given,), strict=False):
            removed = np.clip(mean + level + rng.normal(0, 0.02, count), 0, 1)
            judged = np.arange(count) >= missing
            columns = {
                "normalised_comprehensiveness": removed,
                "normalised_sufficiency": removed,
                "until_flip": 1 - removed,
            }
            random = np.clip(chance + level, 0, 1)
            tables.append(
                pa.table(
                    {
                        "id": [f"text-{i}" for i in range(count)],
                        "explainer": [name] * count,
                        "erasure": [way] * count,
                        "signed": [name in SIGNED] * count,
                        "made_of_erasure": [name in MADE] * count,
                        "search_beaten": pa.array(np.arange(count) >= count * (1 - beaten), mask=~judged),
                        **{c: pa.array(v, mask=~judged) for c, v in columns.items()},
                        **{f"random_{c}": pa.array(random, mask=~judged) for c in columns},
                        "flipped": pa.array(removed > 0.3, mask=~judged),
                        "predicted": pa.array([0] * count, pa.int32()),
                        "not_judged": pa.array([None if ok else "fewer than two tokens" for ok in judged], pa.string()),
                    }
                )
            )
    return Findings("faithfulness", (), pa.concat_tables(tables))


@pytest.mark.parametrize(
    ("attention", "tone"),
    [(0.78, "supports"), (0.5, "mixed"), (0.25, "against"), (0.1, "against"), (0.65, "unsettled")],
)
def test_the_line_says_where_attention_lies_between_chance_and_the_best_explainer(attention, tone):
    line = saliency_line(findings(attention=attention, gradient_norm=0.8, gradient=0.4))
    assert line.tone == tone
    assert line.estimate.value == pytest.approx((attention - 0.2) / 0.6, abs=0.03)
    assert line.estimate.low < line.estimate.value < line.estimate.high
    assert "gradient norm 0.80" in line.reading
    assert "a random order 0.20" in line.reading
    assert line.reading.endswith(".")
    assert line.about == "tokens"


def test_a_better_attention_than_every_explainer_ranks_first():
    line = saliency_line(findings(attention=0.9, gradient_norm=0.7, gradient=0.4))
    assert line.tone == "supports"
    assert line.estimate.value > 1
    assert "Attention ranks 1 of 4" in line.reading
    assert "none is significantly better" in line.reading


@pytest.mark.parametrize(
    ("attention", "words"), [(0.9, "more than"), (0.8, "about as much as"), (0.7, "nearly as much as")]
)
def test_as_much_is_said_only_where_the_interval_holds_it(attention, words):
    line = saliency_line(findings(attention=attention, gradient_norm=0.8, gradient=0.4))
    assert line.tone == "supports"
    assert f"puts first does {words} for gradient norm" in line.reading


def test_those_surely_better_are_named():
    line = saliency_line(findings(attention=0.5, gradient_norm=0.7, occlusion=0.8, gradient=0.4))
    assert "significantly better: gradient norm; occlusion (based on erasure)." in line.reading
    assert "Attention ranks 3 of 5" in line.reading


def test_where_no_explainer_beats_chance_nothing_is_settled():
    line = saliency_line(findings(attention=0.2, gradient_norm=0.2))
    assert line.tone == "unsettled"
    assert "No comparable explainer does more than erasing words at random" in line.reading


@pytest.mark.parametrize("count", [20, 200])
def test_a_share_of_no_way_at_all_is_not_shown(count):
    """Attention outdoes chance a little, and the best of its like by nothing: the ratio of the two is 20 or 200."""
    line = saliency_line(findings(count, attention=0.24, gradient_norm=0.2))
    assert "of the way" not in line.result
    assert line.estimate.value == pytest.approx(0.24, abs=0.03)
    assert line.estimate.low < line.estimate.value < line.estimate.high
    assert (line.estimate.judged, line.tone) == (count, "unsettled")
    assert line.result.endswith("a random order 0.200") or "a random order 0." in line.result


def test_signed_explainers_and_those_made_of_erasing_are_ranked_but_not_compared_with():
    found = findings(attention=0.5, gradient=0.55, lrp=0.9, leave_one_out=0.8, occlusion=0.95)
    assert Compared.of(found).fair == ["gradient"]
    line = saliency_line(found)
    assert line.tone == "mixed", "as good as its like, and worse than one that knows the sign"
    assert "find significantly more: lrp." in line.reading
    assert line.estimate.value == pytest.approx(0.3 / 0.35, abs=0.03)
    assert "to gradient" in line.result
    assert line.better == ("occlusion", "lrp", "leave-one-out", "gradient")
    assert line.rival is not None
    assert (line.rival.name, line.rival.ahead) == ("lrp", True)  # the best that is not made of erasing
    assert line.rival.estimate.value > line.rival.attention.value
    table = saliency_table(found)
    assert {row["words"]: row["kind"] for row in table["rows"]} == {
        "occlusion": "±e", "lrp": "±", "leave-one-out": "e", "gradient": "", "attention": "", RANDOM: ""
    }  # fmt: skip
    assert "nearly the criterion itself" in table["unfair"]
    assert "taken to the best of those that are neither" in table["unfair"]
    assert {row["beside"] for row in table["rows"] if row["kind"]} == {"significantly better"}
    assert "significantly better: gradient; lrp (signed); leave-one-out, occlusion (based on erasure)." in line.reading


def test_without_a_fair_comparison_the_line_is_context_and_is_not_weighed():
    found = findings(attention=0.25, lrp=0.9, leave_one_out=0.8)
    line = saliency_line(found)
    assert line.tone == "context"
    assert "does not count" in line.reading
    assert "is not weighed" in saliency_table(found)["unfair"]
    older = Findings("faithfulness", (), found.table.drop_columns(["signed", "made_of_erasure"]))
    assert saliency_line(older).tone == "context"


def test_limits_are_called_what_was_found_and_relative_where_explainers_set_them():
    seldom, often = (saliency_line(findings(attention=0.5, gradient=0.6, beaten=b)).reading for b in (0.1, 0.7))
    assert "the most (1) that was found" in seldom
    assert "in 10 % of texts an explainer outdoes the search" in seldom
    assert "Relative to the methods listed" not in seldom
    assert "Relative to the methods listed" in often
    assert "in 70 % of texts" in saliency_table(findings(attention=0.5, gradient=0.6, beaten=0.7))["limits"]


def test_few_texts_settle_nothing():
    line = saliency_line(findings(count=20, attention=0.7, gradient_norm=0.8))
    assert line.tone == "unsettled"
    assert "20 texts are too few" in line.reading


def test_of_few_texts_nothing_is_surely_better():
    found = findings(count=20, attention=(0.4, 0.5), gradient_norm=(0.8, 0.4), lrp=(0.9, 0.9))
    line, table = saliency_line(found), saliency_table(found)
    assert "significantly" not in line.reading
    assert "By mask" not in line.reading
    assert line.better == ()
    assert {row["beside"] for row in table["rows"] if row["words"] != "attention"} == {"too few texts"}


def test_texts_that_were_not_judged_are_counted():
    line = saliency_line(findings(attention=0.7, gradient_norm=0.8, missing=30))
    assert (line.estimate.judged, line.estimate.not_judged) == (170, 30)


@pytest.mark.parametrize(
    "found",
    [
        findings(gradient_norm=0.5, gradient=0.4),
        findings(attention=0.5),
        findings(attention=0.5, gradient_norm=0.6, missing=200),
    ],
)
def test_without_attention_or_anything_to_compare_it_with_there_is_no_line(found):
    assert saliency_line(found) is None
    assert saliency_table(found) is None


def test_a_ranking_that_depends_on_the_way_of_erasing_is_owned_up_to():
    turned = saliency_line(findings(attention=(0.7, 0.4), gradient_norm=(0.5, 0.6), gradient=(0.3, 0.3)))
    assert "By mask the ranking differs" in turned.reading
    assert "it reverses attention before gradient norm" in turned.reading
    same = saliency_line(findings(attention=(0.7, 0.6), gradient_norm=(0.5, 0.4)))
    assert "By mask the conclusions are the same (τ = 1.00)." in same.reading
    lost = saliency_line(findings(attention=(0.7, 0.4), gradient_norm=(0.5, 0.4), gradient=(0.3, 0.2)))
    assert "By mask no conclusion reverses" in lost.reading


def test_the_table_ranks_explainers_and_puts_marks_last():
    table = saliency_table(findings(attention=0.5, gradient_norm=0.7, marks=0.9))
    assert [row["words"] for row in table["rows"]] == ["gradient norm", "attention", RANDOM, "marked words"]
    assert [row["rank"] for row in table["rows"]] == ["1", "2", "3", "–"]
    assert [row["beside"] for row in table["rows"]] == ["significantly better", "–", "significantly worse", "–"]
    assert WRITTEN == MARKS


def test_the_figure_has_a_dot_for_every_explainer_and_lines_for_chance_and_the_limit():
    text = svg(faithfulness_overview(findings(attention=0.5, gradient_norm=0.7, marks=0.9)))
    for words in ("attention", "gradient norm", "marked words", RANDOM, "most found"):
        assert words in text


@pytest.mark.slow
def test_a_real_run_has_the_line_the_table_and_the_figure(tmp_path):
    challenge = Faithfulness(("attention", "gradient", "lrp"), ("delete", "mask"))
    run = execute(small(challenges=(challenge,)), tmp_path)
    verdict = judge(run)
    line = next(line for line in verdict.lines if line.key == "saliency")
    assert line.estimate.judged > 0
    assert "By mask" in line.reading
    outline = Outline(page(run, verdict))
    assert outline.count("section", id="saliency") == 1
    assert "Whose top words matter most to the prediction?" in outline.text
    name = next(name for name in run.challenges if name.startswith("faithfulness"))
    assert Compared.of(run.findings(name)).ways == ["mask"]
