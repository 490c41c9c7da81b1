"""The page on sources says what its files hold, figure by figure."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from scripts.sources.files import read
from scripts.sources.halves import ATTENTION, WORDS, arms, moved, ordered, same_first
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


def test_the_second_family_and_sst_are_told_as_the_files_have_them(page: str) -> None:
    flat = " ".join(page.split())
    small = Tables(FOLDER, "gpt2")
    told = [row for row in small.questions.values() if row["right"]]
    confirmed = sum(row["confirmed"] == "1" for row in told)
    assert f"in {sum(row['right'] == '1' for row in told)} of {len(told)}; in {confirmed} of these" in flat

    def said(method: str) -> str:
        found = hits(small.of(method))
        return f"{100 * found.value:.0f} % [{100 * found.low:.0f}, {100 * found.high:.0f}]"

    assert f"next to nothing**: {said('attention')}" in flat
    assert f"98 questions {said('learnt_heads')}" in flat
    assert f"finds it in {said('attn_lrp')}" in flat
    assert f"Leave-one-out finds {said('leave_one_out')} only, exchanging a passage {said('exchange')}" in flat
    assert max(hits(small.layer(number)).value for number in range(1, small.layers + 1)) < 0.37


def test_verdicts_are_as_often_right_as_the_page_says(page: str) -> None:
    flat = " ".join(page.split())
    rows = read(FOLDER, "origins.csv")
    untold = [row for row in rows if row["origin"] == "none"]
    wrong = [row for row in untold if row["status"] == "sources"]
    assert f"of {len(untold)} values that nobody tells, {len(wrong)} are said to hang" in flat
    improbable = sum(float(row["whole"]) < math.log(0.1) for row in wrong)
    assert f"With all passages {improbable} of the {len(wrong)} still" in flat
    others = [row for row in rows if row["origin"] != "sources"]
    crossed = [row for row in others if {row["origin"], row["status"]} == {"known", "none"}]
    assert f"of {len(others)} answers of these two kinds one is taken" in flat
    assert len(crossed) == 1
    lines = read(FOLDER, "lines.csv")
    for tone, text in (
        ("supports", "of {:,} audits of readings that do not deserve it {} say"),
        ("against", "of {:,} one says"),
    ):
        some = [row for row in lines if row["truth"] != tone]
        wrongly = sum(int(row[tone]) for row in some)
        assert text.format(sum(int(row["audits"]) for row in some), wrongly) in flat
        assert tone == "supports" or wrongly == 1


def test_half_precision_changes_no_conclusion_as_the_page_says(page: str) -> None:
    flat = " ".join(page.split())
    every = arms(FOLDER)
    single, half = every["cuda float32"], every["cuda bfloat16"]
    assert single.methods == half.methods
    for method in single.methods:
        assert method == WORDS or single.ruling(method) == half.ruling(method)
        assert hits(single.confirmed(method)) == hits(half.confirmed(method))
    assert [single.layer(n + 1) for n in range(30)] == [half.layer(n + 1) for n in range(single.layers)]
    assert ordered(single) == ordered(half)
    assert {n: row["status"] for n, row in single.explained.items()} == {
        n: row["status"] for n, row in half.explained.items()
    }
    assert {row["confirmed"] for arm in (single, half) for row in arm.explained.values()} == {"1"}
    falls = moved(single, half)
    assert (
        f"moves by {sorted(falls)[len(falls) // 2]:.2f} nats in the median, {falls.max():.2f} at most".replace(
            " 0.", " ."
        )
        in flat
    )
    assert all(all(same_first(every["cpu bfloat16"], half, method)) for method in every["cpu bfloat16"].methods)
    assert len(every["cpu bfloat16"].explained) == 9
    before = {
        row["id"] for row in read(FOLDER, "questions.csv") if row["model"] == "smollm2" and row["confirmed"] == "1"
    }
    before &= set(single.questions)
    again = before & set(single.explained)
    assert f"of the {len(before)} questions confirmed before among the first {len(single.questions)}" in flat
    assert f"it confirms {len(again)} again, and {len(set(single.explained) - before)} others" in flat


def test_long_contexts_take_what_the_page_says(page: str) -> None:
    flat = " ".join(page.split())
    rows = {(row["where"], row["dtype"], int(row["tokens"]), row["method"]): row for row in read(FOLDER, "long.csv")}
    card = {
        dtype: max(float(row["card_GiB"]) for key, row in rows.items() if key[:3] == ("NVIDIA H200", dtype, 8013))
        for dtype in ("bfloat16", "float32")
    }
    assert f"take {card['bfloat16']:.1f} GiB of the card in bfloat16 and {card['float32']:.1f} GiB in float32" in flat
    spread = [key for key in rows if key[0].endswith("device_map=auto")]
    assert spread
    for _, dtype, tokens, method in spread:
        alone, auto = (rows[where, dtype, tokens, method] for where in ("NVIDIA H200", "NVIDIA H200, device_map=auto"))
        assert alone["scores"] == auto["scores"]
    for (_, dtype, tokens, method), row in rows.items():
        if method == ATTENTION and row["where"] == "NVIDIA H200" and dtype == "bfloat16" and tokens == 8013:
            assert f"read in {float(row['seconds']):.2f} s on the GPU".replace(" 0.", " .") in flat
    for tokens, method, said in (
        (1013, "leave_one_out", "it at 1k tokens"),
        (4018, "leave_one_out", "at 4k and"),
        (8013, "leave_one_out", "at 8k, knockout"),
    ):
        own = {
            key[3]: float(row["processor_seconds"]) for key, row in rows.items() if key[2] == tokens and "CPU" in key[0]
        }
        ratio = (own[ATTENTION] + own[method]) / (own[ATTENTION] + own["context_cite(ablations=16)"])
        assert f"{ratio:.2f}".removeprefix("0") in flat.partition(said)[0][-20:]
