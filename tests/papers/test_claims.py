"""Every published figure is carried, unchanged, and every name in it leads to something of ours or to a reason."""

from __future__ import annotations

import csv
import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from attentest.challenges import CHALLENGES
from attentest.data.corpora import CORPORA
from attentest.errors import InputError, UnknownName
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.papers import PAPERS
from attentest.papers.claims import COLUMNS, load_claims, read_figures
from attentest.papers.rules import read_rules

JAIN = PAPERS["jain_wallace_2019"]
PRINTED = {"jain_wallace_2019": 332, "serrano_smith_2019": 44, "vashishth_2019": 162, "tutek_snajder_2020": 356}
#: Of every claims.csv, so that no figure changes by accident.
DIGESTS = {
    "jain_wallace_2019": "ba074af808db870ff8b22662e7ddb17b3bdab1abb48d39c9b5c58a79c9902edd",
    "serrano_smith_2019": "c0e39ae46a6dddaca39ab1e8867204f4931098a34b07c9da321138480843ddec",
    "vashishth_2019": "e38ecb0fc69639c3569e3f2d6b7926817dcbb37fed814a2f01a37a9e4e33aefb",
    "tutek_snajder_2020": "befcaf351cff06517833503862396bd0f622ec04123f2be8f9e63ce97a15dc4a",
}
#: The names of the released files, and ours.
RELEASED = {
    **{"sst": "SST", "imdb": "IMDB", "tweet": "ADR Tweets", "20News_sports": "20 Newsgroups", "agnews": "AG News"},
    **{"diab": "Diabetes (MIMIC)", "anemia": "Anemia (MIMIC)", "snli": "SNLI"},
    **{f"babi_{i}": f"bAbI {i}" for i in (1, 2, 3)},
    **{"lstm": "bilstm", "average": "average", "tanh": "additive", "dot": "scaled_dot"},
    **{"tau_attn_grad": "tau_gradient", "tau_attn_loo": "tau_leave_one_out"},
    "tau_grad_loo": "tau_gradient_leave_one_out",
}
Figures = Counter[tuple[str, ...]]


def published() -> Path:
    data = os.environ.get("ATTENTEST_DATA")
    folder = Path(data).parent / "published" if data else None
    if folder is None or not folder.is_dir():
        pytest.skip("the published figures are not beside ATTENTEST_DATA")
    return folder


def carried(source: str) -> Figures:
    every = [claim for name in PAPERS for claim in load_claims(name).figures if claim.source == source]
    return Counter(
        (c.paper, c.table, c.corpus, c.model, c.attention, c.measure, c.group, c.printed, c.printed_spread)
        for c in every
    )


def test_all_printed_figures_are_carried() -> None:
    printed = carried("printed")
    assert Counter(key[0] for key in printed.elements()) == PRINTED
    assert printed.total() == 866 + statistics(printed).total()


def statistics(figures: Figures) -> Figures:
    """Those of Serrano & Smith's Table 1, which are claims here and no rows of published.csv."""
    return Counter({key: n for key, n in figures.items() if key[:2] == ("serrano_smith_2019", "Table 1")})


def test_serrano_and_smiths_28_statistics_are_as_they_are_printed() -> None:
    found: dict[str, list[str]] = {}
    for key in statistics(carried("printed")):
        found.setdefault(key[2], []).append(key[7])
    assert sum(map(len, found.values())) == 28
    lines = (published().parent / "seeds" / "003_f9cbadb5460ab6eb.txt").read_text("utf-8").splitlines()
    for corpus, values in found.items():
        row = next(line for line in lines if line.startswith(f"{corpus.partition(' (')[0]}\t"))
        printed = [cell.strip("()").replace(",", "") for cell in row.split("\t")[1:]]
        assert printed == values


def test_all_422_released_results_are_carried_one_figure_a_row() -> None:
    released = [claim for claim in load_claims("jain_wallace_2019").figures if claim.source == "released"]
    means = [c for c in released if c.measure.startswith("tau_") and not c.measure.endswith("_significant_fraction")]
    fractions = [c for c in released if c.measure.endswith("_significant_fraction")]
    assert len(means) == len(fractions) == 422
    assert sum(not claim.printed for claim in means) == 14
    assert Counter(c.measure for c in released if c.measure.startswith("test_")) == {
        "test_accuracy": 72,
        "test_roc_auc": 42,
        "test_f1": 42,
    }


