"""A server of studies of people alone: annotators by their links; for everything else the token is asked for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import BaseRoute, Route

from attentest.explorer.application import application
from attentest.explorer.people.annotators import annotator_routes, is_annotators
from attentest.explorer.people.researchers import researcher_routes
from attentest.explorer.people.studies import PeopleStudies
from attentest.explorer.safety import Guard

__all__ = ["PAGE", "people_routes", "people_server"]

#: The link to the studies at the top of pages.
PAGE = ("/people", "People")


def people_routes(studies: PeopleStudies) -> list[BaseRoute]:
    """All that is shown of studies of people."""
    return [*researcher_routes(studies), *annotator_routes(studies)]


def people_server(
    studies: PeopleStudies, *, host: str = "127.0.0.1", token: str | None = None, known_as: str | None = None
) -> Starlette:
    """The server of some studies; no run can be reached at it."""

    def home(_: Request) -> RedirectResponse:
        return RedirectResponse(PAGE[0], 303)

    def is_open(path: str) -> bool:
        return is_annotators(path) or path.startswith("/static/")

    @contextlib.contextmanager
    def lifetime() -> Iterator[None]:
        yield
        studies.close()

    guard = Middleware(Guard, host=host, token=token, known_as=known_as, open=is_open)
    return application([*people_routes(studies), Route("/", home)], guard, lambda: (PAGE,), lifetime)
