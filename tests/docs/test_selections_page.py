"""The page on selections says what its table holds, and judges by the rules that were written before the runs."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from attentest.statistics.seeds import half_width

DOCS = Path(__file__).parents[2] / "docs"
NAMES = {
    **{"ERASER movies": "eraser_movies", "SST": "sst", "HardKuma": "hardkuma", "Lei et al.": "lei"},
    **{"smuggler": "smuggler", "DiffMask": "diffmask", "average": "average", "BiLSTM": "bilstm"},
    "MiniLM": "all-MiniLM-L6-v2",
    "HardKuma's phrases": "phrases",
}
FIGURE = re.compile(r"(−?\d?\.\d{3}) \[(−?\d?\.\d{3}), (−?\d?\.\d{3})\]")
COMPARED = ("own", "random", "first_words", "− random", "− first")
#: By the heading of a table's second column: the words and the measure of each column after the name.
COLUMNS = {
    "words kept": (
        *(("own", "share"), ("decides", "accuracy"), ("full", "accuracy")),
        *(("own", "comprehensiveness"), ("own", "token_f1")),
    ),
    "selection alone": tuple((words, "sufficiency") for words in COMPARED),
    "selection": tuple((words, "auprc") for words in COMPARED),
    "told by places": tuple(
        ("own", name) for name in ("places_right", "length_right", "majority_right", "places_gain")
    ),
}

Key = tuple[str, str, str, str, str]


@pytest.fixture(scope="module")
def table() -> dict[Key, dict[str, str]]:
    with (DOCS / "selections" / "selections.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {(r["corpus"], r["model"], r["selector"], r["words"], r["measure"]): r for r in rows}
    assert len(found) == len(rows)
    return found


@pytest.fixture(scope="module")
def shown() -> list[tuple[str, tuple[str, str, str], list[str]]]:
    """Every row of the page's tables: which table, which model, the cells after the name."""
    found, heading = [], ""
    for line in (DOCS / "explanation" / "selections.md").read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or set(cells[1]) <= set("-: "):
            continue
        if cells[1] in COLUMNS:
            heading = cells[1]
            continue
        if ": " not in cells[0]:  # the verdict's
            continue
        corpus, rest = cells[0].split(": ")
        selector, _, model = rest.partition(" of ")
        found.append((heading, (NAMES[corpus], NAMES[model], NAMES[selector]), cells[1:]))
    return found


def of(table: dict[Key, dict[str, str]], key: tuple[str, str, str], words: str, measure: str) -> dict[str, str]:
    own = "diffmask" if key[2] == "diffmask" else "selection"
    if words == "full":
        return table[(*key[:2], "none", "all", measure)]
    if words == "decides":
        return table[(*key, own, "right")] if own == "diffmask" else table[(*key, "all", measure)]
    named = {"own": own, "− random": f"{own} − random", "− first": f"{own} − first_words"}.get(words, words)
    return table[(*key, named, measure)]


def test_every_figure_is_that_of_the_table(table, shown):
    assert {key for _, key, _ in shown} == {key[:3] for key in table if key[2] != "none"}
    for heading, key, cells in shown:
        assert len(cells) == len(COLUMNS[heading])
        for cell, (words, measure) in zip(cells, COLUMNS[heading], strict=True):
            row = of(table, key, words, measure)
            expected = [float(row[name]) for name in ("value", "low", "high")]
            given = [float(part.replace("−", "-")) for part in FIGURE.fullmatch(cell).groups()]
            assert given == pytest.approx(expected, abs=6e-4), (heading, key, words, measure)


def test_every_selection_stands_in_every_table(shown):
    keys = {key for _, key, _ in shown}
    for heading in COLUMNS:
        assert sorted(key for where, key, _ in shown if where == heading) == sorted(keys)


def bounds(cell: str) -> list[tuple[float, float]]:
    """The intervals of the single seeds."""
    return [(float(low), float(high)) for low, high in re.findall(r"\[(-?[\d.]+), (-?[\d.]+)\]", cell)]


