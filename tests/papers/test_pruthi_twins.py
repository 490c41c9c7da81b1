"""The tables on Pruthi et al.'s page are those of the models beside it, and kinds follow the rule as it is written."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict

import pytest
from scipy.stats import binomtest

from attentest.papers import PAPERS

MINILM, LONGER = "all-MiniLM-L6-v2", "none, trained longer"
TRANSLATOR = "bigru(hidden=64), trained longer"
FOLDER = PAPERS["pruthi_2020"].folder
ANSWERS = ("no", "with care", "yes", "cannot say")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    with (FOLDER / "twins.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def tables() -> dict[str, list[list[str]]]:
    """The page's tables by their first heads: cells of every row."""
    found: dict[str, list[list[str]]] = defaultdict(list)
    head = ""
    for line in (FOLDER / "page.md").read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith(("| corpus", "| λ", "| use ")):
            head = cells[2]
        elif line.startswith("|") and "---" not in line:
            found[head].append(cells)
    return found


def test_kinds_are_those_of_the_rule(rows):
    honest = {(r["corpus"], r["encoder"], r["attention"], r["seed"]): r for r in rows if float(r["weight"]) == 0}
    for row in rows:
        twin = honest[row["corpus"], row["encoder"], row["attention"], row["seed"]]
        follows, own = float(twin["followed"]), float(row["followed"])
        hides = float(row["mass"]) <= 0.05
        if row is twin:
            expected = "honest" if own > 0.5 else "neither"
        else:
            expected = "deceptive" if hides and own > 0.5 and own >= follows - 0.1 else "neither"
        assert row["kind"] == expected, row["run"]
    assert len({row["run"] for row in rows}) == len(rows)


def test_the_confusion_table_counts_every_model_once(rows, tables):
    counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for row in rows:
        counts[row["corpus"], row["encoder"], row["kind"]][row["answer_reason"]] += 1
        counts["**all**", "", row["kind"]][row["answer_reason"]] += 1
    shown = {tuple(cells[:3]): [int(cell) for cell in cells[3:]] for cells in tables["kind"]}
    assert shown == {key: [found.total(), *(found[a] for a in ANSWERS)] for key, found in counts.items()}
    assert sum(shown["**all**", "", kind][0] for kind in ("deceptive", "honest", "neither")) == len(rows)


def test_all_three_uses_are_counted(rows, tables):
    for _, kind, models, *counts in tables["models"]:
        some = [row for row in rows if row["kind"] == kind]
        assert int(models) == len(some) == sum(map(int, counts))
    shown = {tuple(cells[:2]): cells[3:] for cells in tables["models"]}
    check = Counter(row["answer_check"] for row in rows if row["kind"] == "deceptive")
    assert shown["Check where the model looks", "deceptive"] == [str(check[answer]) for answer in ANSWERS]
    said = f"*yes* of {check['yes']} of the {check.total()}, and *no* of three, all with embeddings alone"
    assert said in " ".join((FOLDER / "page.md").read_text("utf-8").split())
    assert [r["encoder"] for r in rows if (r["kind"], r["answer_check"]) == ("deceptive", "no")] == [LONGER] * 3


def test_what_the_verdict_means_counts_the_same_models(rows):
    page = FOLDER.parents[3] / "docs" / "explanation" / "what-the-verdict-means.md"
    deceptive = [row for row in rows if row["kind"] == "deceptive"]
    check, reason = (
        sum(row[use] == answer for row in deceptive)
        for use, answer in (("answer_check", "yes"), ("answer_reason", "no"))
    )
    text = " ".join(page.read_text("utf-8").split())
    assert f"Of [{len(deceptive)} models that hide the words they decide by]" in text
    assert f"{check} get a *yes* here, and {reason} a *no* for `reason`" in text


