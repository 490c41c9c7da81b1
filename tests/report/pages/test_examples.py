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