def test_the_smuggler_is_seen_and_the_others_are_not(table):
    for key in {key[:3] for key in table if key[2] in ("hardkuma", "lei", "smuggler")}:
        told, most = (
            bounds(table[(*key, "selection", name)]["by_seed"]) for name in ("places_right", "majority_right")
        )
        gain = float(table[(*key, "selection", "places_gain")]["value"])
        seen = gain > 0.2 and all(a[0] > b[1] for a, b in zip(told, most, strict=True))
        assert seen == (key[2] == "smuggler"), key


def test_small_and_accurate_where_the_page_says_so(table):
    for selector in ("hardkuma", "lei"):
        key = ("eraser_movies", "average", selector)
        assert float(table[(*key, "selection", "share")]["high"]) < 0.25
        assert float(table[(*key, "all − full", "accuracy")]["value"]) > -0.05


def test_single_seeds_are_those_of_the_table(table):
    """Figures of single seeds that the page names: what HardKuma's are on SST, and who loses more than 5 points."""
    page = " ".join((DOCS / "explanation" / "selections.md").read_text("utf-8").split())

    def seeds(*key: str) -> list[float]:
        return [float(value) for value in re.findall(r"(-?[\d.]+) \[", table[key]["by_seed"])]

    first, second, third = seeds("sst", "bilstm", "hardkuma", "all", "accuracy")
    full = seeds("sst", "bilstm", "none", "all", "accuracy")
    assert f"loses {100 * (full[0] - first):.1f} points with seed 0" in page
    assert f"whose accuracy is .{1000 * second:.0f} and .{1000 * third:.0f}" in page
    movies = seeds("eraser_movies", "average", "none", "all", "accuracy")
    lei = [
        100 * (b - a) for a, b in zip(seeds("eraser_movies", "average", "lei", "all", "accuracy"), movies, strict=True)
    ]
    assert [value > 5 for value in lei] == [False, False, True]
    assert f"third loses {lei[2]:.1f} points" in page
    masked = ("eraser_movies", "bilstm", "diffmask", "diffmask", "right")
    read = seeds("eraser_movies", "bilstm", "none", "all", "accuracy")
    assert [b - a > 0.05 for a, b in zip(seeds(*masked), read, strict=True)] == [True, False, True]


def test_the_sentences_say_what_the_table_holds(table):
    page = " ".join((DOCS / "explanation" / "selections.md").read_text("utf-8").split())

    def value(corpus: str, model: str, selector: str, words: str, measure: str) -> float:
        return float(table[corpus, model, selector, words, measure]["value"])

    def percent(share: float) -> str:
        return f"{100 * share:.0f} %"

    def points(difference: float) -> str:
        return f"{100 * difference:+.1f}".replace("-", "−")

    movies, kept, masked = "eraser_movies", "selection", "diffmask"
    shares = [percent(value(movies, "average", name, kept, "share")) for name in ("hardkuma", "lei")]
    apart = [points(value(movies, "average", name, "all − full", "accuracy")) for name in ("hardkuma", "lei")]
    lost = {
        corpus: points(
            value(corpus, "bilstm", "none", "all", "accuracy") - value(corpus, "bilstm", masked, masked, "right")
        )[1:]
        for corpus in (movies, "sst")
    }
    by_class = [
        percent(value(corpus, "bilstm", masked, masked, f"share of {name}"))
        for corpus in (movies, "sst")
        for name in ("negative", "positive")
    ]
    lei = points(value("sst", "bilstm", "lei", "all − full", "accuracy"))[1:]
    rest = percent(1 - value(movies, "bilstm", masked, masked, "share"))
    told = percent(value("sst", "bilstm", "smuggler", kept, "places_right"))
    mini = ("sst", "all-MiniLM-L6-v2", masked, masked)
    mini_by_class = [percent(value(*mini, f"share of {name}")) for name in ("negative", "positive")]
    for said in (
        f"read {shares[0]} and {shares[1]} of the words and are {apart[0]} and {apart[1]} points from",
        f"can do without {rest} of a review's words, at a cost of {lost[movies]} points",
        f"which alone tell {told} of its predictions",
        f"and on SST it keeps {percent(value(*mini, 'share'))}",
        f"{mini_by_class[0]} are kept where negative and {mini_by_class[1]} where positive, so that places tell "
        f"{percent(value(*mini, 'places_right'))} of predictions",
        f"lose {lei} points on SST. Of BiLSTMs DiffMask keeps few enough on both, and loses {lost[movies]} points on "
        "ERASER",
        f"and {lost['sst']} on SST.",
        f"keep {by_class[0]} of the words of reviews that are predicted negative, and {by_class[1]} where positive "
        f"(SST: {by_class[2]} and {by_class[3]})",
    ):
        assert said in page, said


