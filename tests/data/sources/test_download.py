"""Downloads against a server on this machine that drops connections, restarts files and refuses ranges."""

from __future__ import annotations

import errno
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib import request

import pytest

from attentest.data.sources import download as module
from attentest.data.sources.download import download
from attentest.errors import InputError, StorageError

CONTENT = bytes(range(256)) * 2000


class Server:
    """One file, with the faults a test asks for."""

    def __init__(self) -> None:
        self.content = CONTENT
        self.etag = '"one"'
        self.ranges = True
        #: Bytes after which each of the next connections ends; None: at the end.
        self.drop_after: list[int | None] = []
        self.status: list[int] = []
        self.location = ""
        #: What is said of the length, where it is not the truth.
        self.length: str | None = None
        self.asked: list[str | None] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, *arguments: Any) -> None:
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}/toy.bin"

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        self.asked.append(request.headers.get("Range"))
        if self.status:
            code = self.status.pop(0)
            if code == 302:
                request.send_response(302)
                request.send_header("Location", self.location)
                request.end_headers()
                return
            request.send_error(code)
            return
        start = 0
        wanted = request.headers.get("Range")
        known = request.headers.get("If-Range") in (None, self.etag)
        if wanted and self.ranges and known:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(self.content):
                request.send_response(416)
                request.send_header("Content-Range", f"bytes */{len(self.content)}")
                request.end_headers()
                return
            request.send_response(206)
            request.send_header("Content-Range", f"bytes {start}-{len(self.content) - 1}/{len(self.content)}")
        else:
            request.send_response(200)
        request.send_header("Content-Length", self.length or str(len(self.content) - start))
        request.send_header("ETag", self.etag)
        request.end_headers()
        end = self.drop_after.pop(0) if self.drop_after else None
        request.wfile.write(self.content[start:] if end is None else self.content[start : start + end])
        request.close_connection = True


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(module, "PAUSE", 0.001)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    made = Server()
    yield made
    made.close()


def test_a_file_is_fetched_whole(server: Server, tmp_path: Path) -> None:
    download(server.url, tmp_path / "toy.bin")
    assert (tmp_path / "toy.bin").read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["toy.bin"]


def test_a_dropped_connection_is_taken_up_where_it_ended(server: Server, tmp_path: Path) -> None:
    server.drop_after = [100_000, 5_000]
    download(server.url, tmp_path / "toy.bin")
    assert (tmp_path / "toy.bin").read_bytes() == CONTENT
    assert server.asked == [None, "bytes=100000-", "bytes=105000-"]


def test_progress_is_in_bytes_and_ends_at_the_size(server: Server, tmp_path: Path) -> None:
    server.drop_after = [100_000]
    ticks: list[int] = []

    class Watch:
        def stage(self, description: str, total: int) -> Any:
            import contextlib

            assert total == len(CONTENT)
            return contextlib.nullcontext(lambda units=1, **figures: ticks.append(units))

        def say(self, line: str) -> None:
            pass

    download(server.url, tmp_path / "toy.bin", size=len(CONTENT), progress=Watch())
    assert sum(ticks) == len(CONTENT)


def test_what_one_command_began_the_next_goes_on_with(server: Server, tmp_path: Path) -> None:
    server.drop_after = [50_000] + [0] * 20
    with pytest.raises(InputError, match=r"could not be fetched \(.*\); 50,000 bytes are kept.*same command.*--from"):
        download(server.url, tmp_path / "toy.bin")
    assert not (tmp_path / "toy.bin").exists()
    assert (tmp_path / "toy.bin.part").stat().st_size == 50_000
    server.drop_after = []
    server.asked.clear()
    download(server.url, tmp_path / "toy.bin")
    assert server.asked == ["bytes=50000-"]
    assert (tmp_path / "toy.bin").read_bytes() == CONTENT


