"""What whoever runs a study sees; simulated annotators are never mixed with people."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from attentest.explorer.people.server import people_server
from attentest.explorer.people.studies import PeopleStudies
from attentest.people import find_study
from attentest.people.results.results import results_of
from attentest.people.simulated import simulate


@pytest.fixture
def client(people: Path) -> TestClient:
    return TestClient(people_server(PeopleStudies(people)), base_url="http://127.0.0.1")


def answer_all(people: Path, *names: str) -> None:
    with find_study("films", people) as study:
        for name in names:
            who = study.annotator(study.invite(name))
            study.consent(who, study.documents().version)
            while (item := study.next(who)) is not None:
                study.answer(who, item.id, "yes", f"nonce-{item.id}", 2.0)


def test_people_and_simulated_annotators_are_counted_apart(people: Path, client: TestClient) -> None:
    answer_all(people, "anna", "ben")
    with find_study("films", people) as study:
        simulate(study, 3, 0.1, 0)
        people_say, programs_say = (results_of(study, whose).record() for whose in ("people", "simulated"))
        total = len(study.items)
    with client:
        row = next(row for row in client.get("/people.json").json()["studies"] if row["study"] == "films")
        assert (row["people"], row["answers"], row["simulated"]) == (2, 2 * total, 3)
        one = client.get("/people/films.json").json()
        assert [each["kind"] for each in one["annotators"]] == ["person"] * 2 + ["simulated"] * 3
        assert client.get("/people/films/results.json").json() == people_say
        assert client.get("/people/films/results.json?whose=simulated").json() == programs_say
        assert people_say["everybody"]["people"] == ["anna", "ben"]
        assert set(programs_say["everybody"]["people"]).isdisjoint({"anna", "ben"})
        report = client.get("/people/films/report?whose=simulated")
        assert "no person answered" in report.text
        assert report.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        assert client.get("/people/films/results.json?whose=everybody").status_code == 400


def test_no_link_can_be_read_there(people: Path, client: TestClient) -> None:
    with find_study("films", people) as study:
        link = study.invite("anna")
    with client:
        for path in ("/people", "/people.json", "/people/films", "/people/films.json"):
            assert link not in client.get(path).text


def test_a_study_that_was_altered_is_listed_with_its_problem(people: Path, client: TestClient) -> None:
    (people / "pairs" / "items.jsonl").write_text("{}\n", "utf-8")
    with client:
        rows = {row["study"]: row for row in client.get("/people.json").json()["studies"]}
        assert "altered" in rows["pairs"]["problem"]
        assert "problem" not in rows["films"]
        assert client.get("/people/pairs.json").status_code == 503
        assert client.get("/people/nothing.json").status_code == 404


def test_a_study_made_anew_under_an_old_name_is_read_anew(people: Path, client: TestClient) -> None:
    with client:
        assert client.get("/people/films.json").json()["design"].startswith("meaningful")
        (people / "films").rename(people.parent / "old")
        assert client.get("/people/films.json").status_code == 404
        (people / "pairs").rename(people / "films")
        assert client.get("/people/films.json").json()["design"].startswith("compare")
