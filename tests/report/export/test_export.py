"""Exports: every figure and table of a run as files, whole or not at all."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.report.made_up import HOSTILE
from tests.report.made_up_verdict import made_up_verdict
from typer.testing import CliRunner

from attentest.cli.main import app
from attentest.data.files.unfinished import part_of
from attentest.errors import InputError, StorageError
from attentest.report.export import export
from attentest.report.export.export import export_run
from attentest.report.export.latex import csv_of, escaped, latex_of
from attentest.report.pages.run import plots_of
from attentest.report.results import results_of
from attentest.store.folder import RunFolder
from attentest.store.summary import estimate


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts take seconds to draw, and what is written around them needs none; the verdict is made up as the run is."""
    monkeypatch.setattr(export, "plots_of", lambda results: ())
    monkeypatch.setattr(export, "judge", lambda run: made_up_verdict())


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_every_figure_is_written_in_three_formats(small_run: RunFolder, tmp_path: Path) -> None:
    index = export_run(small_run, tmp_path / "out")
    expected = [f"{challenge}-{plot.key}" for challenge, plot, _ in plots_of(results_of(small_run))]
    assert [figure["name"] for figure in index["figures"]] == expected == ["permutation-permutation"]
    for figure in index["figures"]:
        vector, pixels, printed = (tmp_path / "out" / file for file in figure["files"])
        assert ElementTree.fromstring(vector.read_text("utf-8")).tag == "{http://www.w3.org/2000/svg}svg"
        assert pixels.read_bytes().startswith(b"\x89PNG\r\n")
        assert printed.read_bytes().startswith(b"%PDF-")
        assert (vector.suffix, pixels.suffix, printed.suffix) == (".svg", ".png", ".pdf")
        assert figure["title"]
        assert "{w." not in figure["reading"]


