"""How the explorer answers: pages, their JSON twins, files read in threads, and whatever goes wrong in one line."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

from attentest.errors import AttentestError, InputError, NotApplicable, StorageError, UnknownName, line_of
from attentest.explorer.data.files import NoSuchText
from attentest.explorer.pages import shell
from attentest.explorer.plain import as_json
from attentest.explorer.safety import TooLarge, refused

__all__ = [
    "JSON",
    "READERS",
    "REPORT_POLICY",
    "Answer",
    "answered",
    "failed",
    "kept_safe",
    "page",
    "reading",
    "report_at",
    "status_of",
    "twin",
]

#: What a report may do, which is a page by itself with its pictures and its style in it.
REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
#: How many answers read files at a time.
READERS = 4
#: The kinds of errors, and what HTTP calls them; the first that fits.
STATUS: tuple[tuple[type[AttentestError], int], ...] = (
    (UnknownName, 404),
    (NoSuchText, 404),
    (TooLarge, 413),
    (NotApplicable, 409),
    (InputError, 400),
    (StorageError, 503),
    (AttentestError, 400),
)
JSON = "application/json"

Found = TypeVar("Found")
Answer = Callable[[Request], Awaitable[Response]]


def kept_safe(answer: Answer) -> Answer:
    """Whatever goes wrong is answered in one line, by this server and under its policy."""

    async def safe(request: Request) -> Response:
        try:
            return await answer(request)
        except (AttentestError, HTTPException) as error:
            return await failed(request, error)
        except Exception as error:
            logging.getLogger(__name__).exception("a fault")
            return await failed(request, error)

    return safe


async def reading(request: Request, make: Callable[[], Found]) -> Found:
    """What reads files does so in threads, a few at a time: nobody else is held up, and memory stays flat."""
    async with request.app.state.readers:
        return await run_in_threadpool(make)


def answered(make: Callable[[Request], Response]) -> Answer:
    """An answer that is made of files."""

    async def answer(request: Request) -> Response:
        return await reading(request, lambda: make(request))

    return kept_safe(answer)


def twin(path: str, make: Callable[[Request], Any]) -> Route:
    """The data of a page."""

    def answer(request: Request) -> Response:
        found = make(request)
        return Response(found if isinstance(found, bytes) else as_json(found), media_type=JSON)

    return Route(path, answered(answer))


def page(path: str, name: str, about: Callable[[Request], dict[str, Any]]) -> Route:
    """A page, by its name."""
    return Route(path, answered(lambda r: _drawn(r, name, **about(r))))


def report_at(path: Path) -> Response:
    """A report, which may run nothing."""
    return FileResponse(path, headers={"content-security-policy": REPORT_POLICY}, media_type="text/html")


def status_of(error: AttentestError) -> int:
    """What HTTP calls an error."""
    return next(status for kind, status in STATUS if isinstance(error, kind))


async def failed(request: Request, error: Exception) -> Response:
    """One clear line, as JSON or as a page."""
    if isinstance(error, HTTPException):
        status, line = error.status_code, f"There is nothing at {request.url.path[:80]}."
    elif isinstance(error, AttentestError):
        status, line = status_of(error), line_of(error)
    else:
        status, line = 500, f"A fault in attentest ({type(error).__name__})."
    if request.method == "POST" or request.url.path.endswith(".json") or request.url.path.startswith("/static/"):
        return refused(status, line)
    title = "Nothing to show" if status == 404 else "This did not work"
    return await reading(request, lambda: _drawn(request, "error", title=title, status=status, line=line))


def _drawn(request: Request, name: str, **about: Any) -> HTMLResponse:
    """A page with the links that this server has at the top of every page."""
    return shell(name, pages=request.app.state.pages(), path=request.url.path, **about)
