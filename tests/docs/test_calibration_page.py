"""The page on the calibration says what the table says."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.made_up_records import made_up_records

from attentest.calibration.analysis.members import FILE, write_members
from attentest.calibration.analysis.table import read_records, read_table

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def writer() -> Any:
    """docs/calibration_page.py."""
    sys.path.insert(0, str(DOCS))
    import calibration_page

    return calibration_page


@pytest.fixture(scope="module")
def made_up(writer: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return writer.Facts(read_records(made_up_records(tmp_path_factory.mktemp("records"))))


@pytest.mark.slow
def test_the_page_is_written_from_any_table(writer: Any, made_up: Any) -> None:
    text = writer.page(made_up)
    assert "A study of 252 models" in text
    assert "nan" not in text
    for line in text.splitlines():
        if line.startswith("| `importance.attention.held.mask`"):
            assert "1.00 [.79, 1.00]" in line
            break
    else:
        pytest.fail("no row of held")


@pytest.mark.slow
def test_every_figure_is_drawn(writer: Any, made_up: Any) -> None:
    from attentest.presentation.charts import svg

    page = (DOCS / "calibration" / "page.md.jinja").read_text("utf-8")
    for name, draw in writer.FIGURES.items():
        assert svg(draw(made_up)).startswith("<svg")
        assert f"../images/{name}.svg" in page


def test_numbers_are_printed_as_in_papers(writer: Any) -> None:
    assert [writer.number(value) for value in (0.934, 1.0, -0.05, -0.001, float("nan"))] == [
        ".93",
        "1.00",
        "−.05",
        ".00",
        "–",
    ]


@pytest.mark.slow
@pytest.mark.skipif(not (DOCS / "calibration" / "members.csv").is_file(), reason="no table yet")
def test_the_page_is_that_of_the_committed_table(writer: Any, tmp_path: Path) -> None:
    facts = writer.Facts(read_table(DOCS / "calibration"))
    assert (DOCS / "explanation" / "which-tests-can-be-trusted.md").read_text("utf-8") == writer.page(facts)
    write_members(read_table(DOCS / "calibration"), tmp_path / "members.csv.gz")
    assert gzip.decompress(FILE.read_bytes()) == gzip.decompress((tmp_path / "members.csv.gz").read_bytes())
    assert FILE.stat().st_size < 300_000
    assert (DOCS / "calibration" / "scores.csv").read_text("utf-8") == writer.scores_file(facts)