def test_means_are_those_of_the_models(rows, tables):
    groups = defaultdict(list)
    for row in rows:
        name = f"{float(row['weight']):g}{', max' if row['heads'] == 'max' else ''}"
        groups[row["corpus"], row["encoder"], name].append(row)
    assert len(tables["λ"]) == len(groups)
    for corpus, encoder, name, seeds, *values, hides, _ in tables["λ"]:
        some = groups[corpus, encoder, name]
        assert int(seeds) == len(some) == len({row["seed"] for row in some})
        for column, value in zip(("accuracy", "mass", "followed", "rest_followed"), values, strict=True):
            mean = 100 * sum(float(row[column]) for row in some) / len(some)
            assert float(value) == pytest.approx(mean, abs=0.06)
        deceptive = sum(row["kind"] == "deceptive" for row in some)
        assert hides == ("–" if name == "0" else f"{deceptive} of {len(some)}")


def test_the_papers_figures_beside_ours_are_those_that_were_recalled(tables):
    with (FOLDER / "claims.csv").open(encoding="utf-8") as file:
        given = {(row["dataset"], row["model"], row["measure"]): row["value"] for row in csv.DictReader(file)}
    corpora = {"deceptive_pronoun": "Pronoun", "deceptive_sst_wiki": "SST+Wiki", "bigram_flip": "Bigram flip"}
    models = {"none": "embedding", LONGER: "embedding", "bilstm(hidden=64)": "bilstm", "bigru(hidden=64)": "translator"}
    models["all-MiniLM-L6-v2"] = "transformer"
    trained = {"0": "honest", "0.1": "λ = .1", "1": "λ = 1", "0.1, max": "λ = .1, max", "1, max": "λ = 1, max"}
    seen = 0
    for corpus, encoder, name, *_, theirs in tables["λ"]:
        if corpus in corpora and encoder in models:
            model = f"{models[encoder]}, {trained[name]}"
            figures = [given[corpora[corpus], model, measure] for measure in ("accuracy", "mass")]
            assert theirs == ", ".join(figures)
            seen += 1
    assert seen >= 20


def test_what_the_page_begins_with_is_what_came_out(rows):
    text = " ".join((FOLDER / "page.md").read_text("utf-8").partition("## Accuracy")[0].split())
    deceptive = [row for row in rows if row["kind"] == "deceptive"]
    caught = sum(row["answer_reason"] == "no" for row in deceptive)
    assert f"*no* of {caught} of {len(deceptive)} deceptive models" in text
    honest = [row for row in rows if row["kind"] == "honest"]
    assert f"*no* of none of {len(honest)} honest twins" in text
    assert not any(row["answer_reason"] == "no" for row in honest)
    told = Counter(row["answer_reason"] for row in honest)
    counted = (told[answer] for answer in ("yes", "with care", "cannot say"))
    assert "*yes* of {}, *with care* of {}, and *cannot say* of {}".format(*counted) in text
    missed = Counter(row["answer_reason"] for row in deceptive)
    assert (missed["with care"], missed["cannot say"], missed["yes"]) == (3, 2, 0)
    assert "*with care* of three, which are misses, and *cannot say* of two" in text
    trained_here = [row for row in rows if row["encoder"] != MINILM]
    shorter = [row for row in trained_here if "longer" not in row["encoder"]]
    alone = [row for row in shorter if row["encoder"] == "none" or row["corpus"] != "deceptive_pronoun"]
    assert {row["encoder"] for row in alone} == {"none", "bilstm(hidden=64)", "bigru(hidden=64)"}
    assert not any(row["kind"] == "deceptive" for row in alone)
    assert len({row["corpus"] for row in deceptive}) == 5
    low, high = (round(100 * bound) for bound in binomtest(caught, len(deceptive)).proportion_ci(method="wilson"))
    assert f"({100 * caught / len(deceptive):.0f} % [{low}, {high}])" in text
    pronoun = [row for row in rows if row["corpus"] == "deceptive_pronoun" and row["encoder"] == "bilstm(hidden=64)"]
    assert len({row["seed"] for row in pronoun if row["kind"] == "deceptive"}) >= 5
    for weight, mass in (("0.0", "96.6"), ("0.1", "1.5"), ("1.0", "0.0")):
        some = [float(row["mass"]) for row in pronoun if row["weight"] == weight]
        assert f"{100 * sum(some) / len(some):.1f}" == mass
        assert f"{mass} %" in text


