from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.challenges.rationale.test_examine import annotated_corpus
from tests.report.pages.test_run import Outline
from tests.report.rendered import render
from tests.runs.test_run import SMALL, small

from attentest.challenges.rationale.examine import Rationale
from attentest.challenges.rationale.figures import rationale_ceiling
from attentest.challenges.rationale.presentation import marks_table, marks_terminal, rationale_line
from attentest.challenges.rationale.ranking import CEILING, Marked, has_ceiling
from attentest.presentation.charts import svg
from attentest.report.pages.run import page
from attentest.report.results import results_of
from attentest.report.verdict.judge import judge
from attentest.runs.execute import execute
from attentest.runs.trained import TrainedRun
from attentest.store.findings import Findings
from attentest.training.loop import Training


def findings(count: int = 200, missing: int = 0, people: bool = False, **means: float) -> Findings:
    """Explainers with these areas, the texts' own levels shared by all of them; people agree with F1 .6, IOU .5."""
    rng = np.random.default_rng(0)
    level, judged = rng.normal(0, 0.1, count), np.arange(count) >= missing
    tables = []
    for name, mean in means.items():
        area = np.clip(mean + level + rng.normal(0, 0.02, count), 0, 1)
        columns = dict.fromkeys(("average_precision", "auprc", "token_f1", "iou"), area)
        columns["chance"] = np.full(count, 0.2)
        if people:
            columns |= dict.fromkeys(("single_token_f1", "single_iou"), area / 2)
            ceilings = {"ceiling_token_f1": 0.7, "ceiling_iou": 0.55}
            ceilings |= {"ceiling_single_token_f1": 0.6, "ceiling_single_iou": 0.5}
            columns |= {c: np.clip(v + level / 10, 0, 1) for c, v in ceilings.items()}
        tables.append(
            pa.table(
                {
                    "id": [f"text-{i}" for i in range(count)],
                    "explainer": [name] * count,
                    **{c: pa.array(v, mask=~judged) for c, v in columns.items()},
                    "predicted": pa.array([0] * count, pa.int32()),
                    "not_judged": pa.array([None if ok else "no marked token" for ok in judged], pa.string()),
                }
            )
        )
    table = pa.concat_tables(tables)
    measures = tuple(m for m in Rationale(tuple(means)).measures if m.column in table.column_names)
    return Findings("rationale", measures, table)


def test_planted_marks_rank_attention_by_area_and_name_who_is_surely_better():
    line = rationale_line(findings(attention=0.5, lrp=0.8, gradient=0.51, random=0.2), planted=True)
    assert "A random order reaches 0.20, lrp 0.80." in line.reading
    assert "By AUPRC (0.50; as average precision, but with linear interpolation) attention ranks" in (line.reading)
    assert "of 4 explainers; significantly better: lrp" in line.reading
    assert "human" not in line.reading
    first = rationale_line(findings(attention=0.9, lrp=0.7), planted=True)
    assert first.reading.endswith("attention ranks 1 of 2 explainers; none is significantly better.")


def test_marks_by_people_are_plausibility_and_have_a_ceiling():
    line = rationale_line(findings(people=True, attention=0.5, lrp=0.8), planted=False)
    assert line.tone == "context"
    assert "This is plausibility, not faithfulness" in line.reading
    assert "The human ceiling: two annotators' rationales agree with token F1 0.60" in line.reading
    assert "agree with one annotator's rationale with 0.25" in line.reading
    assert "another annotator agrees with token F1 0.70" in line.reading


def test_people_and_attention_are_compared_on_the_same_texts():
    found = findings(people=True, attention=0.5, lrp=0.8)
    table = found.table
    for column in ("ceiling_single_token_f1", "ceiling_single_iou"):
        # Only every other text was marked by two people; on the others attention does well.
        alone = np.arange(len(table)) % 2 == 1
        single = column.removeprefix("ceiling_")
        high = np.where(alone, 1.0, 0.3)
        table = table.set_column(table.column_names.index(single), single, pa.array(high))
        people = pa.array(table[column].to_numpy(), mask=alone)
        table = table.set_column(table.column_names.index(column), column, people)
    reading = rationale_line(Findings("rationale", found.measures, table), planted=False).reading
    assert (
        "on the same texts attention's top words agree with one annotator's rationale with 0.300 and 0.300." in reading
    )
    assert "told how many words to choose, and annotators were not" in reading


