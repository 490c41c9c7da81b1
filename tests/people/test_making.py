"""Items are drawn by seed, balanced over conditions, labels and sides, and refused where they cannot be made."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.people.made_up_runs import write_planted_run
from tests.report.made_up import write_run

from attentest.errors import InputError, NotApplicable
from attentest.people import DESIGNS, PeopleStudy, Plan, new_study
from attentest.people.design import Draw, in_rationale
from attentest.people.designs.meaningful import Meaningful
from attentest.people.shuffles import first_shuffles
from attentest.people.source import Source, Text, chance, top
from attentest.store.folder import RunFolder


def plain(study: PeopleStudy, kind: str = "item") -> list:
    return [item for item in study.items.values() if item.hidden.kind == kind]


def test_the_same_seed_gives_the_same_items_and_another_seed_others(make) -> None:
    first, again, other = make(name="a"), make(name="b"), make(name="c", seed=1)
    assert first.items == again.items
    assert {i.hidden.text for i in plain(first)} != {i.hidden.text for i in plain(other)}


def test_conditions_are_balanced_by_label_and_no_text_comes_twice(make, planted: RunFolder) -> None:
    study = make(items=60, checks=3, gold=4)
    assert study.record["counts"] == {"item": 60, "check": 3, "gold": 4}
    label = dict(zip(*Source(planted).plain("id", "label"), strict=True))
    counts = Counter((item.hidden.condition, int(label[item.hidden.text])) for item in plain(study))
    assert sum(n for (condition, _), n in counts.items() if condition == "original") == 30
    assert all(abs(counts["original", c] - counts["permuted", c]) <= 1 for c in (0, 1))
    texts = [item.hidden.text for item in study.items.values() if item.hidden.text]
    assert len(set(texts)) == len(texts)
    assert "text-0000" not in texts  # it was not judged


@pytest.mark.parametrize("design", ["compare", "detect"])
def test_sides_are_balanced(make, design: str) -> None:
    study = make(design, items=60)
    if design == "detect":
        sides = Counter(item.hidden.truth for item in plain(study))
    else:
        sides = Counter(item.hidden.facts["left"] for item in plain(study))
    assert abs(np.subtract(*sides.values())) <= 2


def test_marked_words_are_the_largest_weights_and_shuffled_predictions_follow_from_logits(make, planted) -> None:
    study = make(items=60, checks=0, gold=0)
    rows = {row["id"]: row for row in planted.findings("instances").table.to_pylist()}
    for item in plain(study):
        row, panel = rows[item.hidden.text], item.shown.panels[0]
        assert list(panel.tokens) == row["tokens"]
        if item.hidden.condition == "original":
            brute = sorted(range(len(row["attention"])), key=lambda t: -row["attention"][t])[:3]
            assert sorted(panel.marked) == sorted(brute)
            predicted = row["predicted"]
        else:
            draw = chance(0, "permuted", item.hidden.text)
            order = draw.permutation(len(row["attention"]))
            shuffled = [row["attention"][t] for t in order]
            brute = sorted(range(len(shuffled)), key=lambda t: -shuffled[t])[:3]
            assert sorted(panel.marked) == sorted(brute)
            sums = [sum(w * z[c] for w, z in zip(shuffled, row["token_logits"], strict=True)) for c in (0, 1)]
            predicted = sums.index(max(sums))
        assert item.shown.prediction == ("negative", "positive")[predicted]
        assert item.hidden.facts["correct"] == (predicted == row["label"])
        planted_at = row["rationale"].index(True)
        relevant = planted_at in panel.marked and predicted == row["label"]
        assert item.hidden.planted == ("yes" if relevant else "no")


def test_ties_are_drawn_and_signs_do_not_count() -> None:
    found = {top([1.0] * 4, 1, chance("tie", n)) for n in range(60)}
    assert found == {(0,), (1,), (2,), (3,)}
    assert top([0.1, -3.0, 2.0, 0.0], 2, chance(0)) == (1, 2)


@pytest.mark.parametrize(
    ("marked", "rationale", "expected"),
    [
        *(((0, 1, 2), [0], True), ((0, 1, 2), [5], False), ((0, 1, 2), range(6), True)),
        *(((0, 7, 8), range(6), False), ((0, 1, 8), range(6), True), ((0, 1, 2), [], False)),
    ],
)
def test_half_of_the_marked_words_that_could_must_lie_in_the_rationale(marked, rationale, expected) -> None:
    flags = np.zeros(9, dtype=bool)
    flags[list(rationale)] = True
    assert in_rationale(marked, flags) is expected


def test_covered_texts_show_the_marked_words_and_nothing_else(make) -> None:
    for item in plain(make("simulate", checks=0, gold=0)):
        panel = item.shown.panels[0]
        shown = [token for place, token in enumerate(panel.tokens) if place not in panel.marked]
        assert set(shown) <= {"…"}
        assert len(panel.marked) == 3
        assert item.shown.prediction == ""
        assert item.hidden.truth in ("0", "1")


def test_gold_items_follow_the_planted_truth(make) -> None:
    for item in plain(make(items=20, gold=6), "gold"):
        panel = item.shown.panels[0]
        decides = any(panel.tokens[place].startswith("decides") for place in panel.marked)
        assert item.hidden.truth == ("yes" if decides else "no")
    for item in plain(make("compare", name="c", gold=6), "gold"):
        left, right = item.shown.panels
        own = left if item.hidden.truth == "left" else right
        assert own.tokens[own.shades.index(1.0)].startswith("decides")


@pytest.mark.parametrize(("plan", "each"), [({}, 100), ({"overlap": 20, "annotators": 4}, 40)])
def test_checks_and_gold_items_go_by_what_one_person_gets(make, plan: dict[str, int], each: int) -> None:
    study = make(items=100, **plan)
    assert study.record["counts"] == {"item": 100, "check": max(3, each // 25), "gold": max(2, each // 20)}


def test_checks_ask_for_an_answer_by_name(make) -> None:
    study = make(items=20, checks=4)
    checks = plain(study, "check")
    assert sorted(item.hidden.truth for item in checks) == ["no", "no", "yes", "yes"]
    for item in checks:
        wanted = item.choice(item.hidden.truth)
        assert wanted is not None
        assert wanted.words in item.shown.question


def test_two_runs_are_compared_where_they_predict_the_same(make, planted: RunFolder, tmp_path: Path) -> None:
    other = write_planted_run(tmp_path / "planted-2", attends=0.2, seed=0)
    study = make("compare", runs=(planted, other), checks=0, gold=0)
    rows = [{r["id"]: r for r in run.findings("instances").table.to_pylist()} for run in (planted, other)]
    for item in plain(study):
        first, second = (found[item.hidden.text] for found in rows)
        assert first["predicted"] == second["predicted"]
        maps = {"first": first["attention"], "second": second["attention"]}
        for panel in item.shown.panels:
            weights = np.array(maps[item.hidden.facts[panel.title]])
            assert np.allclose(panel.shades, weights / weights.max(), atol=5e-4)


def test_of_a_rationale_that_names_the_label_the_name_decides() -> None:
    tokens = ("anna", "left", "the", "garden", "mary", "went", "to", "the", "garden", "now")
    marks = np.array([False] * 4 + [True] * 6)
    source = Source.__new__(Source)
    source.fields = {"corpus": {"classes": ["kitchen", "garden"]}}
    for label, places in ((1, [8]), (0, [4, 5, 6, 7, 8, 9])):
        text = Text("t", tokens, label, label, {}, rationale=marks)
        assert np.flatnonzero(source.deciding(text)).tolist() == places
    assert source.deciding(Text("t", tokens, 0, 0, {})) is None


def test_a_question_is_shown_beside_its_story(make, tmp_path: Path) -> None:
    run = write_planted_run(tmp_path / "stories", task="answer")
    assert {item.shown.second for item in make(runs=(run,)).items.values()} == {"where is it ?"}


@pytest.mark.slow
def test_the_adversary_can_be_the_foil(tmp_path: Path) -> None:
    run = write_run(tmp_path / "reviews-1", 60)
    design = DESIGNS.parse("detect(foils=('adversary', 'gradient'))")
    study = new_study(tmp_path, "d", [run], design, Plan(items=20))
    assert study.record["conditions"] == {"adversary": 10, "gradient": 10}


@pytest.mark.slow
def test_shuffles_of_a_head_that_is_not_affine_are_those_that_permutation_drew(tmp_path: Path) -> None:
    """The same shuffle by another way: the challenge's own findings of a real, affine model tell what it decided."""
    from tests.conftest import made_up_corpus

    from attentest.runs.describe import describe_run
    from attentest.runs.execute import execute

    described = describe_run(
        corpus=made_up_corpus(),
        encoder="average(hidden=8)",
        epochs=1,
        tokenizer="whitespace",
        challenges=("permutation",),
    )
    execute(described, tmp_path)
    run = RunFolder(tmp_path / described.id)
    source = Source(run)
    assert source.affine
    found = source.decided_by_shuffle()
    texts = {text.id: text for text in source.texts(range(30))}
    assert len(found) > 10
    for key, (decided, order) in found.items():
        text = texts[key]
        assert sorted(order) == list(range(len(text.tokens)))
        assert int((text.scores["attention"][order] @ text.logits).argmax()) == decided
    draft = Meaningful().draft((texts[key],), "permuted", Draw(chance(0)), source, found)
    assert draft is not None
    assert draft.shown.prediction == source.name_of(decided)
    assert first_shuffles([key], [len(texts[key].tokens)], 0)[0].tolist() == order.tolist()