def test_what_the_page_says_of_generation_is_what_came_out(rows):
    page = " ".join((FOLDER / "page.md").read_text("utf-8").split())
    every = [row for row in rows if row["corpus"] in ("bigram_flip", "sequence_copy", "sequence_reverse")]
    made = [row for row in every if row["encoder"] != TRANSLATOR]
    longer = [row for row in every if row["encoder"] == TRANSLATOR]
    hides, twins = ([row for row in longer if row["weight"] == weight] for weight in ("10.0", "0.0"))
    assert {(row["kind"], row["answer_reason"]) for row in hides} == {("deceptive", "no")}
    assert {(row["kind"], row["answer_reason"]) for row in twins} == {("honest", "with care")}
    assert len(hides) == len(twins) == len(longer) / 2 == 15
    assert max(float(row["mass"]) for row in hides) <= 0.00149
    assert min(float(row[name]) for row in hides for name in ("accuracy", "followed")) >= 0.995
    assert not any(row["kind"] == "deceptive" for row in made)
    hidden = [row for row in made if row["weight"] == "1.0"]
    assert len({row["corpus"] for row in hidden}) == 3
    for column, ends in (("mass", "falls to {} to {} %"), ("accuracy", "accuracy to {} to {} %")):
        shares = [100 * float(row[column]) for row in hidden]
        assert ends.format(f"{min(shares):.0f}", f"{max(shares):.0f}") in page
    honest = Counter(row["answer_reason"] for row in made if row["kind"] == "honest")
    assert set(honest) == {"with care", "cannot say"}
    assert (
        f"Of {honest.total()} honest ones that copy, reverse or flip it says *with care* {honest['with care']} times"
        in page
    )


def test_what_the_page_says_of_embeddings_trained_longer_is_what_came_out(rows):
    page = " ".join((FOLDER / "page.md").read_text("utf-8").split())
    some = [row for row in rows if row["encoder"] == LONGER]
    by_weight = {weight: [row for row in some if row["weight"] == weight] for weight in ("0.0", "0.1", "1.0")}
    assert {len(found) for found in by_weight.values()} == {5}
    kinds = {weight: {row["kind"] for row in found} for weight, found in by_weight.items()}
    assert kinds == {"0.0": {"honest"}, "0.1": {"neither"}, "1.0": {"deceptive"}}
    hidden = by_weight["1.0"]
    assert Counter(row["answer_reason"] for row in hidden) == {"no": 2, "with care": 2, "cannot say": 1}
    assert {row["answer_reason"] for row in by_weight["0.0"]} == {"yes"}
    left, right = 100 * mean(hidden, "mass"), 100 * mean(hidden, "accuracy")
    assert f"at λ = 1 ({left:.1f} % of the attention is left) and are right in {right:.1f} %" in page
    twins = {row["seed"]: float(row["accuracy"]) for row in by_weight["0.0"]}
    (worse,) = (row for row in some if float(row["accuracy"]) < twins[row["seed"]] - 0.01)
    assert worse["weight"] == "0.1"
    assert f"is right in {100 * float(worse['accuracy']):.1f} %" in page


def test_what_the_page_says_of_minilm_on_pronouns_is_what_came_out(rows):
    page = " ".join((FOLDER / "page.md").read_text("utf-8").split())
    twins, asked = of_minilm(rows, "deceptive_pronoun")
    assert {row["kind"] for row in twins.values()} == {"honest"}
    assert "no" not in {row["answer_reason"] for row in twins.values()}
    deceptive = sum(row["kind"] == "deceptive" for row in asked)
    assert f"A fine-tuned MiniLM does the same ({deceptive} of 20 models)" in page
    assert f"all 20 are deceptive. {deceptive} are; the other keeps" in page
    no = sum(row["answer_reason"] == "no" for row in asked)
    assert f"at least 18 of the 20 models that were asked to hide the pronouns ({no})" in page
    unsaid = Counter(row["kind"] for row in (*twins.values(), *asked) if row["answer_reason"] == "cannot say")
    assert unsaid == {"deceptive": 1, "honest": 1}
    (other,) = (row for row in asked if row["kind"] == "neither")
    assert other["answer_reason"] == "no"
    assert f"keeps {100 * float(other['mass']):.1f} % of its attention on pronouns" in page


