"""Models that hide words, from data to the table, by the command line and from Python."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest
from tests.cli.test_cli import fails_in_one_line, run
from typer.testing import CliRunner

from attentest.cli.main import app
from attentest.deceiving import deceive
from attentest.errors import InputError

__all__ = ["run"]

FILLERS = ("river", "town", "house", "garden", "music", "road", "winter", "bread")


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    """Texts whose class one word decides."""
    chance, path = random.Random(0), tmp_path / "letters.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "label"])
        for _ in range(320):
            label = chance.choice(["he", "she"])
            words = [chance.choice(FILLERS) for _ in range(7)]
            words.insert(chance.randrange(8), label)
            rows.writerow([" ".join(words), label])
    return path


@pytest.mark.slow
def test_a_marked_word_is_hidden_and_still_used(letters: Path, tmp_path: Path):
    twins = deceive(
        weights=(5.0,),
        seeds=1,
        runs=tmp_path / "runs",
        data=letters,
        mark=["/s?he/"],
        encoder="bilstm(hidden=16)",
        embedding=16,
        epochs=12,
        learning_rate=0.01,
    )
    honest, hides = twins.models
    assert (honest.weight, hides.weight) == (0.0, 5.0)
    assert honest.marked == pytest.approx(1 / 8)
    assert honest.followed > 0.7
    assert hides.mass < 0.05 < honest.mass
    assert twins.kind(hides) == "deceptive"
    arguments = ["deceive", "--data", str(letters), "--mark", "/s?he/", "--encoder", "bilstm(hidden=16)"]
    arguments += ["--embedding", "16", "--epochs", "12", "--learning-rate", "0.01", "--weight", "5", "--seeds", "1"]
    found = CliRunner().invoke(app, [*arguments, "--runs", str(tmp_path / "runs"), "--json"])
    assert found.exit_code == 0
    assert json.loads(found.stdout) == json.loads(twins.to_json())


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        ({"seeds": 0}, "seeds=0"),
        ({"seeds": 10**11}, "at most 100"),
        ({"weights": ()}, "weights is empty"),
        ({"weights": (-1.0,)}, "-1.0 must be a number above 0"),
        ({"weights": (float("nan"),)}, "nan must be a number above 0"),
        ({"terms": "tying"}, "chosen by deceive itself"),
        ({"heads": ()}, "heads is empty"),
        ({"heads": ("all",)}, "heads='all'"),
        ({"corpus": "reviews", "mark": "xyzzy"}, "No word of 'reviews' is marked by xyzzy"),
        ({"corpus": "reviews", "mark": ["dull", "xyzzy"]}, "No word of 'reviews' is marked by xyzzy"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_trained(choices, says, tmp_path: Path):
    with pytest.raises(InputError, match=says):
        deceive(runs=tmp_path, **choices)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("mark", "says"),
    [
        ("/(/", "mark=/(/ is no regular expression"),
        ("/q+/", "No word of 'letters' is marked by /q+/"),
        ("xyzzy", "No word of 'letters' is marked by xyzzy"),
        ("/.*/", "Every word of 'letters' is marked"),
        ("@{}/empty.txt", "has 0 words; give 1 to"),
        ("@{}/none.txt", "cannot be read"),
        ("", "must be a word, a pattern between slashes, or @FILE"),
        (None, "mark words (--mark)"),
    ],
)
def test_a_list_that_marks_nothing_is_refused_in_one_line(run, mark: str | None, says: str, letters: Path):
    (letters.parent / "empty.txt").write_text("\n \n")
    words = [] if mark is None else ["--mark", mark.format(letters.parent)]
    fails_in_one_line(run("deceive", "--data", letters, "--seeds", 1, "--quiet", *words), says)
