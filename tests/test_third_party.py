"""A package of somebody else's is installed, and all it brings is seen, with nothing changed in attentest."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = Path(__file__).parent / "third_party"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages with this one in it: its modules, and the entry points that an installer writes."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(PACKAGE / "pets", folder / "pets")
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text("utf-8"))["project"]
    about = folder / f"{project['name']}-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = project["entry-points"].items()
    points = "\n".join(f"[{group}]\n" + "\n".join(f"{n} = {v}" for n, v in named.items()) for group, named in groups)
    (about / "entry_points.txt").write_text(f"{points}\n")
    return folder


def python(site: Path, *arguments: str) -> str:
    """What a Python says that has the package installed."""
    paths = os.pathsep.join((str(site), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")))
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=site,
        env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "200"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def reference(site: Path) -> dict[str, Any]:
    """The pages of the reference, the columns, and the last corpus, explainer and challenge, as there described."""
    code = f"""
import json, sys
sys.path.insert(0, {str(ROOT / "docs")!r})
import reference_pages
from attentest.catalogue.entries import catalogue
from attentest.challenges import PRESENTATIONS
last = {{kind: catalogue(kind)[-1] for kind in ("corpora", "explainers", "challenges")}}
entries = {{kind: {{key: entry[key] for key in ("name", "about", "words")}} for kind, entry in last.items()}}
print(json.dumps({{
    "pages": reference_pages.pages(), "columns": reference_pages.columns(), "entries": entries,
    "presented": PRESENTATIONS["uniform"].challenge,
}}))
"""
    found: dict[str, Any] = json.loads(python(site, "-c", code))
    return found


def test_an_audit_shows_its_line_figure_and_section_and_the_line_decides_nothing(site: Path) -> None:
    code = """
import attentest
done = attentest.audit(
    corpus="pets", encoder="average(hidden=8)", epochs=1, runs="runs",
    challenges=["half_uniform", "uniform", "rationale(explainers=('attention', 'embedding_norm'))"],
)
line, = (line for line in done.verdict.lines if line.findings == "half_uniform")
print(line.key, line.tone, line.estimate.judged, line is done.verdict.lines[-1])
print(*(line.key for line in done.verdict.lines))
print(done.report)
"""
    said, keys, report = python(site, "-c", code).splitlines()[-3:]
    assert said == "half_uniform.states context 30 True"
    assert keys == "accuracy uniform rationale half_uniform.states"
    page = (site / report).read_text("utf-8")
    for words in (
        "Does half of the attention do?",
        "Who moves?",
        "Each bar counts texts that move as far.",
        "Who moves furthest",
    ):
        assert words in page
    assert "embedding norm" in page


def test_the_lists_and_the_reference_have_all_of_it(site: Path, reference: dict[str, Any]) -> None:
    for kind, name, words in (
        ("corpora", "pets", ["train", "dev", "test", "seed"]),
        ("explainers", "embedding_norm", ["order"]),
        ("challenges", "half_uniform", ["share"]),
    ):
        page, entry = reference["pages"][f"{kind}.md"].partition(f"## {name}\n")[2], reference["entries"][kind]
        assert (entry["name"], list(entry["words"])) == (name, words)
        assert all(text and text in page for text in (entry["about"], *entry["words"].values()))
    assert "## half_uniform\n\nOne row per text." in reference["columns"]
    assert "| `moved` | double |" in reference["columns"]
    assert reference["presented"] == "uniform"  # a name of ours stays ours
    assert "half_uniform" in python(site, "-m", "attentest", "list", "challenges")


def test_people_are_asked_by_its_design(site: Path) -> None:
    code = """
from pathlib import Path
from tests.people.made_up_runs import write_planted_run
from attentest.people import DESIGNS, Plan, new_study
run = write_planted_run(Path("howling"))
study = new_study(Path("people"), "h", [run], DESIGNS.parse("howl(words=9)"), Plan(items=20))
items = [item for item in study.items.values() if item.hidden.kind == "item"]
print(study.record["design"], items[0].shown.question, min(len(i.shown.panels[0].tokens) for i in items) >= 9)
"""
    assert python(site, "-c", code).strip() == "howl(words=9) Do you howl? True"
    assert "howl" in python(site, "-m", "attentest", "list", "designs")


def test_its_paper_is_run_compared_listed_and_documented(site: Path, reference: dict[str, Any]) -> None:
    run = ("-m", "attentest")
    assert "2 of 2 have findings" in python(site, *run, "study", "run", "barks_2024", "--runs", "r") + python(
        site, *run, "study", "ls", "--runs", "r"
    )
    said = python(site, *run, "claims", "barks_2024", "--runs", "r", "--page", "claims.html", "--csv", "claims.csv")
    assert "from 2 runs in r" in said
    assert "accuracy is above a half" in said
    assert "How often is each seed right?" in (site / "claims.html").read_text("utf-8")
    assert "figure,barks_2024,Table 1,Pets,average,additive,accuracy" in (site / "claims.csv").read_text("utf-8")
    assert "What Attends to a Bark (Doe 2024, PetNLP)" in python(site, *run, "claims")
    assert "What Attends to a Bark" in python(site, *run, "list", "papers")
    assert "barks_2024/page.md" in reference["pages"]["paper-barks_2024.md"]