@pytest.mark.parametrize(
    ("design", "plan", "words"),
    [
        ("meaningful", {"items": 500}, "119 texts of 6 to 400 words, and 500 items need as many"),
        ("meaningful", {"items": 20, "longest": 7}, "0 texts of 6 to 7 words"),
        ("meaningful(method='lime')", {}, "keeps no scores of 'lime'. It keeps: attention, gradient"),
        ("detect(foils=('adversary',))", {}, "was not asked 'adversary'"),
        ("detect", {"gold": 3}, "--gold 3: gold items of the design 'detect' need"),
        ("meaningful", {"overlap": 5}, "say to how many"),
        ("meaningful", {"overlap": 30, "annotators": 2}, "more than --items 20"),
        ("meaningful", {"items": 1}, "--items 1 must be at least 2"),
        ("meaningful", {"checks": 100_000_000}, "--checks 100000000 must be at most 10,000"),
        ("meaningful(top=0)", {}, "top=0 must be at least 1"),
        ("compare(second='attention')", {}, "Name two methods"),
        ("simulate(methods=())", {}, "must name at least one"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(make, design: str, plan: dict[str, int], words: str) -> None:
    with pytest.raises((InputError, NotApplicable), match=words.replace("(", r"\(").replace(")", r"\)")):
        make(design, **plan)


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"without": ("tokens",)}, "keeps no scores of single tokens"),
        ({"task": "translate"}, "is a translation"),
        ({"without": ("token_logits",)}, "was not asked 'permutation'"),
    ],
)
def test_runs_that_do_not_tell_enough_are_refused(make, tmp_path: Path, about: dict, words: str) -> None:
    with pytest.raises((InputError, NotApplicable), match=words):
        make(runs=(write_planted_run(tmp_path / "other", **about),))


