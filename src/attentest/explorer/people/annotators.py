"""An annotator's pages: consent, instructions, items, done. The link is the key, and it opens nothing else.

An answer is acknowledged when it is on disk. What an annotator is told of an error names no file and no other study.
"""

from __future__ import annotations

import hashlib
import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from attentest.errors import AttentestError, InputError, StorageError, UnknownName, line_of
from attentest.explorer.answering import JSON, Answer, status_of
from attentest.explorer.pages import shell
from attentest.explorer.people.studies import PeopleStudies
from attentest.explorer.plain import as_json
from attentest.explorer.safety import posted, refused
from attentest.people import Annotator, PeopleStudy, Progress

__all__ = ["annotator_routes", "is_annotators"]

#: Links are so many characters of this alphabet.
LINK, ALPHABET = 32, frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
#: Bytes of a posted answer, which is a few hundred.
LARGEST = 4_000
#: What one annotator may post: so many at once, and so many a second after that. Nobody reads faster.
BURST, STEADY = 40, 10.0
#: Annotators whose postings are remembered.
REMEMBERED = 10_000
HEADERS = {"cache-control": "no-store", "x-robots-tag": "noindex"}
NO_LINK = "This link is not known here. Check that it is whole, or ask whoever invited you for a new one."
NOT_NOW = "The study cannot be reached at this moment. Your page keeps what you answered and sends it again."
WITHDRAW = "withdraw"

Made = Callable[[PeopleStudy, Annotator, dict[str, Any]], Any]


def is_annotators(path: str) -> bool:
    """Whether a path is an annotator's, so that its link is asked for and no token is."""
    parts = path.split("/")
    if len(parts) < 4 or parts[:2] != ["", "people"]:
        return False
    return _is_link(parts[3].removesuffix(".json") if len(parts) == 4 else parts[3])


def _is_link(text: str) -> bool:
    return len(text) == LINK and set(text) <= ALPHABET


def annotator_routes(studies: PeopleStudies) -> list[BaseRoute]:
    """Every address of an annotator; the page's twin has the same with .json."""
    at, paces = "/people/{study}/{link}", _Paces()

    def read(path: str, make: Callable[[Request, PeopleStudy, Annotator], Response]) -> Route:
        async def answer(request: Request) -> Response:
            return await run_in_threadpool(lambda: make(request, *_known(studies, request)))

        return Route(path, _private(answer))

    def write(kind: str, make: Made) -> Route:
        async def answer(request: Request) -> Response:
            study, who = await run_in_threadpool(_known, studies, request)
            if wait := paces.wait(f"{study.path} {who.number}"):
                response = refused(429, "That was very fast. Your page waits a moment and sends it again.")
                response.headers["retry-after"] = str(math.ceil(wait))
                return response
            asked = await posted(request, LARGEST)
            return Response(await run_in_threadpool(lambda: as_json(make(study, who, asked))), media_type=JSON)

        return Route(f"{at}/{kind}.json", _private(answer), methods=["POST"])

    return [
        read(f"{at}.json", lambda r, study, who: _json(_whole(study, who, r.path_params["link"]))),
        read(f"{at}/items/{{item}}.json", lambda r, study, who: _json(_item(study, who, r.path_params["item"]))),
        write("consent", _consent),
        write("answer", _answer),
        write("undo", lambda study, who, asked: _far(study, who, study.undo(who, _text(asked, "nonce")))),
        write("withdraw", _withdraw),
        read(at, _page),
    ]


class _Paces:
    """How fast everybody posts: a bucket each, that fills steadily."""

    def __init__(self) -> None:
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, who: str) -> float:
        """Seconds until they may post again; 0 now."""
        now = time.monotonic()
        with self._lock:
            left, then = self._left.pop(who, (float(BURST), now))
            left = min(float(BURST), left + (now - then) * STEADY)
            self._left[who] = (left - 1 if left >= 1 else left), now
            if len(self._left) > REMEMBERED:
                self._left.popitem(last=False)
        return 0.0 if left >= 1 else (1 - left) / STEADY


def _known(studies: PeopleStudies, request: Request) -> tuple[PeopleStudy, Annotator]:
    """Who asks, by the link; an unknown study and an unknown link are the same to whoever asks."""
    link = request.path_params["link"]
    if not _is_link(link):
        raise _NoLink
    try:
        study = studies.named(request.path_params["study"])
        return study, study.annotator(link)
    except UnknownName as error:
        raise _NoLink from error