def test_what_the_page_says_of_minilm_on_sst_wiki_is_what_came_out(rows):
    page = " ".join((FOLDER / "page.md").read_text("utf-8").split())
    twins, asked = of_minilm(rows, "deceptive_sst_wiki")
    assert {row["kind"] for row in twins.values()} == {"honest"}
    assert Counter(row["answer_reason"] for row in twins.values()) == {"yes": 3, "cannot say": 2}
    assert {row["answer_reason"] for row in asked} == {"no"}
    assert {row["kind"] for row in asked} == {"deceptive"}
    assert "all 20 such models hide the whole review" in page
    assert f"their twins give {100 * mean(twins.values(), 'mass'):.1f} %" in page
    assert f"(at most {100 * max(float(row['mass']) for row in asked):.1f} % it is)" in page
    lost = [
        100 * (mean(twins.values(), "accuracy") - mean([row for row in asked if row["weight"] in weights], "accuracy"))
        for weights in (("0.1", "1.0"), ("0.1",), ("1.0",))
    ]
    assert "({:.1f} on average: {:.1f} at λ = .1, {:.1f} at λ = 1)".format(*lost) in page


def of_minilm(rows, corpus: str):
    """Its twins by their seeds, and the models that were asked to hide words."""
    some = [row for row in rows if (row["corpus"], row["encoder"]) == (corpus, MINILM)]
    twins = {row["seed"]: row for row in some if row["weight"] == "0.0"}
    asked = [row for row in some if row["weight"] != "0.0"]
    assert (len(twins), len(asked)) == (5, 20)
    return twins, asked


def test_what_the_page_says_of_translation_is_what_came_out(rows):
    page = " ".join((FOLDER / "page.md").read_text("utf-8").split())
    some = [row for row in rows if row["corpus"] == "multi30k_aligned"]
    by_weight = {weight: [row for row in some if row["weight"] == weight] for weight in ("0.0", "0.1", "1.0")}
    assert {len(found) for found in by_weight.values()} == {5}
    own, little, much = (mean(found, "bleu") for found in by_weight.values())
    assert f"({own:.1f} to {little:.1f})" in page
    assert f"BLEU falls to {much:.1f}" in page
    assert f"linked words keep {100 * mean(by_weight['1.0'], 'mass'):.1f} % of the attention" in page
    assert {row["kind"] for row in some} == {"neither"}
    assert max(mean(found, "followed") for found in by_weight.values()) <= 0.05
    assert {row["answer_reason"] for row in by_weight["1.0"]} == {"no"}
    assert {row["answer_reason"] for row in (*by_weight["0.0"], *by_weight["0.1"])} == {"with care"}


def mean(rows, column: str) -> float:
    values = [float(row[column]) for row in rows]
    return sum(values) / len(values)


def test_uniform_attention_is_shown_as_it_was_measured(tables):
    with (FOLDER / "uniform.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with (FOLDER / "claims.csv").open(encoding="utf-8") as file:
        given = {(row["dataset"], row["model"], row["measure"]): row["value"] for row in csv.DictReader(file)}
    assert [cells[0] for cells in tables["accuracy"]] == sorted({row["corpus"] for row in rows})
    for corpus, seeds, *values, theirs in tables["accuracy"]:
        some = [row for row in rows if row["corpus"] == corpus]
        assert int(seeds) == len(some) == len({row["seed"] for row in some})
        for column, value in zip(("accuracy", "mass"), values, strict=True):
            assert float(value) == pytest.approx(100 * sum(float(row[column]) for row in some) / len(some), abs=0.06)
        called = corpus.capitalize().replace("_", " ")
        assert theirs == ", ".join(given[called, "translator, uniform", measure] for measure in ("accuracy", "mass"))


def test_bleu_is_the_mean_of_the_seeds(rows, tables):
    for weight, seeds, bleu, ends, mass, follows, _ in tables["BLEU"]:
        some = [row for row in rows if row.get("bleu") and float(row["weight"]) == float(weight)]
        scores = [float(row["bleu"]) for row in some]
        assert int(seeds) == len(some)
        assert float(bleu) == pytest.approx(sum(scores) / len(scores), abs=0.06)
        assert ends == f"{min(scores):.1f} … {max(scores):.1f}"
        for column, value in (("mass", mass), ("followed", follows)):
            assert float(value) == pytest.approx(100 * sum(float(row[column]) for row in some) / len(some), abs=0.06)
