"""What a page does with a study: link, consent, next, answer, undo, resume, withdraw; and what is sealed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.report import made_up

from attentest.errors import InputError, StorageError, UnknownName
from attentest.people import DESIGNS, PeopleStudy, Plan, find_study, new_study, studies_in
from attentest.people.answers import Annotator
from attentest.people.assignment import portions_of


@pytest.fixture
def anna(study: PeopleStudy) -> Annotator:
    return study.annotator(study.invite("anna"))


def agreed(study: PeopleStudy, who: Annotator) -> Annotator:
    study.consent(who, study.documents().version)
    return who


def test_nobody_answers_before_they_agreed_to_the_text_as_it_is(study: PeopleStudy, anna: Annotator) -> None:
    following = study.next(anna)
    assert following is not None
    with pytest.raises(InputError, match="agree before you answer"):
        study.answer(anna, following.id, "yes", "nonce-001")
    with pytest.raises(InputError, match="changed since"):
        study.consent(anna, "0" * 16)
    assert study.consent(anna, study.documents().version).consented
    study.answer(anna, following.id, "yes", "nonce-001")
    (study.path / "consent.md").write_text("# Another text\n", "utf-8")
    with pytest.raises(InputError, match="agree before you answer"):
        study.answer(anna, following.id, "no", "nonce-002")


def test_items_come_one_by_one_until_all_are_answered(study: PeopleStudy, anna: Annotator) -> None:
    agreed(study, anna)
    seen, progress = [], study.progress(anna)
    while (following := study.next(anna)) is not None:
        assert progress.next == following.id
        seen.append(following.id)
        progress = study.answer(anna, following.id, following.shown.choices[0].value, f"nonce-{len(seen):04d}", 1.5)
        assert (progress.done, progress.last) == (len(seen), following.id)
    assert progress.finished
    assert seen == [item.id for item in study.assigned(anna)]
    assert len(set(seen)) == len(study.items) == progress.total


def test_undo_asks_the_same_item_again(study: PeopleStudy, anna: Annotator) -> None:
    agreed(study, anna)
    first = study.next(anna)
    assert first is not None
    study.answer(anna, first.id, "yes", "nonce-001")
    back = study.undo(anna, "undo-0001")
    assert (back.done, back.next, back.last) == (0, first.id, None)
    assert study.undo(anna, "undo-0002") == back
    assert study.answer(anna, first.id, "no", "nonce-002").done == 1
    assert study.given(anna)[first.id].choice == "no"


def test_another_machine_goes_on_with_the_link_alone(study: PeopleStudy) -> None:
    link = study.invite("anna")
    anna = agreed(study, study.annotator(link))
    for number in range(5):
        following = study.next(anna)
        assert following is not None
        study.answer(anna, following.id, "yes", f"nonce-{number:04d}")
    with PeopleStudy(study.path) as elsewhere:
        assert elsewhere.progress(elsewhere.annotator(link)) == study.progress(anna)


def test_strange_links_items_and_answers_are_refused(study: PeopleStudy, anna: Annotator) -> None:
    agreed(study, anna)
    with pytest.raises(UnknownName, match="link of this study"):
        study.annotator("guessed")
    with pytest.raises(UnknownName, match="item of yours"):
        study.item(anna, "0" * 12)
    following = study.next(anna)
    assert following is not None
    with pytest.raises(InputError, match="There are: yes, no"):
        study.answer(anna, following.id, "maybe", "nonce-001")


def test_withdrawal_takes_the_report_with_it(study: PeopleStudy, anna: Annotator) -> None:
    (study.path / "report.html").write_text("anna", "utf-8")
    study.forget(anna)
    assert not (study.path / "report.html").exists()
    assert study.store.annotators() == []


def test_everybody_has_an_order_of_their_own_with_checks_spread_and_none_first(make) -> None:
    study = make(items=40, checks=4)
    orders = [[i.id for i in study.assigned(study.annotator(study.invite(name)))] for name in ("anna", "ben")]
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(study.items)
    for order in orders:
        places = [n for n, key in enumerate(order) if study.items[key].hidden.kind == "check"]
        quarters = [place * 4 // len(order) for place in places]
        assert places[0] > 0
        assert quarters == [0, 1, 2, 3]


def test_an_overlap_is_for_all_and_the_rest_is_dealt_in_balance(make) -> None:
    study = make(items=60, overlap=12, annotators=4, checks=3, gold=4)
    people = [study.annotator(study.invite(f"p{number}")) for number in range(4)]
    own = [{item.id for item in study.assigned(who)} for who in people]
    shared = set.intersection(*own)
    kinds = [study.items[key].hidden.kind for key in shared]
    assert (kinds.count("item"), kinds.count("check"), kinds.count("gold")) == (12, 3, 4)
    assert set.union(*own) == set(study.items)
    assert sum(map(len, own)) == len(study.items) + 3 * len(shared)
    for items in own:
        conditions = [study.items[key].hidden.condition for key in items - shared]
        assert len(conditions) == 12
        assert conditions.count("original") == 6
    with pytest.raises(UnknownName, match="item of yours"):
        study.item(people[0], next(iter(own[1] - own[0])))


def test_without_an_overlap_everybody_gets_everything(study: PeopleStudy) -> None:
    assert set(portions_of(list(study.items.values()), 0, 1).values()) == {-1}


def test_an_altered_record_or_item_is_noticed(study: PeopleStudy) -> None:
    items = study.path / "items.jsonl"
    kept = items.read_text("utf-8")
    items.write_text(kept.replace('"original"', '"permuted"', 1), "utf-8")
    with pytest.raises(StorageError, match=r"items\.jsonl is missing or was altered"):
        PeopleStudy(study.path)
    items.write_text(kept, "utf-8")
    record = study.path / "people.json"
    record.write_text(record.read_text("utf-8").replace('"seed": 0', '"seed": 1'), "utf-8")
    with pytest.raises(StorageError, match=r"people\.json was altered"):
        PeopleStudy(study.path)


def test_a_study_is_found_by_path_and_by_name(study: PeopleStudy) -> None:
    root = study.path.parent
    assert find_study(str(study.path), root).path == find_study("study", root).path == study.path
    assert list(studies_in(root)) == [study.path]
    with pytest.raises(UnknownName, match="Did you mean 'study'"):
        find_study("studdy", root)


def test_a_page_is_sent_nothing_that_an_annotator_must_not_see(study: PeopleStudy) -> None:
    for item in study.items.values():
        sent = json.dumps(item.seen())
        assert set(item.seen()) == {"id", "panels", "question", "choices", "prediction", "second"}
        assert not any(word in sent for word in ("original", "permuted", "gold", "truth", item.hidden.text or "kind"))


def test_marks_that_end_lines_in_a_text_end_no_item(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made_up, "HOSTILE", ("a\u2028b", "c\x85d", "e\u2029f"))
    run = made_up.write_run(tmp_path / "made", 12, ("no", "yes"), hostile=True)
    study = new_study(tmp_path, "lines", (run,), DESIGNS.parse("meaningful"), Plan(items=4, checks=0, gold=0))
    with PeopleStudy(study.path) as opened:
        assert list(opened.items) == list(study.items)
