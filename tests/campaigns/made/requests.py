"""HTTP requests, to the explorer."""

from __future__ import annotations

import json
import socket
import threading
import time
from pathlib import Path
from random import Random
from typing import Any, ClassVar
from urllib.parse import quote

from tests.campaigns.made.answers import check_answer, made_study
from tests.campaigns.made.kind import Case, Kind
from tests.campaigns.made.mutation import TEXTS, altered, damaged, hostile_text, strange
from tests.campaigns.made.names import said
from tests.campaigns.made.run_files import small_run
from tests.explorer.sources.made_up_audit import unfinished_audit, write_audit

__all__ = ["Requests"]

AUDIT = "0123456789ab"
KEYS = "q page sort predicted label live word truth rows x texts from to order size whose method kind right".split()  # noqa: SIM905
VALUES = ("1", "0", "-1", "99999999999999", "uniform.changed", "1e999")
POSTED = b"POST /runs/x/read.json HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


class Requests(Kind):
    """HTTP requests to the explorer, well formed and not."""

    name: ClassVar[str] = "requests"
    share: ClassVar[int] = 6

    def prepare(self, shared: Path) -> None:
        self.run = small_run(shared)
        self.people, self.items = made_study(shared)
        self.sources = shared / "sources"
        write_audit(self.sources, AUDIT, 12)
        write_audit(self.sources, "words0000000", 3, words=True)
        unfinished_audit(self.sources)
        for name in ("altered00000", "no-record000"):
            write_audit(self.sources, name, 3)
        with (self.sources / "altered00000" / "cases.jsonl").open("ab") as file:
            file.write(b"[]\n")
        (self.sources / "no-record000" / "run.json").write_bytes(b"[")
        self.where = {"runs": self.run.parent, "people": self.people, "sources": self.sources}

    def case(self, draw: Random, folder: Path) -> Case:
        if draw.random() < 0.15:
            raw = self._raw(draw)
            return Case(repr(raw[:300]), _RawRequest(self.where, raw))
        method, path, headers, body = self._request(draw)
        return Case(
            f"{method} {path[:200]} {headers} {body[:200]!r}", _Request(self.where, method, path, headers, body)
        )

    def _request(self, draw: Random) -> tuple[str, str, dict[str, str], bytes]:
        name = draw.choice(
            (self.run.name,) * 6 + ("nothing", "..", "%2e%2e", quote(hostile_text(draw)[:300], errors="replace"))
        )
        row = draw.choice(
            (
                "0",
                "1",
                "39",
                "40",
                "-1",
                "x",
                "1e3",
                "99999999999999999999",
                quote(draw.choice(TEXTS)[:200], errors="replace") or "0",
            )
        )
        query = "&".join(
            f"{draw.choice(KEYS)}={quote(draw.choice((*TEXTS, *VALUES))[:1500], errors='replace')}"
            for _ in range(draw.choice((0, 0, 1, 2, 4)))
        )
        pages = (
            "/",
            "/home.json",
            f"/runs/{name}",
            f"/runs/{name}.json",
            f"/runs/{name}/texts.json",
            f"/runs/{name}/texts/{row}.json",
            f"/runs/{name}/texts/{row}",
            f"/runs/{name}/plots/{row}.json",
            f"/runs/{name}/texts/{row}/heads.json",
            f"/runs/{name}/report",
            "/claims.json",
            f"/claims/{name}.json",
            "/calibration.json",
            f"/calibration/{row}.json",
            f"/studies/{name}.json",
            f"/studies/{name}/plots/{row}.json",
            f"/static/{name}",
            "/static/../server.py",
            f"/{name}",
            *self._of_others(draw, name, row),
        )
        headers = {
            "host": draw.choice(
                ("127.0.0.1:8474",) * 12
                + ("evil.example", "", "127.0.0.1:x", "[::1", "[", "a@127.0.0.1", "localhost:99999999")
            )
        }
        if draw.random() < 0.1:
            headers[
                draw.choice(("range", "if-none-match", "accept-encoding", "cookie", "accept", "if-modified-since"))
            ] = draw.choice(("bytes=-1", "bytes=0-99999999999", "*", "x" * 3000, ";;;", "gzip;q=x"))
        if draw.random() < 0.45:
            kind = draw.choice(("read", "reread", "attack"))
            asked: Any = {
                "text": "word1 word2 word3",
                "row": 0,
                "weights": [0.5, 0.25, 0.25],
                "words": ["word1", "word2"],
                "attack": "adversary",
                "challenge": said(draw, "challenges"),
                "explainer": "attention",
                "methods": ["attention"],
            }
            asked = {key: asked[key] for key in draw.sample(sorted(asked), k=draw.randrange(1, 6))}
            try:
                body = json.dumps(altered(draw, asked) if draw.random() < 0.8 else strange(draw)).encode(
                    "utf-8", "replace"
                )
            except RecursionError:
                body = b"[" * 5000
            if draw.random() < 0.2:
                body = damaged(draw, body)
            if draw.random() < 0.02:
                body = b'{"text": "' + b"a " * 600_000 + b'"}'
            headers["content-type"] = draw.choice(
                ("application/json",) * 9 + ("text/plain", "application/json; charset=utf-16", "")
            )
            if draw.random() < 0.1:
                headers["origin"] = draw.choice(
                    ("http://127.0.0.1:8474", "http://evil.example", "null", "http://[", "")
                )
            return "POST", f"/runs/{name}/{kind}.json", headers, body
        return (
            draw.choice(("GET",) * 9 + ("HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "X")),
            draw.choice(pages) + (f"?{query}" if query else ""),
            headers,
            b"",
        )

    def _of_others(self, draw: Random, name: str, row: str) -> tuple[str, ...]:
        """Addresses of audits of sources and of studies of people."""
        audits = (AUDIT, AUDIT, "words0000000", "unfinished00", "altered00000", "no-record000", name)
        audit, study = draw.choice(audits), draw.choice(("asked", "asked", name))
        return (
            "/sources",
            "/sources.json",
            f"/sources/{audit}",
            f"/sources/{audit}.json",
            f"/sources/{audit}/questions.json",
            f"/sources/{audit}/questions/{row}.json",
            f"/sources/{audit}/questions/{row}",
            f"/sources/{audit}/report",
            f"/sources/{row}/questions/{row}.json",
            "/people",
            "/people.json",
            f"/people/{study}",
            f"/people/{study}.json",
            f"/people/{study}/results.json",
            f"/people/{study}/report",
            f"/people/{study}/{'A' * 43}.json",
            f"/people/{study}/{row}/items/{quote(draw.choice(self.items), errors='replace')}.json",
        )

    def _raw(self, draw: Random) -> bytes:
        good = b"GET /home.json HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        return draw.choice(
            (
                damaged(draw, good),
                draw.randbytes(200),
                b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
                b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5000 + b"\r\n",
                POSTED + b"Content-Length: abc\r\n\r\n{}",
                POSTED + b"Content-Length: -1\r\n\r\n{}",
                POSTED + b"Content-Length: 99999999999\r\n\r\n{}",
                POSTED + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n",
                b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
                b"GET / HTTP/9.9\r\n\r\n",
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                b"GET /%00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
                b"GET /../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
                good + good + b"GET",
            )
        )


class _Request:
    """One request through the whole application."""

    def __init__(self, where: dict[str, Path], method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        self.where, self.asked = where, (method, path, headers, body)

    def __call__(self) -> None:
        import logging

        import httpx
        from starlette.testclient import TestClient

        from attentest.explorer.server import explorer

        logging.disable(logging.CRITICAL)
        method, path, headers, body = self.asked
        with TestClient(
            explorer(**self.where, judging=False), base_url="http://127.0.0.1:8474", raise_server_exceptions=False
        ) as client:
            try:
                answer = client.request(method, path, headers=headers, content=body, follow_redirects=False)
            except (httpx.InvalidURL, httpx.LocalProtocolError, UnicodeEncodeError, ValueError):
                return  # no client sends it
        check_answer(answer.status_code, answer.headers, answer.text)


class _RawRequest:
    """Bytes sent to a real server on loopback; afterwards it still answers."""

    def __init__(self, where: dict[str, Path], raw: bytes) -> None:
        self.where, self.raw = where, raw

    def __call__(self) -> None:
        import uvicorn

        from attentest.explorer.server import explorer

        listening = socket.create_server(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        server = uvicorn.Server(
            uvicorn.Config(explorer(**self.where, judging=False), log_level="critical", timeout_graceful_shutdown=1)
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        _sent(port, self.raw, 2.0)
        good = _sent(port, b"GET /home.json HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", 10.0)
        assert good.startswith(b"HTTP/1.1 200"), f"no answer afterwards: {good[:200]!r}"


def _sent(port: int, raw: bytes, patience: float) -> bytes:
    found = b""
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as open_:
        try:
            open_.sendall(raw)
            while part := open_.recv(65536):
                found += part
        except (TimeoutError, ConnectionError):
            pass
    return found
