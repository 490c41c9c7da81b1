from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import whole
from tests.support.pairs import pair_model
from tests.support.translations import found, made_up_translations, translator

from attentest.challenges import CHALLENGES
from attentest.data.batches import Encoded
from attentest.data.vocabulary import Vocabulary
from attentest.explainers import EXPLAINERS
from attentest.store.summary import estimate

SPLIT = made_up_translations(12, seed=4)
VOCABULARY = Vocabulary.from_split(SPLIT)
SUBJECT = translator(VOCABULARY)
EXPLAINED = ("attention", "gradient", "random")


def proposals(explainer: str) -> list[tuple[list[tuple[int, int]], set[tuple[int, int]]]]:
    """For every sentence, the links proposed word by word and those given: a loop, from the definition."""
    batch = whole(Encoded.of(SPLIT, VOCABULARY))
    scores = EXPLAINERS.parse(explainer).explain(SUBJECT, batch, SUBJECT.read(batch), batch.labels).scores
    out, row = [], 0
    for instance in SPLIT.table.to_pylist():
        length, proposed = len(instance["tokens"]), []
        for step in range(len(instance["target"])):
            own = scores[row][1 : length + 1].tolist()
            proposed.append((own.index(max(own)), step))
            row += 1
        row += 1
        out.append((proposed, {(int(s), int(t)) for s, t in (link.split("-") for link in instance["alignment"])}))
    return out


@pytest.mark.parametrize("explainer", EXPLAINED)
def test_the_rates_are_those_of_sets_of_links(explainer: str, tmp_path: Path) -> None:
    findings = found("alignment", SPLIT, SUBJECT, VOCABULARY, tmp_path)
    made = proposals(explainer)
    both = sum(len(set(proposed) & given) for proposed, given in made)
    a, g = sum(len(proposed) for proposed, _ in made), sum(len(given) for _, given in made)
    expected = {"precision": both / a, "recall": both / g, "f1": 2 * both / (a + g), "aer": 1 - 2 * both / (a + g)}
    for name, value in expected.items():
        got = estimate(findings, f"{explainer}.{name}")
        assert got.value == pytest.approx(value)
        assert got.low <= value <= got.high
        assert (got.judged, got.not_judged) == (a, len(SPLIT))
    table = findings.rows({"explainer": explainer})
    at = [
        (p, t)
        for p, t in zip(table["proposed_at"].to_pylist(), table["step"].to_pylist(), strict=True)
        if p is not None
    ]
    assert at == [link for proposed, _ in made for link in proposed]


def test_rows_say_which_word_of_which_sentence_they_write_and_keep_the_links(tmp_path: Path) -> None:
    findings = found("alignment(explainers=('attention',))", SPLIT, SUBJECT, VOCABULARY, tmp_path)
    first = SPLIT.table.slice(0, 1).to_pylist()[0]
    rows = [row for row in findings.table.to_pylist() if row["sentence"] == first["id"]]
    assert [row["word"] for row in rows] == [*first["target"], None]
    assert [row["not_judged"] for row in rows] == [None] * len(first["target"]) + ["end of the sentence"]
    assert {row["id"] for row in rows} == {f"{first['id']}@{step}" for step in range(len(rows))}
    links = {f"{s}-{row['step']}" for row in rows for s, linked in enumerate(row["linked"]) if linked}
    assert links == set(first["alignment"])
    assert all(row["tokens"] == first["tokens"] for row in rows)
    assert all(sum(row["scores"]) == pytest.approx(1, abs=1e-5) for row in rows)
    small = found("alignment(explainers=('attention',), per_token=False)", SPLIT, SUBJECT, VOCABULARY, tmp_path)
    assert not {"tokens", "linked", "scores"} & {*small.table.column_names}


def test_it_objects_to_models_that_do_not_write_and_to_corpora_without_links() -> None:
    challenge, (classifies, _) = CHALLENGES.parse("alignment"), pair_model("bigru(hidden=4)")
    assert challenge.objection(classifies, has_rationale=True) == "this is for models that write texts"
    assert challenge.objection(SUBJECT, has_rationale=False) == "the corpus links no words"
    assert challenge.objection(SUBJECT, has_rationale=True) is None
