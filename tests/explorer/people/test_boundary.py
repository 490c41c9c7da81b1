"""A link opens its owner's pages and nothing else; everything else asks for the token; no run is served."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.explorer.people.conftest import OUTSIDE, TOKEN, Served

from attentest.explorer.people.annotators import is_annotators
from attentest.explorer.people.server import people_server
from attentest.explorer.people.studies import PeopleStudies
from attentest.explorer.server import explorer
from attentest.people import find_study

JSON = {"content-type": "application/json"}
BEARER = {"authorization": f"Bearer {TOKEN}"}
NOBODYS = "A" * 32
RESEARCHERS = (
    "/",
    "/people",
    "/people.json",
    "/people/films",
    "/people/films.json",
    "/people/films/results.json",
    "/people/films/report",
)
RUNS = ("/home.json", "/runs/planted-1", "/runs/planted-1/texts.json", "/claims", "/calibration.json", "/studies/all")


def test_an_annotator_needs_no_token_and_nothing_of_theirs_is_kept_or_told_on(served: Served) -> None:
    for what in ("", ".json"):
        answer = served.get("anna", what)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-robots-tag"] == "noindex"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert "set-cookie" not in answer.headers
    page = served.get("anna", "").text
    assert 'href="/people"' not in page
    assert 'href="/"' not in page
    assert served.client.get("/static/pages/annotate.js").status_code == 200


@pytest.mark.parametrize("path", RESEARCHERS)
def test_everything_else_asks_for_the_token(served: Served, path: str) -> None:
    link = served.links["anna"]
    assert served.client.get(path).status_code == 401
    for wrong in ({"authorization": f"Bearer {link}"}, {"cookie": f"attentest-token={link}"}):
        assert served.client.get(path, headers=wrong).status_code == 401
    assert served.client.get(path, params={"token": link}).status_code == 401
    assert served.client.get(path, headers=BEARER, follow_redirects=True).status_code == 200


@pytest.mark.parametrize("path", RUNS)
def test_no_run_is_served_with_or_without_the_token(served: Served, path: str) -> None:
    assert served.client.get(path).status_code == 401
    assert served.client.get(path, headers=BEARER).status_code == 404
    assert served.get("anna", path).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        f"/people/films/{NOBODYS}",
        f"/people/films/{NOBODYS}.json",
        f"/people/nothing/{NOBODYS}.json",
        f"/people/films/{NOBODYS}/items/x.json",
        f"/people/films/{NOBODYS}/../../films.json",
        f"/people/..%2f..%2fetc/{NOBODYS}.json",
        f"/people/films/{NOBODYS}/results.json",
        f"/people/films/{NOBODYS}%00.json",
        f"/people/films/{NOBODYS}%2f..%2f..%2ffilms.json",
    ],
)
def test_a_link_of_nobody_opens_nothing_and_tells_nothing(served: Served, path: str) -> None:
    answer = served.client.get(path)
    assert answer.status_code in (401, 404)
    for told in ("anna", "pairs", "Did you mean", "answers.sqlite", str(served.study.path)):
        assert told not in answer.text


def test_a_link_opens_one_study_and_ones_own_items(served: Served) -> None:
    link = served.links["anna"]
    assert served.client.get(f"/people/pairs/{link}.json").status_code == 404
    assert served.client.get(f"/people/films/{link.lower()}.json").status_code in (401, 404)
    assert served.client.post(f"/people/films/{NOBODYS}/answer.json", json={}).status_code == 404
    for kind in ("results", "report", "annotators", "export"):
        assert served.get("anna", f"/{kind}.json").status_code == 404
        assert served.post("anna", kind).status_code == 404


def test_a_page_of_another_origin_cannot_answer(served: Served) -> None:
    at = served.at("anna", "/consent.json")
    for headers in ({"origin": "http://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}):
        assert served.client.post(at, content=b"{}", headers=JSON | headers).status_code == 403
    assert served.client.post(at, content=b"{}").status_code == 415
    assert served.client.get(served.at("anna"), headers={"host": "evil.example"}).status_code == 403
    assert served.client.put(served.at("anna")).status_code == 405


def test_a_proxy_before_the_server_is_known_by_its_name(people: Path) -> None:
    with find_study("films", people) as study:
        link = study.invite("anna")
    app = people_server(PeopleStudies(people), token=TOKEN, known_as="study.example")
    with TestClient(app, base_url=OUTSIDE) as client:
        assert client.get(f"/people/films/{link}.json").status_code == 200
        assert client.get("/people.json").status_code == 401
        assert client.get("/people.json", headers={"host": "evil.example"} | BEARER).status_code == 403


def test_only_the_studies_named_are_served(people: Path) -> None:
    with find_study("pairs", people) as study:
        link = study.invite("anna")
    with TestClient(people_server(PeopleStudies(people, [people / "films"])), base_url="http://localhost") as client:
        assert [row["study"] for row in client.get("/people.json").json()["studies"]] == ["films"]
        assert client.get(f"/people/pairs/{link}.json").status_code == 404
        assert client.get("/people/pairs.json").status_code == 404


def test_the_explorer_of_runs_asks_annotators_for_its_token_too(people: Path) -> None:
    with find_study("films", people) as study:
        link = study.invite("anna")
    runs = people.parent / "runs"
    runs.mkdir()
    app = explorer(runs, host="study.example", token=TOKEN, people=people, judging=False)
    with TestClient(app, base_url=OUTSIDE) as client:
        for path in (f"/people/films/{link}.json", "/people.json", "/home.json"):
            assert client.get(path).status_code == 401
            assert client.get(path, headers=BEARER).status_code == 200
    with TestClient(explorer(runs, people=people, judging=False), base_url="http://127.0.0.1") as client:
        assert '<a href="/people">People</a>' in client.get("/").text
        assert client.get(f"/people/films/{link}.json").status_code == 200
    with TestClient(explorer(runs, people=runs, judging=False), base_url="http://127.0.0.1") as client:
        assert "/people" not in client.get("/").text


def test_which_paths_are_annotators() -> None:
    assert is_annotators(f"/people/films/{NOBODYS}")
    assert is_annotators(f"/people/films/{NOBODYS}.json")
    assert is_annotators(f"/people/films/{NOBODYS}/answer.json")
    for path in (
        *RESEARCHERS,
        *RUNS,
        f"/people/{NOBODYS}",
        f"/people/films/{NOBODYS}.txt",
        f"//people/films/{NOBODYS}",
    ):
        assert not is_annotators(path)
