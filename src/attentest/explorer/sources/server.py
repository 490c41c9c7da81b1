"""The addresses of audits of sources; a page's twin has the same with .json."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from attentest.errors import UnknownName
from attentest.explorer.answering import answered, page, report_at, twin
from attentest.explorer.data.files import NoSuchText
from attentest.explorer.sources.audits import SourceAudits
from attentest.explorer.sources.questions import one_question, page_of_questions, summary
from attentest.store.folder import REPORT

__all__ = ["PAGE", "source_routes"]

#: The link to the audits at the top of pages.
PAGE = ("/sources", "Sources")


def source_routes(audits: SourceAudits) -> list[BaseRoute]:
    """All that is shown of audits of sources."""

    def named(request: Request) -> str:
        return audits.folder(request.path_params["audit"]).path.name

    def one(request: Request) -> Any:
        name = named(request)
        return summary(audits.named(name), report=(audits.folder(name).path / REPORT).is_file())

    return [
        twin("/sources.json", lambda _: {"audits": audits.listed()}),
        page("/sources", "sources", lambda _: {"title": "Sources", "twin": "/sources.json"}),
        twin("/sources/{audit}/questions.json", lambda r: page_of_questions(audits.named(named(r)), r.query_params)),
        twin("/sources/{audit}/questions/{row}.json", lambda r: one_question(audits.named(named(r)), _row(r))),
        page("/sources/{audit}/questions/{row}", "question", lambda r: _about(named(r), f"/questions/{_row(r)}")),
        Route("/sources/{audit}/report", answered(lambda r: _report(audits, named(r)))),
        twin("/sources/{audit}.json", one),
        page("/sources/{audit}", "cited", lambda r: _about(named(r), "")),
    ]


def _about(name: str, part: str) -> dict[str, Any]:
    return {"title": f"{name} {part.lstrip('/')}".strip(), "twin": f"/sources/{quote(name, safe='')}{part}.json"}


def _row(request: Request) -> int:
    text = str(request.path_params["row"])
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise NoSuchText(f"Question {text[:40]!r} is no whole number: questions are numbered from 0.")
    return int(text)


def _report(audits: SourceAudits, name: str) -> Response:
    folder = audits.folder(name)
    if not (folder.path / REPORT).is_file():
        raise UnknownName(f"page of {name}", "report", ["questions"])
    return report_at(folder.verify(REPORT))
