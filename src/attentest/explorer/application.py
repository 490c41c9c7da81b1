"""What every server here is made of: routes behind the guard, the static files, and a lifetime."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from attentest.errors import AttentestError
from attentest.explorer.answering import READERS, failed

__all__ = ["application"]

STATIC = Path(__file__).with_name("static")


def application(
    routes: Iterable[BaseRoute],
    guard: Middleware,
    pages: Callable[[], tuple[tuple[str, str], ...]],
    lifetime: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
) -> Starlette:
    """A server. ``pages`` are the links at the top of every page; ``lifetime`` is entered while it serves."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.readers = asyncio.Semaphore(READERS)
        app.state.pages = pages
        with lifetime():
            yield

    return Starlette(
        routes=[*routes, Mount("/static", StaticFiles(directory=STATIC, check_dir=False))],
        middleware=[guard],
        exception_handlers={AttentestError: failed, HTTPException: failed, Exception: failed},
        lifespan=lifespan,
    )
