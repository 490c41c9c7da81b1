from __future__ import annotations

import pyarrow as pa
import pytest

from attentest.presentation.charts import Palette
from attentest.report.pages.examples import examples
from attentest.store.findings import Findings
from attentest.store.folder import RunFolder


@pytest.mark.parametrize("apart", [0.0, 0.0004, 0.2])
def test_an_attention_that_is_the_models_own_is_not_shown_as_another_one(run: RunFolder, apart: float) -> None:
    found = {name: run.findings(name) for name in ("instances", "adversary")}
    attacks = found["adversary"]
    rows = [row | {"lower": apart} if row["not_judged"] is None else row for row in attacks.table.to_pylist()]
    found["adversary"] = Findings("adversary", attacks.measures, pa.Table.from_pylist(rows, attacks.table.schema))
    palette = Palette.of(["n", "p"], [0, 1])
    shown = [example for example in examples(found, palette, ["n", "p"]) if not example["attack"]["not_judged"]]
    assert shown
    for example in shown:
        kinds = [drawn["kind"] for drawn in example["maps"]]
        assert kinds == (["attention", "adversary"] if apart > 0.1 else ["attention"])


def test_every_explainer_stands_under_attention_word_by_word(run: RunFolder) -> None:
    found = {name: run.findings(name) for name in ("instances", "adversary")}
    texts = {row["id"]: row for row in found["instances"].table.to_pylist()}
    asked = ["gradient", "gradient_state", "leave_one_out", "state_erasure"]  # what this run was asked and has
    for example in examples(found, Palette.of(["n", "p"], [0, 1]), ["n", "p"]):
        text, aligned = texts[example["id"]], example["aligned"]
        places = [place for line in aligned["lines"] for place in line["places"]]
        words = [word for line in aligned["lines"] for word, _ in line["words"]]
        assert words == text["tokens"]
        assert places == list(range(len(words)))
        rows = {row["name"]: row["cells"] for row in aligned["rows"]}
        assert [name for name in rows if name != "another attention"] == [
            "attention",
            *("leave-one-out" if name == "leave_one_out" else name.replace("_", " ") for name in asked),
        ]
        for name in ("attention", "gradient"):
            largest = max(text[name])
            for (hue, shade, number), score in zip(rows[name], text[name], strict=True):
                assert hue == "most"
                assert shade == pytest.approx(score / largest)
                assert float(number.replace("−", "-")) == pytest.approx(score, rel=0.006)


def test_scores_with_a_sign_have_two_hues_and_a_missing_one_is_named(run: RunFolder) -> None:
    instances = run.findings("instances")
    rows = [row | {"gradient": [-2.0, None, *row["gradient"][2:]]} for row in instances.table.to_pylist()]
    rows = [row for row in rows if len(row["tokens"]) > 2]
    table = pa.Table.from_pylist(rows, instances.table.schema)
    found = {"instances": Findings("instances", instances.measures, table, instances.parameters)}
    shown = next(examples(found, Palette.of(["n", "p"], [0, 1]), ["n", "p"]))["aligned"]["rows"]
    cells = next(row["cells"] for row in shown if row["name"] == "gradient")
    assert cells[0][0] == "against"
    assert cells[0][2] == "−2"
    assert cells[1] == ("for", 0.0, "no number")


def test_without_an_explainer_or_an_adversary_attention_stands_alone(run: RunFolder) -> None:
    instances = run.findings("instances")
    found = {"instances": Findings("instances", instances.measures, instances.table)}
    for example in examples(found, Palette.of(["n", "p"], [0, 1]), ["n", "p"]):
        assert example["aligned"] is None
