"""The pages of an audit of sources are given what its records hold, judged as the command judges them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.explorer.sources.made_up_audit import HOSTILE, METHODS, made_up_record, unfinished_audit, write_audit

from attentest.explorer.server import explorer
from attentest.sources.auditing import CASES, judged_folder
from attentest.sources.showing.page import write_page
from attentest.sources.showing.words import headline
from attentest.store.folder import RunFolder

ADDRESS = "http://127.0.0.1:8474"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sources")
    write_page(judged_folder(write_audit(root)))
    write_audit(root, "words0000000", 3, words=True)
    unfinished_audit(root)
    return root


@pytest.fixture(scope="module")
def client(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    runs = tmp_path_factory.mktemp("runs")
    with TestClient(explorer(runs, sources=folder, judging=False), base_url=ADDRESS) as made:
        yield made


def test_audits_are_listed_and_have_a_link(client: TestClient) -> None:
    audits = {row["id"]: row for row in client.get("/sources.json").json()["audits"]}
    assert set(audits) == {"0123456789ab", "words0000000", "unfinished00"}
    assert audits["0123456789ab"]["questions"] == 60
    assert not audits["unfinished00"]["finished"]
    assert '<a href="/sources"' in client.get("/").text


def test_altered_records_are_not_counted(tmp_path: Path) -> None:
    with (write_audit(tmp_path, questions=3) / CASES).open("ab") as file:
        file.write(b"[]\n")
    with TestClient(explorer(tmp_path / "runs", sources=tmp_path, judging=False), base_url=ADDRESS) as client:
        (row,) = client.get("/sources.json").json()["audits"]
        assert client.get("/sources/0123456789ab.json").status_code >= 400
    assert row["questions"] == 0
    assert "was altered after it was written" in row["problem"]


def test_the_verdict_is_that_of_the_command(client: TestClient, folder: Path) -> None:
    found = judged_folder(folder / "0123456789ab")
    told = client.get("/sources/0123456789ab.json").json()
    assert told["headline"] == headline(found)
    assert [method["method"] for method in told["methods"]] == [ruling.judged.method for ruling in found.rulings]
    assert [method["share"][0] for method in told["methods"]] == [r.judged.share.value for r in found.rulings]
    assert [method["tone"] for method in told["methods"]] == [ruling.tone for ruling in found.rulings]
    assert told["answered"]["questions"] == 60
    listed = {row["id"]: row["headline"] for row in client.get("/sources.json").json()["audits"]}
    assert listed["0123456789ab"] == headline(found)


def test_questions_are_paged_and_filtered(client: TestClient) -> None:
    at = "/sources/0123456789ab/questions.json"
    everything = client.get(f"{at}?size=200").json()["rows"]
    assert [row["row"] for row in everything] == [*range(60)]
    second = client.get(f"{at}?page=2&size=25").json()
    assert ([row["row"] for row in second["rows"]], second["pages"]) == ([*range(25, 50)], 3)
    assert client.get(f"{at}?page=99&size=25").json()["page"] == 3
    for status in ("sources", "known", "none"):
        rows = client.get(f"{at}?status={status}&size=200").json()["rows"]
        assert [row["row"] for row in rows] == [row["row"] for row in everything if row["status"] == status]
        assert rows
    assert all(row["kind"] == "fact" for row in client.get(f"{at}?kind=fact&size=200").json()["rows"])
    missed = [row["row"] for row in client.get(f"{at}?missed=attention&size=200").json()["rows"]]
    assert missed == [row for row in range(0, 60, 3) if everything[row]["status"] == "sources"]
    assert client.get(f"{at}?missed=leave_one_out").json()["total"] == 0


def test_a_question_holds_what_its_record_holds(client: TestClient) -> None:
    record = made_up_record(7)
    told = client.get("/sources/0123456789ab/questions/7.json").json()
    for name in ("id", "question", "answer", "sources", "items", "of_source", "status"):
        assert told[name] == getattr(record, name)
    assert told["drops"] == pytest.approx(record.drops.tolist())
    scores = {method["method"]: method["scores"] for method in told["methods"]}
    assert {name: scores[name] for name in METHODS} == {name: record.given[name].scores for name in METHODS}
    assert told["deciding"] == [2]
    assert len(told["layers"]) == 2
    assert told["elsewhere"]["sink"] == 0.5
    (none,) = [m for m in client.get("/sources/0123456789ab/questions/1.json").json()["methods"] if m["not_judged"]]
    assert (none["scores"], none["first"], none["not_judged"]) == ([], None, "the model has no <b>gradients</b>")
    words = client.get("/sources/words0000000/questions/0.json").json()
    assert len(words["items"]) == len(words["of_source"]) == len(words["drops"]) == 25


def test_pages_escape_and_keep_the_policy(client: TestClient) -> None:
    pages = ["/sources", "/sources/0123456789ab", "/sources/0123456789ab/questions/2"]
    for path in [*pages, *(f"{path}.json" for path in pages)]:
        answer = client.get(path)
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        if answer.headers["content-type"].startswith("text/html"):
            assert not any(harm in answer.text for harm in HOSTILE[:2])
            assert f'href="{path}.json"' in answer.text
    report = client.get("/sources/0123456789ab/report")
    assert report.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert HOSTILE[0] not in report.text


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/sources/none.json", 404, "audit of sources"),
        ("/sources/..%2f..%2fetc.json", 404, ""),
        ("/sources/0123456789ab/questions/60.json", 404, "outside of the 60 questions"),
        ("/sources/0123456789ab/questions/-1.json", 404, "no whole number"),
        ("/sources/0123456789ab/questions/٣.json", 404, "no whole number"),
        ("/sources/0123456789ab/questions.json?status=maybe", 404, "known, none, sources"),
        ("/sources/0123456789ab/questions.json?missed=magic", 404, "attention"),
        ("/sources/0123456789ab/questions.json?page=0", 400, "whole number from 1"),
        ("/sources/0123456789ab/questions.json?size=1e9", 400, "whole number from 1"),
        ("/sources/words0000000/report", 404, "report"),
        ("/sources/unfinished00.json", 503, "no finished cases.jsonl"),
        ("/runs/0123456789ab.json", 404, "run in"),
    ],
)
def test_what_is_not_there_is_said_in_a_line(client: TestClient, path: str, status: int, said: str) -> None:
    answer = client.get(path)
    assert answer.status_code == status
    line = answer.json()["error"] if path.endswith(".json") or "json?" in path else answer.text
    assert said in line


def test_audits_among_the_runs_are_audits_and_no_runs(tmp_path: Path) -> None:
    write_audit(tmp_path, questions=20)
    with TestClient(explorer(tmp_path, sources=tmp_path / "none", judging=False), base_url=ADDRESS) as client:
        assert client.get("/home.json").json()["runs"] == []
        assert [row["id"] for row in client.get("/sources.json").json()["audits"]] == ["0123456789ab"]
        assert client.get("/runs/0123456789ab.json").status_code == 404


def test_a_folder_of_no_runs_is_empty(tmp_path: Path) -> None:
    with TestClient(explorer(tmp_path / "none", sources=tmp_path, judging=False), base_url=ADDRESS) as client:
        assert client.get("/home.json").json()["runs"] == []
        assert client.get("/runs/any.json").status_code == 404
        assert client.get("/sources.json").json() == {"audits": []}
        assert 'href="/sources"' not in client.get("/").text


def test_damage_is_one_line(tmp_path: Path) -> None:
    altered, other = write_audit(tmp_path, "altered00000", 3), write_audit(tmp_path, "another00000", 3)
    cases = altered / CASES
    cases.write_text(cases.read_text("utf-8").replace("Passage 1", "Passage 7"), "utf-8")
    record = json.loads((other / CASES).read_text("utf-8").splitlines()[0])
    (other / CASES).write_text(json.dumps({**record, "new": 1}) + "\n", "utf-8")
    RunFolder(other).finish(CASES)
    damaged = write_audit(tmp_path, "damaged00000", 3)
    (damaged / "run.json").write_text("{}")
    with TestClient(explorer(tmp_path / "none", sources=tmp_path, judging=False), base_url=ADDRESS) as client:
        for name, said in (
            ("altered00000", "altered"),
            ("another00000", "does not hold"),
            ("damaged00000", "run.json"),
        ):
            answer = client.get(f"/sources/{name}.json")
            assert answer.status_code == 503
            assert said in answer.json()["error"]
            assert "\n" not in answer.json()["error"]
        rows = {row["id"]: row for row in client.get("/sources.json").json()["audits"]}
        assert "run.json" in rows["damaged00000"]["problem"]


def test_another_audit_under_an_old_name_is_read_again(tmp_path: Path) -> None:
    path = write_audit(tmp_path, questions=3)
    with TestClient(explorer(tmp_path / "none", sources=tmp_path, judging=False), base_url=ADDRESS) as client:
        assert client.get("/sources/0123456789ab.json").json()["answered"]["questions"] == 3
        (path / "run.json").unlink()
        write_audit(tmp_path, questions=4)
        assert client.get("/sources/0123456789ab.json").json()["answered"]["questions"] == 4
