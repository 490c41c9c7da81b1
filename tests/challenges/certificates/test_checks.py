from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.runs.test_run import small

from attentest.challenges import CHALLENGES
from attentest.challenges.agreement.examine import Agreement
from attentest.challenges.certificates.checks import checked, checks_table
from attentest.challenges.certificates.examine import LIMITS, OUTSIDE, Certificates
from attentest.challenges.faithfulness.examine import Faithfulness
from attentest.challenges.randomisation.figures import randomisation_curve
from attentest.challenges.uniform.examine import UniformAttention
from attentest.presentation.charts import svg
from attentest.presentation.presentation import Results
from attentest.presentation.standings import FAILED
from attentest.registry import parameters_of
from attentest.report.pages.run import page
from attentest.report.tables.answer import LINES, answer
from attentest.report.verdict.judge import judge
from attentest.runs.execute import execute
from attentest.store.findings import Findings, FindingsWriter
from attentest.store.folder import RunFolder

IG, TEXTS = "integrated_gradients(n_steps=8, tolerance=0.2)", 40


def certificates(**given: dict[str, list[float | None]]) -> Findings:
    """Findings with these values for every explainer and check; None: outside the sample."""
    tables = []
    for explainer, checks in given.items():
        for check, values in checks.items():
            limit, count = LIMITS.get(check), len(values)
            within = [None if limit is None or v is None else v <= limit for v in values]
            tables.append(
                pa.table(
                    {
                        "id": [f"text-{i}" for i in range(count)],
                        "explainer": [{"ig": IG}.get(explainer, explainer)] * count,
                        "check": [check] * count,
                        "value": pa.array(values, pa.float64()),
                        "limit": pa.array([limit] * count, pa.float64()),
                        "within": pa.array(within, pa.bool_()),
                        "predicted": pa.array([0] * count, pa.int32()),
                        "not_judged": pa.array([None if v is not None else OUTSIDE for v in values], pa.string()),
                    }
                )
            )
    return Findings("certificates", (), pa.concat_tables(tables))


def randomisation(challenge: str = "randomisation", **likeness: list[float]) -> Findings:
    """Likeness layer by layer, a little different from text to text."""
    rng, tables = np.random.default_rng(0), []
    for explainer, values in likeness.items():
        layers = ("head", "attention", "encoder", "everything")
        for step, (layer, value) in enumerate(zip(layers, values, strict=True), start=1):
            tables.append(
                pa.table(
                    {
                        "explainer": [explainer] * TEXTS,
                        "layer": [layer] * TEXTS,
                        "step": pa.array([step] * TEXTS, pa.int32()),
                        "spearman": np.clip(value + rng.normal(0, 0.05, TEXTS), -1, 1),
                        "predicted": pa.array([0] * TEXTS, pa.int32()),
                        "not_judged": pa.nulls(TEXTS, pa.string()),
                    }
                )
            )
    return Findings(challenge, (), pa.concat_tables(tables), parameters_of(CHALLENGES.parse(challenge)))


SAME: list[float | None] = [0.0, 0.0, None, None]


def said(found: Findings, explainer: int = 0) -> tuple[str, str]:
    one = checked(found)[explainer]
    return one.sentence, one.outcome


def test_a_sum_that_holds_says_for_how_many_texts_and_in_how_many_steps():
    sentence, outcome = said(certificates(ig={"completeness_gap": [0.0, 0.002, 0.01], "steps": [50, 50, 80]}))
    assert (
        sentence
        == "Adds up to F(text) − F(no words) within 1 % for 100 % of texts, 50 steps in the middle, 80 at most."
    )
    assert outcome == "holds"


@pytest.mark.parametrize(("complete", "outcome"), [([1.0] * 4, "note"), ([1.0, 1.0, 1.0, 0.0], "fails")])
def test_a_coarse_sum_is_owned_up_to_and_fails_only_beyond_its_own_tolerance(complete, outcome):
    found = certificates(ig={"completeness_gap": [0.0, 0.05, 0.05, 0.19], "steps": [8] * 4, "complete": complete})
    sentence, came_out = said(found)
    assert "for 25 % of texts (it misses 5 % in the middle, 19 % at most" in sentence
    assert ("which its tolerance allows" in sentence) == (outcome == "note")
    assert came_out == outcome


def test_what_lrp_loses_is_said_share_by_share():
    shares = {"absorbed_bias": [0.1, 0.14], "absorbed_epsilon": [0.001, 0.001], "absorbed_symbols": [0.0, 0.0]}
    sentence, outcome = said(certificates(lrp={"conservation_gap": [1e-6, 1e-7], **shares}))
    assert "12 % by biases, 0.1 % by ε, 0 % by start and end symbols" in sentence
    assert sentence.endswith("adds up to the output for every text.")
    assert outcome == "holds"
    sentence, outcome = said(certificates(lrp={"conservation_gap": [1e-6, 0.5], **shares}))
    assert "for 50 % of texts only" in sentence
    assert outcome == "fails"


def test_a_loop_that_agrees_and_one_that_does_not():
    sentence, outcome = said(certificates(leave_one_out={"loop_gap": [2e-7, 1e-8, None, None]}))
    assert (sentence, outcome) == ("Equal to a loop over the words on 2 texts, largest gap 2e−7.", "holds")
    sentence, outcome = said(certificates(leave_one_out={"loop_gap": [0.2, 1e-8, None, None]}))
    assert (sentence, outcome) == (
        "Differs from a loop over the words by up to 20 % of the largest score, on 2 texts.",
        "fails",
    )


