"""The first page says what the committed tables say."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def home() -> Any:
    sys.path.insert(0, str(DOCS))
    import home_figures

    return home_figures


def test_every_number_of_the_first_page_is_the_tables(home: Any) -> None:
    page = " ".join((DOCS / "index.md").read_text("utf-8").split())
    known = home.facts()
    said = [
        f"on {known['texts short']} of a model's texts, on average over {known['models']} models "
        f"({known['trained short']} over the {known['trained']} that were trained)",
        f"loses {known['wired']} points here",
        f"{known['joint']} points are lost, or {known['joint_tanh']}",
        f"AUROC of {known['permutation.median_change'][1:]}, adversarial weights {known['adversary.ratio'][1:]}",
        f"no better than a coin ({known['adversary.top_changed'][1:]})",
    ]
    assert [words for words in said if words not in page] == []


@pytest.mark.slow
def test_the_figures_of_the_first_page_are_drawn_from_the_tables(home: Any) -> None:
    from attentest.presentation.charts import svg

    page = (DOCS / "index.md").read_text("utf-8")
    for name, draw in home.FIGURES.items():
        assert f"images/{name}.svg" in page
        assert svg(draw()).startswith("<svg")
        assert (DOCS / "images" / f"{name}.svg").is_file()
