"""What an annotator's page asks for: consent first, every answer once and on disk, undo, resume, withdrawal."""

from __future__ import annotations

import json
import sqlite3

import pytest
from tests.explorer.people.conftest import Served

from attentest.explorer.people.annotators import BURST


def stored(served: Served) -> list[tuple[str, str | None, str]]:
    """What is on disk, read by another connection."""
    with sqlite3.connect(served.study.path / "answers.sqlite") as db:
        return db.execute("SELECT item, choice, nonce FROM events ORDER BY id").fetchall()


def test_from_consent_to_done(served: Served) -> None:
    before = served.get("anna").json()
    assert not before["consented"]
    assert before["item"] is None
    assert "Before you begin" in before["consent"]
    far = served.agree("anna")
    seen = []
    while not far["finished"]:
        seen.append(far["item"]["id"])
        choice = far["item"]["choices"][0]["value"]
        sent = {"item": seen[-1], "choice": choice, "nonce": f"nonce-{len(seen):04d}", "seconds": 1.25}
        far = served.post("anna", "answer", **sent).json()
        assert stored(served)[-1] == (seen[-1], choice, sent["nonce"])
        assert (far["done"], far["last"]) == (len(seen), seen[-1])
    assert far["item"] is None
    assert sorted(seen) == sorted(served.study.items)
    assert served.get("anna").json()["given"].keys() == set(seen)


def test_nothing_that_an_annotator_must_not_see_is_sent(served: Served) -> None:
    far = served.agree("anna")
    assert set(far["item"]) == {"id", "panels", "question", "choices", "prediction", "second"}
    for body in (served.get("anna").text, served.get("anna", "").text, json.dumps(far)):
        for hidden in ("planted", "condition", "permuted", "truth", "text-0", "ben"):
            assert hidden not in body
    item = served.get("anna", f"/items/{far['item']['id']}.json").json()
    assert item == {"item": far["item"], "given": None}


def test_an_answer_sent_twice_counts_once_and_another_one_replaces_it(served: Served) -> None:
    item = served.agree("anna")["item"]["id"]
    sent = {"item": item, "choice": "yes", "nonce": "nonce-0001", "seconds": 2}
    first, again = (served.post("anna", "answer", **sent) for _ in range(2))
    assert first.json() == again.json()
    assert stored(served) == [(item, "yes", "nonce-0001")]
    assert served.post("anna", "answer", **(sent | {"choice": "no"})).status_code == 400
    assert served.post("anna", "answer", **(sent | {"choice": "no", "nonce": "nonce-0002"})).json()["done"] == 1
    assert served.get("anna").json()["given"] == {item: "no"}
    back = served.post("anna", "undo", nonce="nonce-0003").json()
    assert (back["done"], back["item"]["id"], back["last"]) == (0, item, None)
    assert served.post("anna", "undo", nonce="nonce-0003").json() == back


@pytest.mark.parametrize(
    "wrong",
    [
        {"choice": "perhaps"},
        {"choice": 1},
        {"item": "nothing"},
        {"item": None},
        {"nonce": "short"},
        {"nonce": "x" * 200},
        {"seconds": -1},
        {"seconds": "1"},
        {"seconds": True},
    ],
)
def test_a_bad_answer_is_one_clear_line_and_stores_nothing(served: Served, wrong: dict[str, object]) -> None:
    item = served.agree("anna")["item"]["id"]
    asked = {"item": item, "choice": "yes", "nonce": "nonce-0001", "seconds": 1.0} | wrong
    answer = served.client.post(served.at("anna", "/answer.json"), json=asked)
    assert answer.status_code in (400, 404)
    assert "\n" not in answer.json()["error"]
    assert stored(served) == []


def test_a_number_that_is_none_and_a_body_that_is_large_are_refused(served: Served) -> None:
    item, headers = served.agree("anna")["item"]["id"], {"content-type": "application/json"}
    at = served.at("anna", "/answer.json")
    for number in ("NaN", "Infinity", "1e999"):
        body = f'{{"item": "{item}", "choice": "yes", "nonce": "nonce-0001", "seconds": {number}}}'
        assert served.client.post(at, content=body, headers=headers).status_code == 400
    assert served.client.post(at, content=b" " * 5_000, headers=headers).status_code == 413
    assert served.client.post(at, content=b"[]", headers=headers).status_code == 400
    assert stored(served) == []


def test_nobody_answers_or_sees_an_item_before_they_agreed_to_the_text_as_it_is(served: Served) -> None:
    item = next(iter(served.study.items))
    assert served.get("anna", f"/items/{item}.json").status_code == 400
    sent = {"item": item, "choice": "yes", "nonce": "nonce-0001"}
    assert served.post("anna", "answer", **sent).status_code == 400
    served.agree("anna")
    (served.study.path / "consent.md").write_text("# Another *text* <script>alert(1)</script>\n", "utf-8")
    assert served.post("anna", "answer", **sent).status_code == 400
    page = served.get("anna", "").text
    assert "<h1>Another <em>text</em> &lt;script&gt;alert(1)&lt;/script&gt;</h1>" in page
    assert served.post("anna", "consent", version="0" * 16).status_code == 400
    served.agree("anna")
    assert served.post("anna", "answer", **sent).json()["done"] == 1


def test_withdrawal_deletes_everything_and_closes_the_link(served: Served) -> None:
    for name in ("anna", "ben"):
        item = served.agree(name)["item"]["id"]
        served.post(name, "answer", item=item, choice="yes", nonce="nonce-0001")
    assert served.post("anna", "withdraw").status_code == 400
    assert served.post("anna", "withdraw", confirm="withdraw").json() == {"withdrawn": True}
    assert served.get("anna").status_code == 404
    assert served.post("anna", "answer", item="x", choice="yes", nonce="nonce-0002").status_code == 404
    assert [who.name for who in served.study.store.annotators()] == ["ben"]
    assert len(stored(served)) == 1


def test_whoever_posts_faster_than_anybody_reads_is_told_to_wait(served: Served) -> None:
    item = served.agree("anna")["item"]["id"]
    sent = {"item": item, "choice": "yes", "nonce": "nonce-0001"}
    codes = [served.post("anna", "answer", **sent) for _ in range(3 * BURST)]
    late = [answer for answer in codes if answer.status_code == 429]
    assert late
    assert int(late[0].headers["retry-after"]) >= 1
    assert served.agree("ben")["consented"]
    assert stored(served) == [(item, "yes", "nonce-0001")]


def test_a_file_that_cannot_be_written_is_told_without_its_name(served: Served) -> None:
    item = served.agree("anna")["item"]["id"]
    consent = served.study.path / "consent.md"
    consent.unlink()
    for answer in (
        served.post("anna", "answer", item=item, choice="yes", nonce="nonce-0001"),
        served.get("anna"),
        served.get("anna", ""),
    ):
        assert answer.status_code == 503
        assert "consent.md" not in answer.text
        assert "films" not in answer.text