def test_without_each_persons_marks_no_ceiling_is_claimed():
    found = findings(attention=0.5, lrp=0.8)
    assert not has_ceiling(found)
    assert "ceiling" not in rationale_line(found, planted=False).reading
    nobody = findings(people=True, missing=200, attention=0.5, lrp=0.8)
    assert not has_ceiling(nobody)


@pytest.mark.parametrize("people", [True, False])
def test_the_table_ranks_explainers_and_puts_a_person_last(people):
    table = marks_table(findings(people=people, attention=0.5, lrp=0.7, random=0.2))
    words = ["lrp", "attention", "random", *([CEILING] if people else [])]
    assert [row["words"] for row in table["rows"]] == words
    assert [row["rank"] for row in table["rows"]][:3] == ["1", "2", "3"]
    assert [row["beside"] for row in table["rows"]][:3] == ["significantly better", "–", "significantly worse"]
    assert table["ceiling"] == people
    assert len(table["heads"]) == (4 if people else 2)
    assert all(len(row["numbers"]) == 1 + len(table["heads"]) for row in table["rows"])
    if people:
        assert table["rows"][-1]["numbers"][0][0] == "–"
        assert [round(float(value), 1) for value, _ in table["rows"][-1]["numbers"][1:]] == [0.7, 0.6, 0.6, 0.5]


@pytest.mark.parametrize(
    "found",
    [None, findings(lrp=0.5, gradient=0.4), findings(attention=0.5), findings(missing=200, attention=0.5, lrp=0.6)],
)
def test_without_attention_or_anything_to_compare_it_with_nothing_is_ranked(found):
    assert Marked.of(found) is None
    assert marks_table(found) is None


def test_the_figure_shows_what_another_person_reaches():
    text = svg(rationale_ceiling(findings(people=True, attention=0.5, lrp=0.7)))
    for words in ("attention", "lrp", "another person", "one person"):
        assert words in text


@pytest.mark.slow
def test_a_real_run_on_a_corpus_that_people_marked_shows_the_ceiling_everywhere(tmp_path):
    challenge = Rationale(("attention", "gradient", "random"))
    choices = {"architecture": SMALL, "training": Training(epochs=1), "challenges": (challenge,)}
    run = execute(TrainedRun(annotated_corpus(), **choices), tmp_path)
    verdict = judge(run)
    line = next(line for line in verdict.lines if line.key == "rationale")
    assert "The human ceiling" in line.reading
    outline = Outline(page(run, verdict))
    assert outline.count("section", id="marks") == 1
    for words in ("How close do scores come", CEILING, "plausibility, not faithfulness", "F1, one person"):
        assert words in outline.text
    shown = render(marks_terminal(results_of(run)))
    assert "Explainers against human rationales (plausibility, not faithfulness)" in shown
    assert CEILING in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.slow
def test_a_real_run_on_planted_marks_ranks_every_default_explainer(tmp_path):
    run = execute(small(challenges=(Rationale(),)), tmp_path)
    verdict = judge(run)
    assert (
        f"of {len(Rationale().explainers)} explainers" in next(x for x in verdict.lines if x.key == "rationale").reading
    )
    text = Outline(page(run, verdict)).text
    assert "Explainers against planted rationales" in text
    assert "How close do scores come" not in text
    shown = render(marks_terminal(results_of(run)))
    assert "Explainers against planted rationales" in shown
    assert len([line for line in shown.splitlines() if "[" in line]) == len(Rationale().explainers)
    assert "…" not in shown


def test_a_run_without_the_challenge_has_no_table(tmp_path):
    run = execute(small(challenges=()), tmp_path)
    assert marks_terminal(results_of(run)) is None