@pytest.mark.usefixtures("undrawn")
def test_the_index_lists_just_what_is_there(run: RunFolder, tmp_path: Path) -> None:
    index = export_run(run, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "index.json").read_text("utf-8")) == index
    listed = {file for table in index["tables"] for file in table["files"]}
    there = {str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert there == listed | {"index.json"}
    names = [table["name"] for table in index["tables"]]
    assert names == ["answers", "lines", "measures", "erasure", "tests", "saliency", "checks", "marks"]
    for table in index["tables"]:
        assert len(rows_of(tmp_path / "out" / table["files"][0])) == table["rows"] > 0
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.usefixtures("undrawn")
def test_measures_are_written_in_full(small_run: RunFolder, tmp_path: Path) -> None:
    export_run(small_run, tmp_path / "out")
    rows = rows_of(tmp_path / "out" / "tables" / "measures.csv")
    row = next(r for r in rows if r["measure"] == "median_change" and r["predicted"] == "all")
    found = estimate(small_run.findings("permutation"), "median_change")
    assert (float(row["value"]), float(row["low"]), int(row["judged"])) == (found.value, found.low, found.judged)


@pytest.mark.usefixtures("undrawn")
def test_a_table_of_a_section_keeps_value_interval_and_group(run: RunFolder, tmp_path: Path) -> None:
    export_run(run, tmp_path / "out")
    tests = rows_of(tmp_path / "out" / "tables" / "tests.csv")
    assert {row["group"][:2] for row in tests} == {"1.", "2.", "3.", "4."}
    own = next(r for r in rows_of(tmp_path / "out" / "tables" / "saliency.csv") if r["Explainer"] == "attention")
    assert 0 < float(own["Removed"]) < 1
    assert re.fullmatch(r"\[0\.\d{3}, 0\.\d{3}\]", own["Removed, interval"])


@pytest.mark.usefixtures("undrawn")
def test_hostile_names_stay_text(hostile_run: RunFolder, tmp_path: Path) -> None:
    export_run(hostile_run, tmp_path / "out")
    measures = rows_of(tmp_path / "out" / "tables" / "measures.csv")
    assert "<script>document.title='owned'</script>" in {row["predicted"] for row in measures}
    for file in (tmp_path / "out" / "tables").iterdir():
        assert not set(file.read_text("utf-8")) & set("\u202e\x00\x07")
    written = (tmp_path / "out" / "tables" / "measures.tex").read_text("utf-8")
    assert r"\textless{}script\textgreater{}" in written


@pytest.mark.parametrize("text", [*HOSTILE, r"\input{/etc/passwd}", "50 % & $x_1^2$ ~ #{}", "^^5cinput"])
def test_latex_sees_no_command_in_a_cell(text: str) -> None:
    made = latex_of(["head"], [[text]], text, "x")
    plain = made.replace(escaped(text), "")
    assert plain == latex_of(["head"], [[""]], "", "x") or len(text) > 40
    without = re.sub(r"^\{\}|\\[{}$&%#_]|\\[a-zA-Z]+(\{\})?|\$\\?[a-z-]+\$|~", "", escaped(text))
    assert not set(without) & set("\\{}$&%#_^")


FOREIGN = "[bold] مرحبا 漢字 🙂 ρ Ω ŷ é ñ ß – “x” ‹U+0000› ð ¤ ǆ"


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed (texlive-latex-recommended)")
def test_every_table_is_set_by_the_oldest_engine(hostile_run: RunFolder, tmp_path: Path) -> None:
    export_run(hostile_run, tmp_path / "out")
    tables = [file.read_text("utf-8") for file in sorted((tmp_path / "out" / "tables").glob("*.tex"))]
    tables.append(latex_of(["one", FOREIGN], [[text, 1.0] for text in (*HOSTILE, FOREIGN)], FOREIGN, "x"))
    needs = r"\documentclass{article}\usepackage{array,booktabs,longtable,pdflscape}"
    pages = "\n\\clearpage\n".join(tables)
    (tmp_path / "all.tex").write_text(f"{needs}\\begin{{document}}\n{pages}\n\\end{{document}}")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "all.tex"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert made.returncode == 0, made.stdout.decode("utf-8", "replace")[-2000:]


def test_signs_that_an_old_engine_lacks_are_left_to_newer_ones() -> None:
    assert escaped("a ρ 漢 é") == r"a $\rho$ \ifdefined\Umathchar 漢\else \textless{}U+6F22\textgreater{}\fi{} é"


def test_a_wide_table_is_turned_and_a_long_one_runs_over_pages() -> None:
    narrow = latex_of(["a", "b"], [["x", 1.0]] * 5, "few", "x")
    assert "landscape" not in narrow
    assert "longtable}{" not in narrow
    wide = latex_of([f"column {i}" for i in range(12)], [["some words"] * 12] * 60, "many", "x")
    assert wide.index("landscape}") < wide.index("longtable}{llllllllllll}")
    told = latex_of(["a", "b"], [["words " * 80, "x"]] * 20, "prose", "x")
    assert "longtable}{>{" in told


def test_a_spreadsheet_computes_nothing() -> None:
    made = csv_of(["=1+1"], [["=cmd|' /C calc'!A0"], ["+1"], ["@x"], ["-1"], [-1.5], [None], [float("nan")], ["a,b"]])
    assert made.splitlines() == ["'=1+1", "'=cmd|' /C calc'!A0", "'+1", "'@x", "'-1", "-1.5", '""', '""', '"a,b"']


@pytest.mark.usefixtures("undrawn")
def test_an_earlier_export_is_replaced_and_any_other_folder_refused(small_run: RunFolder, tmp_path: Path) -> None:
    export_run(small_run, tmp_path / "out")
    (tmp_path / "out" / "tables" / "measures.csv").write_text("old")
    export_run(small_run, tmp_path / "out")
    assert (tmp_path / "out" / "tables" / "measures.csv").read_text() != "old"
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("years")
    with pytest.raises(InputError, match=r"mine exists and is no export of a run. Name another folder with --to"):
        export_run(small_run, mine)
    assert (mine / "thesis.tex").read_text() == "years"


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("index", ["{}", "[]", "[" * 9000, '{"figures": 1, "tables": []}'])
def test_no_folder_is_replaced_because_its_index_is_called_alike(
    small_run: RunFolder, tmp_path: Path, index: str
) -> None:
    """Many folders have an index.json: those of a site, say."""
    mine = tmp_path / "site"
    mine.mkdir()
    (mine / "index.json").write_text(index)
    (mine / "page.html").write_text("years")
    with pytest.raises(InputError, match=r"site exists and is no export of a run. Name another folder with --to"):
        export_run(small_run, mine)
    assert (mine / "page.html").read_text() == "years"


@pytest.mark.usefixtures("undrawn")
def test_what_somebody_put_into_an_export_is_not_lost(small_run: RunFolder, tmp_path: Path) -> None:
    export_run(small_run, tmp_path / "out")
    (tmp_path / "out" / "figures").mkdir(exist_ok=True)
    (tmp_path / "out" / "figures" / "mine.svg").write_text("drawn by hand")
    with pytest.raises(InputError, match=r"out holds 'figures/mine\.svg', which no export wrote"):
        export_run(small_run, tmp_path / "out")
    assert (tmp_path / "out" / "figures" / "mine.svg").read_text() == "drawn by hand"


@pytest.mark.usefixtures("undrawn")
def test_what_a_killed_export_left_goes_with_the_next(small_run: RunFolder, tmp_path: Path) -> None:
    host = part_of(tmp_path / "out").name.split(".")[-4]
    for mark in ("0123456789ab", "0123456789ac"):  # what was being made, and what it was to replace
        (tmp_path / f".out.{host}.999999999.{mark}.part" / "figures").mkdir(parents=True)
    export_run(small_run, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".out")] == []


@pytest.mark.usefixtures("undrawn")
def test_an_export_that_fails_leaves_what_was_there(
    small_run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_run(small_run, tmp_path / "out")
    before = sorted(tmp_path.rglob("*"))

    def full(*_: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export, "latex_of", full)
    with pytest.raises(StorageError, match=r"Cannot write .*: No space left on device. Name a folder"):
        export_run(small_run, tmp_path / "out")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.usefixtures("undrawn")
def test_the_command_says_what_it_wrote(small_run: RunFolder, tmp_path: Path) -> None:
    given = ["export", str(small_run.path), "--to", str(tmp_path / "out")]
    said = CliRunner().invoke(app, given)
    assert said.exit_code == 0
    assert "listed in index.json" in said.stdout
    assert json.loads(CliRunner().invoke(app, [*given, "--json"]).stdout)["run"] == "small"