def test_the_sentences_about_minilm_say_what_the_table_holds(table):
    page = " ".join((DOCS / "explanation" / "selections.md").read_text("utf-8").split())

    def row(corpus: str, words: str, measure: str, selector: str = "diffmask") -> dict[str, str]:
        return table[corpus, "all-MiniLM-L6-v2", selector, words, measure]

    def value(*key: str) -> float:
        return float(row(*key)["value"])

    def seeds(*key: str) -> list[float]:
        return [float(cell.partition(" ")[0]) for cell in row(*key)["by_seed"].split("; ")]

    def below(corpus: str) -> float:
        return 100 * (value(corpus, "all", "accuracy", "none") - value(corpus, "diffmask", "right"))

    def beaten(corpus: str, measure: str, sign: int) -> list[int]:
        """In how many seeds random and first words are, by the intervals of single seeds."""
        own, *others = (bounds(row(corpus, name, measure)["by_seed"]) for name in ("diffmask", "random", "first_words"))
        return [sum(sign * (a[sign < 0] - b[sign > 0]) > 0 for a, b in zip(own, of, strict=True)) for of in others]

    movies, kept = "eraser_movies", "diffmask"
    whole = (kept, "share, whole texts too")
    few = (kept, "positive where under 5 % is kept")
    apart = [-100 * part for part in seeds(movies, f"{kept} − all", "accuracy")]
    shares = [100 * share for share in seeds(movies, kept, "share")]
    assert beaten(movies, "sufficiency", -1) == [0, 0]
    assert beaten("sst", "sufficiency", -1) == [2, 1]
    assert beaten(movies, "auprc", 1) == [0, 0]
    assert beaten("sst", "auprc", 1) == [1, 2]
    assert min(seeds("sst", kept, "share")) > 0.25
    assert seeds(movies, *few) == [1, 1, 0]
    assert float(row(movies, f"{kept} − first_words", "auprc")["high"]) < 0
    for said in (
        "ERASER: {:.0f} % in the mean ({:.0f}, {:.1f} and {:.0f} %), {:.0f} % where".format(
            100 * value(movies, kept, "share"), *shares, 100 * value(movies, *whole)
        ),
        f"ERASER: {below(movies):.1f} points below that of all reviews",
        "which seed it is decides ({:.1f}, {:.1f} and {:.1f})".format(*apart).replace("-", "−"),
        "SST: {:.1f} points, {:.1f} on the same sentences".format(
            below("sst"), -100 * value("sst", f"{kept} − all", "accuracy")
        ),
        "({:.0f} % on SST;".format(100 * value("sst", *few)),
        "an AUPRC of .{:.0f} and .{:.0f}".format(*(1000 * seeds("sst", kept, "auprc")[seed] for seed in (0, 2))),
        "an accuracy of .{:.0f}, .{:.0f} and .{:.0f}".format(
            *(100 * part for part in seeds(movies, "all", "accuracy", "none"))
        ),
        "single word is .{:.0f} nats".format(100 * seeds(movies, kept, "divergence")[1]),
        "reviews move by .{:.0f} nats".format(100 * seeds(movies, kept, "divergence")[0]),
    ):
        assert said in page, said


