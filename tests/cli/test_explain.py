from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.test_cli import FAST, fails_in_one_line, reviews, run, write_csv

from attentest.cli import main
from attentest.data.files.formats import json_lines

__all__ = ["run"]

QUICK = [*FAST, "--challenge", "uniform"]
TEXT = "w1 it was good indeed zorblax"


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder of runs with one small audit in it, and its data."""
    folder = tmp_path_factory.mktemp("explained")
    data = write_csv(folder / "d.csv", reviews(90, classes=("bad", "good")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["attentest", "audit", "--data", str(data), "--runs", str(folder / "runs"), *QUICK])
        with pytest.raises(SystemExit) as stopped:
            main()
    assert not stopped.value.code
    return folder / "runs", data


def test_a_text_is_explained_in_print_and_as_a_page(run, audited):
    code, out, err = run("explain", TEXT, "--runs", audited[0])
    assert code == 0, err
    for words in ("Predicted", "attention", "integrated_gradients", "✓ The scores add up", "zorblax: the model has"):
        assert words in out
    page = Path(next(line.split()[-1] for line in out.splitlines() if line.startswith("Page")))
    assert page.parent.name == "explanations"
    assert "Which words mattered?" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_same_question_again_is_the_same_page_and_another_is_another(run, audited):
    pages = {
        run("explain", TEXT, "--runs", audited[0], *more)[1].splitlines()[-1] for more in ((), (), ("--target", "bad"))
    }
    assert len(pages) == 2


def test_the_values_as_json_are_json_and_nothing_else(run, audited, tmp_path):
    page = tmp_path / "x.html"
    arguments = (
        "--methods",
        "attention,lime(n_samples=20, seed=1)",
        "--methods",
        "lrp",
        "--target",
        "bad",
        "--interactions",
    )
    code, out, err = run("explain", TEXT, "--runs", audited[0], "--json", "--html", page, *arguments)
    record = json.loads(out)
    assert (code, err) == (0, "")
    assert [method["name"] for method in record["methods"]] == ["attention", "lime(n_samples=20, seed=1)", "lrp"]
    assert record["target"] == "bad"
    assert len(record["interactions"]["scores"]) == 6
    assert page.is_file()


def test_the_text_may_come_from_standard_input(run, audited, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{TEXT}\n"))
    code, out, _ = run("explain", "-", "--runs", audited[0], "--json", "--methods", "attention")
    assert code == 0
    assert json.loads(out)["tokens"] == TEXT.split()


def test_pairs_are_printed_in_words(run, audited):
    _, out, _ = run("explain", "it was good", "--runs", audited[0], "--interactions", "--methods", "attention")
    assert "Pairs of words" in out
    assert re.search(r"\w+ \+ \w+: +[+−]\d", out)


def test_a_run_that_cannot_be_written_to_is_explained_all_the_same(run, audited, monkeypatch):
    from attentest.errors import StorageError
    from attentest.store import atomic

    def refuse(path: Path) -> None:
        raise StorageError(f"No permission to write in {path}.")

    monkeypatch.setattr(atomic, "make_folder", refuse)
    code, out, err = run("explain", TEXT, "--runs", audited[0], "--methods", "attention")
    assert code == 0
    assert "Predicted" in out
    assert "No page was written" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["", "--methods", "attention"], ["empty"]),
        ([TEXT, "--methods", "atention"], ["Did you mean 'attention'"]),
        ([TEXT, "--target", "god"], ["Did you mean 'good'"]),
        ([TEXT, "--model", "nothing"], ["nothing"]),
        ([TEXT, "--html", "x.txt"], [".html"]),
        ([TEXT, "--html", "nowhere/x.html"], ["nowhere"]),
        ([TEXT, "--interactions", "--interaction-method", "hessian"], ["integrated_hessians"]),
        ([TEXT, "--methods", "oracle"], ["planted"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_words_give_one_clear_line(run, audited, arguments, said):
    fails_in_one_line(run("explain", *arguments, "--runs", audited[0]), *said)


@pytest.mark.slow
@pytest.mark.parametrize("file", ["s.jsonl", "s.json", "s.safetensors", "s.npz"])
def test_exported_scores_can_be_imported_and_judged(run, audited, tmp_path, file):
    runs, data = audited
    code, out, err = run("scores", "export", "latest", "--explainer", "leave_one_out", "--out", file, "--runs", runs)
    assert code == 0, err
    assert "14 texts" in out
    name = file.replace(".", "-")
    made = next(path.parent for path in sorted(runs.glob("*/run.json")))
    code, out, err = run("scores", "import", file, "--run", made, "--name", name, "--runs", runs)
    assert code == 0, err
    assert "precomputed(file='" in out
    assert out.splitlines()[-1].startswith('  --challenge "faithfulness(')
    pair = f"leave_one_out~precomputed(file='{made}/findings/scores-{name}.parquet')"
    challenge = f"agreement(pairs=({pair!r},))"
    code, out, err = run("audit", "--data", data, "--runs", runs, "--json", *QUICK, "--challenge", challenge)
    assert code == 0, err
    taus = [measure for measure in json.loads(out)["measures"] if measure["measure"] == f"{pair}.tau"]
    assert [measure["value"] for measure in taus] == [pytest.approx(1)]


@pytest.mark.slow
def test_a_run_with_imported_scores_can_still_be_shown_and_audited(run, audited):
    runs, data = audited
    assert run("scores", "export", "latest", "--out", "a.jsonl", "--runs", runs)[0] == 0
    assert run("scores", "import", "a.jsonl", "--run", "latest", "--name", "still", "--runs", runs)[0] == 0
    code, out, err = run("show", "latest", "--runs", runs)
    assert code == 0, err
    assert run("show", "latest", "--runs", runs, "--sql", 'SELECT count(*) FROM "scores-still"')[0] == 0
    code, out, err = run("audit", "--data", data, "--runs", runs, "--quiet", *QUICK)
    assert code == 0, err
    report = Path(next(line.split()[-1] for line in out.splitlines() if line.startswith("Report")))
    assert report.is_file()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows[1:], ["1 of the run's 14 texts", "no scores"]),
        (lambda rows: [*rows, {**rows[0], "annotation_id": "strange"}], ["'strange'"]),
        (
            lambda rows: [{**rows[0], "rationales": [{"soft_rationale_predictions": [1.0]}]}, *rows[1:]],
            ["1 scores and"],
        ),
    ],
    ids=["missing", "strange", "short"],
)
def test_scores_that_do_not_fit_give_one_clear_line_and_nothing_is_kept(run, audited, change, said):
    assert run("scores", "export", "latest", "--out", "a.jsonl", "--runs", audited[0])[0] == 0
    rows = json_lines(Path("a.jsonl"), Path("a.jsonl").read_text(encoding="utf-8"))
    Path("b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in change(rows)), encoding="utf-8")
    fails_in_one_line(run("scores", "import", "b.jsonl", "--run", "latest", "--name", "b", "--runs", audited[0]), *said)
    assert not list(audited[0].glob("*/findings/scores-b.parquet"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["import", "x.pt", "--run", "latest", "--name", "x"], ["pickle", "safetensors"]),
        (["import", "x.jsonl", "--run", "latest", "--name", "x"], ["no file at x.jsonl"]),
        (["import", "x.jsonl", "--run", "latest", "--name", "x", "--format", "erasr"], ["eraser"]),
        (["export", "latest", "--out", "x.csv"], ["--format"]),
        (["export", "latest", "--out", "nowhere/x.json"], ["nowhere"]),
        (["export", "latest", "--out", "x.json", "--explainer", "atention"], ["attention"]),
        (["export", "nothing", "--out", "x.json"], ["nothing"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_words_about_scores_give_one_clear_line(run, audited, arguments, said):
    fails_in_one_line(run("scores", *arguments, "--runs", audited[0]), *said)


def test_the_list_of_explainers_gives_citation_cost_and_what_is_checked(run):
    code, out, _ = run("list", "explainers")
    flat = " ".join(out.split())
    assert code == 0
    for words in ("Sundararajan et al. 2017", "Cost: n_steps forward and backward", "Checked: completeness"):
        assert words in flat
    entries = json.loads(run("list", "explainers", "--json")[1])["explainers"]
    assert all({"cost", "checked", "reference"} <= set(entry) for entry in entries)
    assert "pairwise_occlusion" in run("list", "interactions")[1]


@pytest.mark.parametrize("command", [["explain"], ["scores", "import"]])
def test_help_is_quick_because_it_imports_nothing_heavy(command):
    code = (
        f"import sys; sys.argv = ['attentest', *{command!r}, '--help']\n"
        "from attentest.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'duckdb', 'pyarrow', 'numpy', 'altair', 'spacy'} & set(sys.modules)\n"
        "print(heavy, file=sys.stderr); sys.exit(bool(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
