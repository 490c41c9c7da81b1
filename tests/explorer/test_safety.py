"""Nobody but the user asks the explorer, nothing but a run is read, and nothing in a corpus can run."""

from __future__ import annotations

import json

import pytest
from starlette.testclient import TestClient
from tests.explorer.conftest import HOSTILE

from attentest.explorer.safety import LARGEST_BODY
from attentest.explorer.server import explorer

POST = {"content-type": "application/json"}


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8474", "127.0.0.1.evil.example", "", "192.168.0.9", "[", "[::1"]
)
def test_another_host_is_refused(client, host):
    answer = client.get("/home.json", headers={"host": host})
    assert answer.status_code == 403
    assert answer.json()["error"].count("\n") == 0


@pytest.mark.parametrize("host", ["127.0.0.1:8474", "localhost:9", "[::1]:8474"])
def test_this_machine_is_answered(client, host):
    assert client.get("/home.json", headers={"host": host}).status_code == 200


def test_a_page_of_another_origin_cannot_post(client):
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://["},
        {"sec-fetch-site": "cross-site"},
    ):
        answer = client.post("/runs/hostile-2/reread.json", content=b"{}", headers=POST | headers)
        assert answer.status_code == 403
    assert client.post("/runs/hostile-2/reread.json", content=b"{}").status_code == 415


def test_other_methods_are_refused(client):
    assert client.put("/home.json").status_code == 405
    assert client.delete("/runs/hostile-2").status_code == 405


def test_every_answer_has_a_strict_policy(client):
    for path in ("/", "/home.json", "/runs/hostile-2", "/nothing", "/static/nothing.js", "/claims", "/calibration"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path",
    [
        "/runs/notes",
        "/runs/..%2f..%2fetc%2fpasswd",
        "/runs/%2e%2e/texts.json",
        "/runs/hostile-2%00/texts.json",
        "/runs/hostile-2/plots/..%2frun.json",
        "/runs/hostile-2/report",
        "/runs/hostile-2/texts/-1.json",
        "/runs/hostile-2/texts/30.json",
        "/runs/hostile-2/texts/1e9.json",
        "/static/..%2fserver.py",
        "/static/%2e%2e/server.py",
        "/claims/..%2f__init__",
    ],
)
def test_what_is_no_run_no_text_or_no_file_of_the_page_is_not_found(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert "root:" not in answer.text
    assert "import" not in answer.text


def test_an_unknown_run_is_one_clear_line(client):
    answer = client.get("/runs/hostile-9.json")
    assert answer.status_code == 404
    assert "Did you mean 'hostile-2'?" in answer.json()["error"]
    assert client.get("/runs/hostile-9").headers["content-type"].startswith("text/html")


@pytest.mark.parametrize(
    "query",
    [
        "rows=1,2,x",
        "rows=99999",
        "rows=-1",
        "page=0",
        "page=x",
        "size=0",
        "sort=tokens",
        "sort=id;DROP TABLE",
        "from=x",
        "plot=nothing",
        "plot=permutation&x0=nan",
        "plot=permutation&loop=0,0,1,1",
        "plot=permutation&loop=0,0,1,1,0",
        "plot=permutation&loop=0,0,1,1,0,",
        "plot=permutation&loop=0,0,1,1,0,inf",
        "plot=permutation&loop=0,0,1,1,0,1e300",
        "plot=permutation&loop=0,0,1,1,0,<b>",
        "plot=permutation&loop=" + ",".join(["0"] * 98),
        "grade=best",
    ],
)
def test_a_bad_question_is_one_clear_line(client, query):
    answer = client.get(f"/runs/hostile-2/texts.json?{query}")
    assert answer.status_code in (400, 404)
    assert "\n" not in answer.json()["error"]


def test_a_token_is_asked_for_on_another_host(runs):
    app = explorer(runs, host="explorer.example", token="a-long-token", judging=False)
    with TestClient(app, base_url="http://explorer.example") as client:
        assert client.get("/home.json").status_code == 401
        assert client.get("/home.json?token=wrong").status_code == 401
        assert client.get("/home.json", headers={"host": "localhost"}).status_code == 403
        bearer = {"authorization": "Bearer a-long-token"}
        assert client.get("/home.json", headers=bearer).status_code == 200
        moved = client.get("/runs/hostile-2?sort=row&token=a-long-token", follow_redirects=False)
        assert moved.status_code == 303
        assert moved.headers["location"] == "/runs/hostile-2?sort=row"
        assert "httponly" in moved.headers["set-cookie"].lower()
        assert "samesite=strict" in moved.headers["set-cookie"].lower()
        assert client.get("/home.json").status_code == 200
        away = client.get("//evil.example/?token=a-long-token", follow_redirects=False)
        assert not away.headers.get("location", "/").startswith("//")


def test_what_a_corpus_says_is_shown_and_never_markup(client):
    for path in ("/", "/runs/hostile-2", "/runs/hostile-2/texts", "/runs/hostile-2/texts/0"):
        page = client.get(path).text
        assert "<img" not in page
        assert "alert(" not in page
        assert page.count("<script") <= 1
    for path in ("/home.json", "/runs/hostile-2.json", "/runs/hostile-2/texts.json", "/runs/hostile-2/texts/0.json"):
        answer = client.get(path)
        assert answer.headers["content-type"] == "application/json"
        assert answer.text.isascii()
    text = client.get("/runs/hostile-2/texts/0.json").json()
    assert text["classes"][0] == HOSTILE
    assert "<script>alert(1)</script>" in text["tokens"]
    assert "\u202e" not in json.dumps(client.get("/runs/hostile-2/texts.json").json()["rows"], ensure_ascii=False)


def test_too_much_is_refused(client):
    answer = client.post("/runs/hostile-2/read.json", content=b'"' + b"x" * LARGEST_BODY + b'"', headers=POST)
    assert answer.status_code in (404, 405, 413)


def test_a_body_that_ends_early_is_no_fault_of_ours(client, at, caplog):
    async def cut() -> None:
        sent = []

        async def receive():
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": f"{at}/read.json",
            "raw_path": b"",
            "query_string": b"",
            "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
        }
        await client.app(scope, receive, send)
        assert sent[0]["status"] == 400

    client.portal.call(cut)
    assert not caplog.records