def test_scores_that_change_when_computed_again_or_alone_fail():
    sentence, outcome = said(certificates(attention={"repeat_gap": SAME, "alone_gap": SAME}))
    assert (sentence, outcome) == ("Computed again by themselves, 2 texts score the same.", "holds")
    sentence, outcome = said(certificates(lime={"repeat_gap": [0.0, 0.3, None], "alone_gap": SAME[:3]}))
    assert (sentence, outcome) == ("Computed again, scores differ by up to 30 % of the largest, on 2 texts.", "fails")
    sentence, outcome = said(certificates(lime={"repeat_gap": SAME, "alone_gap": [0.02, 0.0, None, None]}))
    assert "By themselves, texts score differently by up to 2 %" in sentence
    assert outcome == "fails"


def test_what_is_not_known_here_is_given_by_its_name():
    found = certificates(mine={"shoe_size": [40.0, 42.0, 44.0]}, lime={"fit": [0.5, 0.7, 0.9]})
    assert said(found) == ("Shoe size: 42.0 in the middle.", "note")
    assert said(found, 1)[0] == "Adjusted R² of the fit to the sampled outputs: 0.700 in the middle."


def test_where_nothing_was_tried_nothing_is_said():
    assert checked(certificates(attention={"repeat_gap": [None, None]})) == []
    assert checks_table(Results({}, {})) == []


def test_likeness_to_a_random_model_stands_beside_the_certificates():
    found = certificates(attention={"repeat_gap": SAME})
    table = checks_table(
        Results(
            {"certificates": found, "randomisation": randomisation(attention=[1.0, 0.5, 0.2, -0.5], lrp=[0.9] * 4)}, {}
        )
    )
    assert [row["words"] for row in table] == ["attention", "lrp"]
    assert "ρ = −0.5" in table[0]["sentence"]
    assert "ρ = 0.89 [0.87, 0.90]" in table[1]["sentence"]


def test_the_curve_has_a_line_for_every_explainer_from_the_trained_model_to_nothing_learnt():
    text = svg(randomisation_curve(randomisation(attention=[1.0, 0.5, 0.2, 0.0], lrp=[0.9, 0.9, 0.9, 0.9])))
    for words in ("attention", "lrp", "nothing", "head", "+ encoder", "everything"):
        assert words in text
    apart = randomisation("randomisation(cascade=False)", attention=[1.0, 0.5, 0.2, 0.0])
    text = svg(randomisation_curve(apart))
    assert "nothing" not in text
    assert "+ encoder" not in text


def test_the_curve_draws_the_means_of_the_findings_with_their_intervals():
    chart = randomisation_curve(randomisation(attention=[0.8, 0.5, 0.2, 0.0])).to_dict()
    (rows,) = [layer["data"]["values"] for layer in chart["layer"] if "stage" in layer["data"]["values"][0]][:1]
    assert [row["stage"] for row in rows] == ["nothing", "head", "+ attention", "+ encoder", "everything"]
    assert [row["value"] for row in rows] == pytest.approx([1, 0.8, 0.5, 0.2, 0], abs=0.03)
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows)


def test_hostile_names_stay_text():
    hostile = certificates(**{"<script>alert(1)</script>": {"a<b>\u202e": [1.0, 2.0]}})
    (row,) = checks_table(Results({"certificates": hostile}, {}))
    assert "<" in row["sentence"]
    assert "\u202e" not in svg(randomisation_curve(randomisation(**{"<b>\u202ex": [0.1, 0.1, 0.1, 0.1]})))


def fail(folder: RunFolder, explainer: str) -> None:
    """Let a check of this explainer fail in a run that is there."""
    name = folder.named("certificates")
    file, found = f"findings/{name}.parquet", folder.findings(name)
    hit = pa.array([one == explainer for one in found.table["explainer"].to_pylist()])
    within = pc.if_else(pc.and_(hit, pc.is_valid(found.table["within"])), False, found.table["within"])
    table = found.table.set_column(found.table.column_names.index("within"), "within", within)
    with FindingsWriter(folder.path / file, found.challenge, found.measures) as writer:
        writer.write(table)
    folder.finish(file)


@pytest.mark.slow
def test_an_explainer_whose_check_failed_is_named_and_its_lines_do_not_count(tmp_path):
    some = ("attention", "gradient", "leave_one_out")
    asked = (UniformAttention(), Agreement(), Faithfulness(some), Certificates(some))
    folder = execute(small(challenges=asked), tmp_path)
    before = judge(folder)
    assert before.failed == ()
    assert "void" not in {line.tone for line in before.lines}
    fail(folder, "leave_one_out")
    verdict = judge(folder)
    assert verdict.failed == ("leave-one-out",)
    void = {line.key for line in verdict.lines if line.tone == "void"}
    assert void == {"stands", "deletion"}
    assert all("The check of leave-one-out failed" in line.reading for line in verdict.lines if line.key in void)
    compared = next(line for line in verdict.lines if line.key == "saliency")
    assert "leave-one-out" not in compared.better
    assert compared.rival is None or compared.rival.name != "leave-one-out"
    told = answer(verdict, folder.path / "report.html").plain
    assert "! Not counted, because their own check failed: leave-one-out" in told
    assert "! Do states stand for words?" in told
    assert len(told.splitlines()) <= LINES
    html = page(folder, verdict)
    assert "does not count" in html
    assert FAILED in html
