"""The page on sources says what its files hold, figure by figure."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.sources.files import read
from scripts.sources.tables import VALUE, Tables, hits, shares, tables, verdict, with_tables
from scripts.sources.weights import DECIDE, DO, UNSETTLED, ruled, stays_at

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "sources"


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / "explanation" / "sources.md").read_text("utf-8")


def test_every_table_is_made_of_the_files(page: str) -> None:
    made = tables(FOLDER)
    for name, lines in made.items():
        assert f"<!-- {name} -->" in page, name
        assert "\n".join(lines) in page, name
    assert with_tables(page, made) == page


def test_the_files_belong_together() -> None:
    questions = {(row["model"], row["id"]): row for row in read(FOLDER, "questions.csv")}
    for row in read(FOLDER, "methods.csv"):
        question = questions[row["model"], row["id"]]
        assert 0 <= int(row["first"]) < len(question["drops"].split())
    for row in read(FOLDER, "peers.csv"):
        assert questions["smollm2", row["id"]]["confirmed"] == "1"
    for question in questions.values():
        if question["confirmed"] == "1":
            assert question["right"] == "1"
    values = [row for (model, _), row in questions.items() if model == f"smollm2{VALUE}"]
    assert sum(row["confirmed"] == "1" for row in values) >= 300


def test_the_first_sentences_say_what_the_files_hold(page: str) -> None:
    values = Tables(FOLDER, f"smollm2{VALUE}")
    flat = " ".join(page.split())

    def shown(method: str) -> str:
        found = hits(values.of(method))
        return f"{100 * found.value:.0f} % [{100 * found.low:.0f}, {100 * found.high:.0f}]"

    count = len(values.of("attention"))
    assert f"first for {shown('attention')} of {count} confirmed values" in flat
    assert f"finds one for {shown('leave_one_out')}" in flat
    assert f"which ask no model, for {shown('shared_words')}" in flat
    injected = [(values.questions[row["id"]], row) for row in values.rows if values.questions[row["id"]]["injected"]]
    for method, said in (("attention", "it (40 of 40) or not (23 of 23)"), ("leave_one_out", "(39 of 40 and 0 of 23)")):
        obeyed, other = (
            [
                row["first"] == q["injected"]
                for q, row in injected
                if row["method"] == method and q["follows"] == follows
            ]
            for follows in ("1", "0")
        )
        found = f"{sum(obeyed)} of {len(obeyed)}", f"{sum(other)} of {len(other)}"
        assert all(part in said for part in found)
        assert said in flat


def test_no_way_of_looking_is_supported_as_the_page_says() -> None:
    for model in ("smollm2", f"smollm2{VALUE}"):
        found = Tables(FOLDER, model)
        words = shares(found.of("shared_words"))
        looking = [name for name in found.methods if name.startswith(("attention", "rollout", "learnt"))]
        assert {verdict(shares(found.of(name)), words) for name in looking} <= {"mixed", "against"}
        every = [verdict(shares(found.layer(number)), words) for number in range(1, found.layers + 1)]
        assert "supports" not in every


def test_other_weights_do_where_the_page_says() -> None:
    found = {place: ruled(stays) for place, (stays, _) in stays_at(FOLDER).items()}
    assert found["layers 21 to 30"] == DECIDE
    assert found["learnt heads"] == DO
    assert {place for place, what in found.items() if what == UNSETTLED} == {"all layers", "layer 24"}
