"""attentest people: from a run to results, and what it says when something is wrong."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.people.made_up_runs import write_planted_run

from attentest.cli import main
from attentest.people import find_study

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Calls the command line in a folder with one finished run."""
    monkeypatch.chdir(tmp_path)
    write_planted_run(tmp_path / "runs" / "planted-1")

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["attentest", "people", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr()
        return int(stopped.value.code or 0), said.out, said.err

    return run


def test_from_a_run_to_results(call: Call, tmp_path: Path) -> None:
    pytest.importorskip("krippendorff")
    pytest.importorskip("statsmodels")
    assert call("ls")[1].startswith("No studies of people in people.")
    code, said, _ = call("new", "planted", "--name", "films", "--items", "40")
    assert code == 0
    assert "40 items (20 original, 20 permuted); beside them 3 check, 2 gold" in said
    assert call("status", "films")[1].startswith("Nobody is invited")
    links = call("invite", "films", "anna", "ben", "--at", "https://study.example.org/")[1].splitlines()
    name, address = links[0].split()
    assert (name, address.startswith("https://study.example.org/people/films/")) == ("anna", True)
    study = find_study("films", Path("people"))
    for line in links:
        who = study.annotator(line.rpartition("/")[2])
        study.consent(who, study.documents().version)
        for number, item in enumerate(study.assigned(who)):
            study.answer(who, item.id, item.hidden.planted, f"nonce-{number:04d}", 3.0)
    assert "anna       person  45 of 45  yes" in call("status", "films")[1]
    code, said, _ = call("simulate", "films", "--annotators", "3", "--slip", "0.05")
    assert "simulated-1, simulated-2, simulated-3; κ of those who read should be 0." in said
    (row,) = json.loads(call("ls", "--json")[1])
    assert (row["people"], row["answers"], row["simulated"]) == (2, 90, 3)
    code, said, _ = call("results", "films")
    assert said.startswith("Plausible to people: ")
    assert "people/films/report.html" in said
    found = json.loads(call("results", "films", "--json")[1])
    assert found["kinds"] == {"person": 2}
    assert found["kept"]["agreement"]["cohen"]["value"] == 1.0
    code, said, _ = call("results", "films", "--simulated")
    assert said.startswith("Plausible to simulated annotators (no person answered): ")
    assert call("export", "films", "--to", "a.csv")[1] == "a.csv: 90 answers of people\n"
    assert call("export", "films", "--items", "--to", "tasks.json")[1] == "tasks.json\ntasks.xml\n"
    call("new", "planted-1", "--name", "again", "--items", "40")
    assert call("import", "again", "a.csv")[1] == "Imported  90 answers of 2 annotators\n"
    assert call("forget", "films", "anna")[1].startswith("anna: deleted with 45 answers.")
    assert not (tmp_path / "people" / "films" / "report.html").exists()
    assert call("forget", "films")[1] == "Erased: the file holds nothing that was deleted.\n"
    assert json.loads(call("status", "films", "--json")[1])["withdrawn"] == 1


def test_a_lost_link_is_replaced(call: Call) -> None:
    call("new", "planted", "--name", "films", "--items", "20")
    first = call("invite", "films", "anna")[1].rpartition("/")[2].strip()
    second = call("invite", "films", "anna", "--new-link")[1].rpartition("/")[2].strip()
    study = find_study("films", Path("people"))
    assert study.store.linked(first) is None
    assert study.annotator(second).name == "anna"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("new", "nosuch", "--name", "a"), "No run in runs is called 'nosuch'"),
        (("new", "planted", "--name", "a", "--design", "meaningfull"), "Did you mean 'meaningful'?"),
        (("new", "planted", "--name", "a", "--design", "meaningful(tops=2)"), "Did you mean 'top'?"),
        (("new", "planted", "--name", "a/b"), "cannot be a study's name"),
        (("new", "planted", "--name", "a", "--items", "9999"), "9,999 items need as many"),
        (("invite", "nosuch", "anna"), "No study of people in people is called 'nosuch'"),
        (("invite", "films", "anna", "anna"), "A name is given twice"),
        (("invite", "films", "ben", "ben "), "is no name"),
        (("invite", "films", "nobody", "--new-link"), "No annotator of this study is called 'nobody'"),
        (("forget", "films", "nobody"), "No annotator of this study is called 'nobody'"),
        (("invite", "films", "ben", "--at", "javascript:alert(1)"), "is no address of a server"),
        (("invite", "films", "ben", "--at", "https://a b"), "is no address of a server"),
        (("invite", "films", "ben", "--at", "https://[x"), "is no address of a server"),
        (("export", "films", "--to", "a.xlsx"), "must end in .csv, .jsonl or .parquet"),
        (("export", "films", "--to", "people/films/items.jsonl"), "would be lost"),
        (("export", "films", "--items", "--to", "people/films/people.json"), "would be lost"),
        (("export", "films", "--to", "none/a.csv"), "there is no folder none"),
        (("import", "films", "gone.csv"), "gone.csv cannot be read"),
        (("simulate", "films", "--slip", "2"), "--slip 2.0 must lie between 0 and 1"),
        (("simulate", "films", "--annotators", "99999999999"), "must be at most 1,000"),
        (("power", "--half-width", "0"), "must lie between 0 and 1"),
        (("power", "--annotators", "2", "--people-differ", "0.3"), "no number of items is enough"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_code_2(call: Call, arguments: tuple[str, ...], words: str) -> None:
    call("new", "planted", "--name", "films", "--items", "20")
    code, _, said = call(*arguments)
    assert code == 2
    assert said.startswith("attentest: ")
    assert said.count("\n") == 1
    assert words in said


def test_somebody_invited_twice_is_refused_before_anybody_else_is_invited(call: Call) -> None:
    call("new", "planted", "--name", "films", "--items", "20")
    call("invite", "films", "ben")
    code, said, problem = call("invite", "films", "anna", "ben")
    assert (code, said) == (2, "")
    assert "'ben' was invited before" in problem
    assert [who.name for who in find_study("films", Path("people")).store.annotators()] == ["ben"]


def test_power_says_how_many_answers_and_what_they_cost(call: Call) -> None:
    said = call("power", "--annotators", "3", "--seconds", "20", "--pay", "15", "--fee", "0.33")[1]
    assert said.startswith("For ±0.1 you need 312 answers under each of 2 conditions: 3 people, 104 texts a condition")
    plan = json.loads(call("power", "--json")[1])
    assert plan["items"] == 208
    hours = 3 * (208 + plan["beside"]) * 20 / 3600
    assert plan["cost"] == pytest.approx(hours * 15 * 1.33)


def test_help_loads_nothing_heavy() -> None:
    import subprocess

    code = (
        "import sys; sys.argv = ['attentest', 'people', '--help']\n"
        "from attentest.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(sorted({'torch', 'pyarrow', 'statsmodels', 'sqlite3'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_pilot_sheet_says_what_the_tool_computes(call: Call) -> None:
    page = Path(__file__).parents[3] / "docs" / "how-to" / "people-pilot.md"
    parts = page.read_text("utf-8").split("```")
    asked = [
        (part.removeprefix("bash\n"), parts[place + 2].removeprefix("text\n"))
        for place, part in enumerate(parts)
        if part.startswith("bash\nattentest people power")
    ]
    assert len(asked) == 3
    for command, said in asked:
        assert call(*command.split()[2:])[1] == said