@pytest.mark.parametrize("name", PRINTED)
def test_no_figure_changes_by_accident(name: str) -> None:
    text = (PAPERS[name].folder / "claims.csv").read_bytes()
    assert hashlib.sha256(text).hexdigest() == DIGESTS[name]


def test_printed_figures_are_as_they_were_read() -> None:
    with (published() / "published.csv").open(encoding="utf-8", newline="") as file:
        names = ("paper", "table", "dataset", "model", "attention", "measure", "group", "value", "spread")
        read = Counter(tuple(row[name] for name in names) for row in csv.DictReader(file))
    printed = carried("printed")
    assert read == printed - statistics(printed)


def test_released_figures_are_as_they_were_released() -> None:
    wanted: Figures = Counter()
    models: set[tuple[str, ...]] = set()
    with (published() / "jain_wallace_released.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            corpus = "CNN" if row["dataset"] == "cnn" else RELEASED[row["dataset"]]
            model = "convolution" if row["encoder"] == "cnn" else RELEASED[row["encoder"]]
            about = ("jain_wallace_2019", "released results", corpus, model, RELEASED[row["attention"]])
            measure, group = RELEASED[row["measure"]], "" if row["class"] == "Overall" else row["class"]
            wanted[*about, measure, group, row["mean"], row["std"]] += 1
            wanted[*about, f"{measure}_significant_fraction", group, row["sig_frac"], ""] += 1
            if about not in models:
                models.add(about)
                for ours, theirs in (("accuracy", "accuracy"), ("roc_auc", "roc_auc"), ("f1", "f1_pos")):
                    if row[f"test_{theirs}"]:
                        wanted[*about, f"test_{ours}", "", row[f"test_{theirs}"], ""] += 1
    assert wanted == carried("released")


@pytest.mark.parametrize("name", PAPERS)
def test_every_name_leads_to_something_of_ours_or_to_a_reason(name: str) -> None:
    rules = load_claims(name).rules
    for corpus in rules.corpora.values():
        assert corpus.name or corpus.missing or corpus.reason
        for text in (corpus.name, *corpus.forms):
            if text:
                CORPORA.parse(text)
    for model in rules.models.values():
        assert model.name or model.reason
        # What has settings of its own may be a checkpoint, which no table knows.
        if model.name and not model.apart:
            ENCODERS.parse(model.name)
    for attention in rules.attentions.values():
        assert attention.name or attention.reason
        if attention.name:
            ATTENTIONS.parse(attention.name)
    for note in rules.own.notes:
        assert note.corpus in {"", *rules.corpora}
        assert note.measure in {"", *rules.measures}
        assert note.table in {"", *(claim.table for claim in load_claims(name).figures)}
        for text in note.forms:
            CORPORA.parse(text)


@pytest.mark.parametrize("name", PAPERS)
def test_every_measure_that_is_compared_is_a_measure_of_its_challenge(name: str) -> None:
    for measure in load_claims(name).rules.measures.values():
        if measure.challenge:
            challenge = CHALLENGES.parse(measure.challenge)
            named = set(measure.groups.values() or [measure.measure]) - {""}
            assert named <= {declared.name for declared in challenge.measures}


@pytest.mark.parametrize("name", PAPERS)
def test_every_challenge_parameter_called_harmless_exists(name: str) -> None:
    for challenge, parameters in load_claims(name).rules.harmless.items():
        assert set(parameters) <= set(vars(CHALLENGES.parse(challenge)))


def test_every_direction_says_where_it_stands_or_that_nobody_says_it() -> None:
    directions = [direction for name in PAPERS for direction in load_claims(name).directions]
    assert len({direction.paper for direction in directions}) == len(PAPERS)
    for direction in directions:
        rule = direction.rule
        assert rule.section
        assert rule.reading
        assert rule.quote or rule.recalled or rule.section in ("released results", "Table 2"), rule.name


def test_a_paper_that_is_not_known_is_suggested() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'jain_wallace_2019'"):
        load_claims("jain_walace_2019")


MEASURE = '[measures.m]\nwords = "w"\nchallenge = "c"\nwhy = "y"\n'
BROKEN = [
    ("not_run = 'x'\n[measures.m]\nwords = 'w'\ntolerence = 1.0", ["measures.m.tolerence", "Did you mean 'tolerance'"]),
    ("not_run = 'x'\n[measures.m]\nwords = 'w'", ["measures.m", "'reason'"]),
    (f"not_run = 'x'\n{MEASURE}tolerance = -1", ["measures.m", "-1"]),
    (f"not_run = 'x'\n{MEASURE}tolerance = 'much'", ["measures.m.tolerance", "a number", "'much'"]),
    (f"not_run = 'x'\n{MEASURE}statistic = 'medium'", ["measures.m.statistic", "'medium'"]),
    (f"not_run = 'x'\n{MEASURE}also = ['n']", ["measures.m.also", "'n'"]),
    (f"not_run = 'x'\n{MEASURE}statistic = 'ratio'\ncolumn = 'c'", ["against"]),
    (
        f"not_run = 'x'\n{MEASURE}[[directions]]\nname = 'n'\nquote = ''\nsection = 's'\nreading = 'r'\n"
        "left = { measure = 'm' }\nvalue = 0.5",
        ["directions[0] (n)", "'corpora'"],
    ),
    (f"not_run = 'x'\n{MEASURE}", ["compare.py", "'small_permutation_change'"]),
    ("not_run = 'x'\n[corpora.SST]\nname = 3", ["corpora.SST.name", "a text"]),
    ("not_run = 'x'\n[corpora.SST]\nvectors = 'glov'\n[vectors.glove]\nwords = 'w'", ["Did you mean 'glove'"]),
    ("not_run = 'x'\n[corpora.SST]\ntrain = 'train'", ["corpora.SST.train", "a list"]),
    ("not_run = 'x'\nmodels = 3", ["models", "a table"]),
    ("[settings]\nlimit = [0]", ["lacks 'not_run'"]),
    ("not_run = ", ["is not TOML"]),
    (
        f"not_run = 'x'\n[corpora.SST]\n{MEASURE}[[directions]]\nname = 'n'\nquote = ''\nsection = 's'\nreading = 'r'\n"
        "corpora = ['SSt']\nleft = { measure = 'm' }\nvalue = 0.5",
        ["directions[0] (n).corpora", "Did you mean 'SST'"],
    ),
    (
        "not_run = 'x'\n[[directions]]\nname = 'n'\nquote = ''\nsection = 's'\nreading = 'r'",
        ["directions[0]", "'reason'"],
    ),
]


@pytest.mark.parametrize(("text", "said"), BROKEN)
def test_a_mistake_in_the_rules_is_named_with_its_place(text: str, said: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        read_rules(JAIN, text)
    message = str(caught.value)
    assert message.startswith("papers/jain_wallace_2019/claims.toml")
    assert "\n" not in message
    for words in said:
        assert words in message


ROW = ["jain_wallace_2019", "Table 1", "SST", "bilstm", "additive", "test_f1", "", "0.81", "", "printed"]


@pytest.mark.parametrize(
    ("column", "cell", "said"),
    [
        ("paper", "other", "folder"),
        ("dataset", "SSR", "Did you mean 'SST'"),
        ("model", "bilst", "Did you mean 'bilstm'"),
        ("measure", "test_f2", "[measures.…]"),
        ("value", "high", "not a number"),
        ("spread", "nan", "not a number"),
        ("source", "prnted", "Did you mean 'printed'"),
    ],
)
def test_a_mistake_in_the_figures_is_named_with_its_line(column: str, cell: str, said: str) -> None:
    row: list[Any] = [cell if name == column else value for name, value in zip(COLUMNS, ROW, strict=True)]
    text = "\n".join(",".join(line) for line in (COLUMNS, ROW, row))
    with pytest.raises(InputError, match="line 3") as caught:
        list(read_figures(text, JAIN, read_rules(JAIN)))
    assert said in str(caught.value)


def test_a_measure_of_published_figures_says_why_it_may_differ_by_so_much() -> None:
    text = JAIN.text("claims.toml")
    assert text is not None
    rules = read_rules(JAIN, re.sub(r'why = "one training with one seed, as for F1"\n', "", text))
    line = ",".join("test_accuracy" if cell == "test_f1" else cell for cell in ROW)
    with pytest.raises(InputError, match=r"line 2: \[measures.test_accuracy\] .* add 'why'"):
        list(read_figures(f"{','.join(COLUMNS)}\n{line}", JAIN, rules))


@pytest.mark.slow
def test_claims_are_evaluated_without_torch() -> None:
    code = (
        "import sys, attentest.papers.outcome_files, attentest.report.claims.page\n"
        "from attentest.papers.outcomes import evaluate\n"
        "evaluate('jain_wallace_2019'); print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