def test_too_many_classes_and_too_many_runs_are_refused(make, planted: RunFolder, tmp_path: Path) -> None:
    many = write_planted_run(tmp_path / "many", classes=tuple(f"c{n}" for n in range(12)))
    with pytest.raises(NotApplicable, match="12 classes; people can choose from 2 to 9"):
        make("simulate", runs=(many,))
    with pytest.raises(InputError, match="takes 1 run, not 2"):
        make("meaningful", runs=(planted, many))
    with pytest.raises(InputError, match="have other classes"):
        make("compare", runs=(planted, many))


@pytest.mark.parametrize("name", ["", "../up", "a b", ".hidden", "x" * 61, "ä"])
def test_names_that_cannot_stand_in_an_address_are_refused(make, name: str) -> None:
    with pytest.raises(InputError, match="cannot be a study's name"):
        make(name=name)


def test_a_study_is_never_overwritten(make) -> None:
    make()
    with pytest.raises(InputError, match="already holds a study"):
        make()


def test_designs_are_found_and_their_texts_are_theirs(make) -> None:
    assert {"meaningful", "compare", "simulate", "detect"} <= set(DESIGNS)
    study = make()
    assert "relevant for this answer" in study.documents().instructions
    assert "withdraw" in study.documents().consent
    assert study.record["design"] == "meaningful"


@pytest.mark.slow
def test_making_items_needs_no_torch(planted: RunFolder, tmp_path: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from attentest.people import DESIGNS, Plan, new_study
from attentest.store.folder import RunFolder
run = RunFolder(Path({str(planted.path)!r}))
for name in ("meaningful", "compare", "simulate", "detect"):
    new_study(Path({str(tmp_path)!r}), name, [run], DESIGNS.parse(name), Plan(items=20))
print("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_items_are_the_same_after_reading_them_back(make) -> None:
    study = make("compare")
    for line, item in zip(
        (study.path / "items.jsonl").read_text("utf-8").splitlines(), study.items.values(), strict=True
    ):
        assert json.loads(line) == json.loads(json.dumps(item.record()))
