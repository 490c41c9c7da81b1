"""One file over HTTP: resumed where it stopped, tried again with growing pauses, whole or not at all."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib import error as urls
from urllib import request
from urllib.parse import urlsplit

from attentest import __version__
from attentest.errors import InputError, StorageError
from attentest.progress import SILENT, Progress, Tick

__all__ = ["download"]

ATTEMPTS = 5
#: Seconds before the second attempt; each further pause is twice as long.
PAUSE = 1.0
TIMEOUT = 30.0
CHUNK = 1 << 16
#: Bytes of a download whose size nobody declared; twice what was declared, for any other.
LARGEST = 20 << 30
NOT_TEMPORARY = range(400, 500)
TEMPORARY = (408, 425, 429)


@dataclass(frozen=True)
class _Begun:
    """The part of a file that is here, and what the server said about the whole."""

    path: Path

    @property
    def notes(self) -> Path:
        return self.path.with_name(f"{self.path.name}.json")

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.is_file() else 0

    def validator(self) -> str:
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
            return str(json.loads(self.notes.read_text(encoding="utf-8"))["validator"])
        return ""

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)
        self.notes.unlink(missing_ok=True)


def download(url: str, target: Path, *, size: int = 0, progress: Progress = SILENT) -> None:
    """Bring ``url`` to ``target``; until it is whole it is ``target``.part, which the next call goes on with."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise InputError(f"{url} cannot be fetched: only http and https addresses can. Use --from with a folder.")
    begun = _Begun(target.with_name(f"{target.name}.part"))
    with _storage(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    failed, most = 0, 2 * size or LARGEST
    with progress.stage("Fetching", size or _length(url)) as tick:
        tick(begun.size)
        while True:
            before = begun.size
            try:
                _go_on(url, begun, most, tick)
                break
            except (urls.URLError, http.client.HTTPException, ConnectionError, TimeoutError, _Cut) as error:
                _refuse_what_stays_wrong(url, error)
                failed = 1 if begun.size > before else failed + 1
                if failed >= ATTEMPTS:
                    raise InputError(
                        f"{url} could not be fetched ({_reason(error)}); {begun.size:,} bytes are kept. Check the "
                        "network and run the same command to go on, or fetch it by hand and use --from DIR."
                    ) from error
                time.sleep(PAUSE * 2 ** (failed - 1))
    with _storage(target):
        begun.path.replace(target)
        begun.notes.unlink(missing_ok=True)


def _length(url: str) -> int:
    """The size the server names, for the progress bar; 0 when it does not."""
    with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
        with _opener().open(request.Request(url, method="HEAD"), timeout=TIMEOUT) as response:
            return _said(response.headers) or 0
    return 0


def _said(headers: Any) -> int | None:
    """The length that a server names; None where it names none, or something else."""
    text = (headers.get("Content-Length") or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


class _Cut(Exception):
    """The connection ended before the file did."""


def _go_on(url: str, begun: _Begun, most: int, tick: Tick) -> None:
    """Ask for what is missing and append it."""
    headers = {"User-Agent": f"attentest/{__version__}", "Accept-Encoding": "identity"}
    have = begun.size
    if have:
        headers["Range"] = f"bytes={have}-"
        if validator := begun.validator():
            headers["If-Range"] = validator
    try:
        response = _opener().open(request.Request(url, headers=headers), timeout=TIMEOUT)
    except urls.HTTPError as error:
        if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        whole = (error.headers.get("Content-Range") or "").rpartition("/")[2]
        if whole == str(have):
            return
        begun.forget()
        raise _Cut("the part that was kept does not fit the file; starting again") from error
    with response:
        mode = "ab"
        if have and not continues(response, have):
            tick(-have)
            have, mode = 0, "wb"
        length = _said(response.headers)
        _note(begun, response.headers)
        if length:
            if have + length > most:
                raise _too_large(url, most)
            _refuse_too_little_space(begun.path, length)
        with _storage(begun.path):
            file = begun.path.open(mode)
        with file:
            received = 0
            while chunk := response.read(CHUNK):
                with _storage(begun.path):
                    file.write(chunk)
                received += len(chunk)
                if have + received > most:
                    begun.forget()
                    raise _too_large(url, most)
                tick(len(chunk))
            with _storage(begun.path):
                file.flush()
                os.fsync(file.fileno())
    if length and received < length:
        raise _Cut(f"the connection ended after {received:,} of {length:,} bytes")


def _too_large(url: str, most: int) -> InputError:
    return InputError(
        f"{url} is larger than the {most:,} bytes that were to be expected: it was altered or replaced. Compare with "
        "the official page, or fetch it by hand and use --from DIR."
    )


def continues(response: Any, have: int) -> bool:
    """Whether the server sends the rest, and not the whole file again."""
    said = response.headers.get("Content-Range") or ""
    return response.status == http.client.PARTIAL_CONTENT and said.startswith(f"bytes {have}-")


def _note(begun: _Begun, headers: Any) -> None:
    validator = headers.get("ETag") or headers.get("Last-Modified") or ""
    with _storage(begun.path):
        record = {"validator": "" if validator.startswith("W/") else validator}
        begun.notes.write_text(json.dumps(record), encoding="utf-8")


class Redirects(request.HTTPRedirectHandler):
    """What was asked for over HTTPS is not taken over plain HTTP."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        """The next request, or none."""
        if urlsplit(req.full_url).scheme == "https" and urlsplit(newurl).scheme != "https":
            raise InputError(
                f"{req.full_url} leads to {newurl}, which is not HTTPS: fetch it by hand and use --from DIR."
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> request.OpenerDirector:
    """HTTP and HTTPS only, also behind a redirection."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler(),
        request.UnknownHandler(),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        request.HTTPDefaultErrorHandler(),
        Redirects(),
        request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def _refuse_what_stays_wrong(url: str, error: Exception) -> None:
    """An answer that another attempt would not change ends in an error now."""
    if isinstance(error, urls.HTTPError) and error.code in NOT_TEMPORARY and error.code not in TEMPORARY:
        raise InputError(
            f"{url} could not be fetched: the server says {error.code} {error.reason}. The address may have moved, "
            "or need an account: fetch it by hand and use --from DIR."
        ) from error


def _refuse_too_little_space(path: Path, needed: int) -> None:
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        raise StorageError(f"{path.parent} has {free:,} bytes free, and {needed:,} are to come. Free space there.")


def _reason(error: Exception) -> str:
    if isinstance(error, urls.HTTPError):
        return f"{error.code} {error.reason}"
    return str(getattr(error, "reason", "") or error or type(error).__name__)


@contextlib.contextmanager
def _storage(path: Path) -> Iterator[None]:
    """What the disk refuses is about the disk, and not about the network."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"Cannot write {path}: {error.strerror or error}. Free space or choose another folder; "
            "what is there is kept."
        ) from error