def test_a_file_that_changed_meanwhile_is_fetched_from_its_beginning(server: Server, tmp_path: Path) -> None:
    server.drop_after = [50_000] + [0] * 20
    with pytest.raises(InputError):
        download(server.url, tmp_path / "toy.bin")
    server.drop_after, server.etag, server.content = [], '"two"', CONTENT[::-1]
    download(server.url, tmp_path / "toy.bin")
    assert (tmp_path / "toy.bin").read_bytes() == CONTENT[::-1]


@pytest.mark.parametrize("extra", [b"", b"longer than the file"])
def test_a_part_that_is_whole_or_too_long_is_settled(server: Server, tmp_path: Path, extra: bytes) -> None:
    (tmp_path / "toy.bin.part").write_bytes(CONTENT + extra)
    download(server.url, tmp_path / "toy.bin")
    assert (tmp_path / "toy.bin").read_bytes() == CONTENT


def test_a_server_without_ranges_sends_all_again(server: Server, tmp_path: Path) -> None:
    server.ranges = False
    server.drop_after = [100_000]
    download(server.url, tmp_path / "toy.bin")
    assert (tmp_path / "toy.bin").read_bytes() == CONTENT


def test_a_server_that_is_busy_is_asked_again_and_one_that_refuses_is_not(server: Server, tmp_path: Path) -> None:
    server.status = [503, 429]
    download(server.url, tmp_path / "toy.bin")
    assert len(server.asked) == 3
    server.status = [404]
    with pytest.raises(InputError, match=r"the server says 404 .*--from DIR"):
        download(server.url, tmp_path / "other.bin")
    assert len(server.asked) == 4


@pytest.mark.parametrize("url", ["ftp://example.org/a", "file:///etc/passwd", "data:text/plain,a", "nothing"])
def test_only_http_is_fetched(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="only http and https addresses can"):
        download(url, tmp_path / "a")


def test_a_redirection_does_not_lead_out_of_http(server: Server, tmp_path: Path) -> None:
    server.status, server.location = [302] * 20, "ftp://127.0.0.1/passwd"
    with pytest.raises(InputError, match="could not be fetched"):
        download(server.url, tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_full_disk_is_about_the_disk_and_keeps_the_part(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(StorageError, match=r"Cannot write .*No space left on device"):
        download(server.url, tmp_path / "toy.bin")
    assert not (tmp_path / "toy.bin").exists()
    assert (tmp_path / "toy.bin.part").exists()


def test_too_little_space_is_noticed_before_anything_is_written(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from types import SimpleNamespace

    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: SimpleNamespace(free=10))
    with pytest.raises(StorageError, match=r"has 10 bytes free, and 512,000 are to come"):
        download(server.url, tmp_path / "toy.bin")


def test_ctrl_c_keeps_the_part(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(response: Any, have: int) -> bool:
        raise KeyboardInterrupt

    server.drop_after = [1000]
    monkeypatch.setattr(module, "continues", interrupted)
    with pytest.raises(KeyboardInterrupt):
        download(server.url, tmp_path / "toy.bin")
    assert (tmp_path / "toy.bin.part").stat().st_size == 1000


@pytest.mark.parametrize("said", ["abc", "-5", "1e3", "9" * 400])
def test_a_length_that_is_none_is_passed_over(server: Server, tmp_path: Path, said: str) -> None:
    server.length = said
    download(server.url, tmp_path / "toy.bin")
    assert (tmp_path / "toy.bin").read_bytes() == CONTENT


def test_more_than_was_to_be_expected_is_refused_by_what_is_said_and_by_what_comes(
    server: Server, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"larger than the 200,000 bytes.*--from DIR"):
        download(server.url, tmp_path / "toy.bin", size=100_000)
    server.length = "abc"
    with pytest.raises(InputError, match=r"larger than the 200,000 bytes"):
        download(server.url, tmp_path / "toy.bin", size=100_000)
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".json"]


def test_a_redirection_does_not_lead_out_of_https() -> None:
    asked = request.Request("https://example.org/a.zip")
    with pytest.raises(InputError, match="is not HTTPS"):
        module.Redirects().redirect_request(asked, None, 302, "", {}, "http://example.org/a.zip")