class _NoLink(Exception):
    """A link of nobody."""


def _private(answer: Answer) -> Answer:
    """Errors tell an annotator nothing of files or of others; no browser keeps a page, and no search finds it."""

    async def told(request: Request) -> Response:
        try:
            response = await answer(request)
        except _NoLink:
            response = _failed(request, 404, NO_LINK)
        except StorageError:
            logging.getLogger(__name__).exception("an annotator could not be answered")
            response = _failed(request, 503, NOT_NOW)
        except AttentestError as error:
            response = _failed(request, status_of(error), line_of(error))
        except Exception:
            logging.getLogger(__name__).exception("a fault")
            response = _failed(request, 500, NOT_NOW)
        response.headers.update(HEADERS)
        return response

    return told


def _failed(request: Request, status: int, line: str) -> Response:
    if request.method == "POST" or request.url.path.endswith(".json"):
        return refused(status, line)
    title = "This link opens nothing" if status == 404 else "Please try again in a moment"
    return shell("annotator_error", title, status, line=line)


# What a page is sent


def _json(value: Any) -> Response:
    return Response(as_json(value), media_type=JSON)


def _far(study: PeopleStudy, who: Annotator, progress: Progress) -> dict[str, Any]:
    """How far they are, and the item to answer next."""
    show = progress.consented and progress.next is not None
    return {
        "done": progress.done,
        "total": progress.total,
        "consented": progress.consented,
        "finished": progress.finished,
        "last": progress.last,
        "item": study.item(who, str(progress.next)).seen() if show else None,
    }


def _whole(study: PeopleStudy, who: Annotator, link: str) -> dict[str, Any]:
    """All that the page begins with: the same on every machine."""
    documents = study.documents()
    return {
        "study": study.name,
        "annotator": who.name,
        "consent": documents.consent,
        "instructions": documents.instructions,
        "version": documents.version,
        # A name for what this browser keeps until it is sent, that is not the link.
        "keep": hashlib.sha256(f"keep {study.name} {link}".encode()).hexdigest()[:16],
        "given": {item: event.choice for item, event in study.given(who).items()},
        **_far(study, who, study.progress(who)),
    }


def _item(study: PeopleStudy, who: Annotator, name: str) -> dict[str, Any]:
    """One of their items, and what they answered."""
    if not study.has_consented(who):
        raise InputError("Read the texts and agree before you answer.")
    event = study.given(who).get(name)
    return {"item": study.item(who, name).seen(), "given": event.choice if event else None}


def _page(request: Request, study: PeopleStudy, who: Annotator) -> Response:
    documents, markdown = study.documents(), MarkdownIt("commonmark", {"html": False})
    name = quote(study.name, safe="")
    return shell(
        "annotate",
        study.name,
        study=study.name,
        twin=f"/people/{name}/{request.path_params['link']}.json",
        version=documents.version,
        consent=Markup(markdown.render(documents.consent)),
        instructions=Markup(markdown.render(documents.instructions)),
    )


# What a page asks for


def _text(asked: dict[str, Any], name: str) -> str:
    found = asked.get(name)
    if not isinstance(found, str):
        raise InputError(f"{name} must be a string.")
    return found


def _consent(study: PeopleStudy, who: Annotator, asked: dict[str, Any]) -> dict[str, Any]:
    return _far(study, who, study.consent(who, _text(asked, "version")))


def _answer(study: PeopleStudy, who: Annotator, asked: dict[str, Any]) -> dict[str, Any]:
    item, choice, nonce = (_text(asked, name) for name in ("item", "choice", "nonce"))
    seconds = asked.get("seconds")
    if seconds is not None and (type(seconds) not in (int, float) or not 0 <= seconds < math.inf):
        raise InputError("seconds must be a number from 0, or null.")
    return _far(study, who, study.answer(who, item, choice, nonce, seconds))


def _withdraw(study: PeopleStudy, who: Annotator, asked: dict[str, Any]) -> dict[str, Any]:
    if asked.get("confirm") != WITHDRAW:
        raise InputError(f'To withdraw, send {{"confirm": "{WITHDRAW}"}}.')
    try:
        study.forget(who)
    except StorageError:
        if any(each.number == who.number for each in study.store.annotators()):
            raise
        # They are gone; bytes that another process still holds are for whoever runs the study.
        logging.getLogger(__name__).exception("deleted, and not yet erased")
    return {"withdrawn": True}