def test_what_the_verdict_says_is_what_its_table_holds():
    with (DOCS / "selections" / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    page = (DOCS / "explanation" / "selections.md").read_text("utf-8")
    assert len(rows) == 9
    for name, selector in (("HardKuma", "hardkuma"), ("Lei et al.", "lei"), ("smuggler", "smuggler")):
        some = [row for row in rows if row["selector"] == selector]
        (line,) = (line for line in page.splitlines() if line.startswith(f"| {name} | "))
        cells = [cell.strip() for cell in line.strip("|").split("|")][1:]
        for cell, column in zip(cells, ("accuracy", "held", "held_unknown"), strict=False):
            assert [float(one) for one in cell.split()] == pytest.approx([float(r[column]) for r in some], abs=0.006)
        for cell, use in zip(cells[3:], ("reason", "check", "one"), strict=True):
            told = {one.rpartition(" (")[0]: int(one.rpartition(" (")[2].rstrip(")")) for one in cell.split(", ")}
            assert told == {answer: [r[use] for r in some].count(answer) for answer in told}
            assert sum(told.values()) == len(some)
    answers = {(row["selector"], row["reason"]) for row in rows}
    assert {answer for selector, answer in answers if selector == "smuggler"} == {"cannot say"}
    assert "no" not in {answer for _, answer in answers}
    assert sum(row["reason"] == "yes" for row in rows) == 1


def test_the_bottlenecks_table_is_that_of_its_file():
    page = (
        (DOCS / "explanation" / "selections.md")
        .read_text("utf-8")
        .partition("<!-- bottleneck -->")[2]
        .partition("<!-- end -->")[0]
    )
    with (DOCS / "selections" / "bottleneck.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    cells = {tuple(cell.strip() for cell in line.strip("|").split("|")) for line in page.splitlines() if " [" in line}
    shown = {cell for line in cells for cell in line[1:]}
    assert len(rows) == 2 * len(cells) == 24
    for row in rows:
        value, low, high = (
            f"{float(row[name]):.3f}".replace("0.", ".").replace("-", "−") for name in ("value", "low", "high")
        )
        assert f"{value} [{low}, {high}]" in shown
        assert float(row["low"]) <= float(row["value"]) <= float(row["high"])
    at = {(row["words"], row["measure"]): row for row in rows}
    for words in ("information_bottleneck", "information_bottleneck(beta=1.0)"):
        assert (
            float(at[f"{words} − random", "sufficiency"]["high"]) < 0 < float(at[f"{words} − random", "auprc"]["low"])
        )
        assert float(at[f"{words} − diffmask", "sufficiency"]["high"]) < 0
        assert float(at[f"{words} − diffmask", "auprc"]["low"]) < 0 < float(at[f"{words} − diffmask", "auprc"]["high"])
        assert float(at[f"{words} − attention", "auprc"]["high"]) < 0


def test_what_students_t_says_of_the_seeds_is_of_the_table(table: dict[Key, dict[str, str]]) -> None:
    page = " ".join((DOCS / "explanation" / "selections.md").read_text("utf-8").split())
    settled = set()
    for corpus, model, selector, words, measure in table:
        if words in ("selection", "diffmask") and measure in ("auprc", "sufficiency") and selector != "smuggler":
            for others in ("random", "first_words"):
                own, beside = (
                    by_seed(table[corpus, model, selector, those, measure]["by_seed"]) for those in (words, others)
                )
                apart = [mine - theirs for mine, theirs in zip(own, beside, strict=True)]
                mean, half = sum(apart) / len(apart), half_width([(1.0, apart)])
                if (corpus, measure, others) == ("eraser_movies", "auprc", "random") and model != NAMES["MiniLM"]:
                    assert selector == "phrases" or f"{mean:.2f} ± {half:.2f}".replace("0.", ".") in page
                if abs(mean) > half and (mean > 0) == (measure == "auprc"):
                    settled.add((corpus, model, selector, measure, others))
    both = [("auprc", "random"), ("auprc", "first_words"), ("sufficiency", "random"), ("sufficiency", "first_words")]
    expected = {
        *(("sst", "bilstm", selector, *one) for selector in ("lei", "diffmask") for one in both),
        *(("eraser_movies", "average", selector, *one) for selector in ("hardkuma", "lei") for one in both[1:]),
        *(("eraser_movies", "average", "phrases", *one) for one in both),
    }
    assert settled == expected


def by_seed(text: str) -> list[float]:
    return [float(part.partition(" ")[0]) for part in text.split("; ")]
