"""The explorer's server: pages, their JSON twins, and what is computed on demand."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from attentest.errors import AttentestError, InputError, NotApplicable, StorageError, UnknownName, line_of
from attentest.explorer.data.calibration import calibration, roc
from attentest.explorer.data.claims import claims_of
from attentest.explorer.data.files import NoSuchText, RunFiles
from attentest.explorer.data.library import Library
from attentest.explorer.data.plots import described, plot_json, plots_of
from attentest.explorer.data.studies import Studies
from attentest.explorer.data.texts import page_of_texts, text_of
from attentest.explorer.pages import shell
from attentest.explorer.plain import as_json
from attentest.explorer.safety import Guard, TooLarge, posted, refused
from attentest.papers import PAPERS
from attentest.tasks import task_of, wording_of

if TYPE_CHECKING:
    from attentest.explorer.live.answers import Live

__all__ = ["explorer"]

STATIC = Path(__file__).with_name("static")
#: What a report may do, which is a page by itself with its pictures and its style in it.
REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
#: Seconds that the page of a run waits for its verdict, which may take minutes; it says so, and asks again.
PATIENCE, TICK = 2.0, 0.05
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

Found = TypeVar("Found")
JSON = "application/json"
Answer = Callable[[Request], Awaitable[Response]]


def explorer(
    runs: Path,
    *,
    host: str = "127.0.0.1",
    token: str | None = None,
    checkpoints: tuple[Path, ...] = (),
    judging: bool = True,
) -> Starlette:
    """The server of a folder of runs.

    ``checkpoints`` are models that runs audited and did not keep, and that may be asked. ``judging`` reads the verdict
    on every run in the background.
    """
    library, stop = Library(runs), threading.Event()

    @cache
    def live() -> Live:
        """Torch is loaded by the first question."""
        from attentest.explorer.live.answers import Live
        from attentest.explorer.live.models import Models

        return Live(Models(checkpoints))

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.readers = asyncio.Semaphore(READERS)
        thread = threading.Thread(target=library.judge_all, args=(stop,), name="judging", daemon=True)
        if judging:
            thread.start()
        yield
        stop.set()
        library.judge.stop()

    return Starlette(
        routes=[
            *_routes(library, live),
            *_live_routes(library, live),
            Mount("/static", StaticFiles(directory=STATIC, check_dir=False)),
        ],
        middleware=[Middleware(Guard, host=host, token=token)],
        exception_handlers={AttentestError: _failed, HTTPException: _failed, Exception: _failed},
        lifespan=lifespan,
    )


def _routes(library: Library, live: Callable[[], Live]) -> list[BaseRoute]:
    """Every address; a page's twin has the same with .json."""

    def named(request: Request) -> RunFiles:
        return library.run(request.path_params["run"])

    def home(request: Request) -> Any:
        return library.home(request.query_params)

    async def run(request: Request) -> Response:
        found = await _reading(request, lambda: named(request))
        future = library.judge.start(found)
        for _ in range(round(PATIENCE / TICK)):
            if future.done():
                break
            await asyncio.sleep(TICK)
        return Response(as_json(await _reading(request, lambda: _run(library, found, future))), media_type=JSON)

    studies = Studies(library)

    def texts(request: Request) -> Any:
        return page_of_texts(named(request), request.query_params)

    def text(request: Request) -> Any:
        run, row = named(request), _row(request)
        found = text_of(run, row)
        return live().completed(run, found) if request.query_params.get("live") == "1" else found

    def plot(request: Request) -> Any:
        return plot_json(named(request), request.path_params["name"])

    def claims(request: Request) -> Any:
        return claims_of(_paper(request), set(library.names()))

    return [
        _twin("/home.json", home),
        _page("/", "home", lambda _: {"title": "Runs", "twin": "/home.json"}),
        _twin("/claims.json", lambda _: {"papers": library.papers()}),
        _page("/claims", "claims", lambda _: {"title": "Claims", "twin": "/claims.json"}),
        _twin("/claims/{paper}.json", claims),
        _page("/claims/{paper}", "paper", _of_paper),
        _twin("/calibration.json", lambda _: calibration()),
        _page("/calibration", "calibration", lambda _: {"title": "Calibration", "twin": "/calibration.json"}),
        _twin(
            "/calibration/{test:path}.json", lambda r: roc(r.path_params["test"], r.query_params.get("truth", "words"))
        ),
        _twin("/studies/{study}.json", lambda r: studies.study(r.path_params["study"])),
        _twin(
            "/studies/{study}/plots/{name}.json",
            lambda r: studies.grid_json(r.path_params["study"], r.path_params["name"]),
        ),
        _page("/studies/{study}", "study", lambda r: _of_study(studies.study(r.path_params["study"]))),
        _twin("/runs/{run}/plots/{name}.json", plot),
        _twin("/runs/{run}/texts/{row}.json", text),
        _page("/runs/{run}/texts/{row}", "text", lambda r: _of_run(named(r), f"texts/{_row(r)}") | {"row": _row(r)}),
        _twin("/runs/{run}/texts.json", texts),
        _page("/runs/{run}/texts", "texts", lambda r: _of_run(named(r), "texts")),
        _page("/runs/{run}/read", "read", lambda r: _of_run(named(r), "read") | {"twin": ""}),
        Route("/runs/{run}/report", _answered(lambda r: _report(named(r)))),
        Route("/runs/{run}.json", _kept_safe(run)),
        _page("/runs/{run}", "run", lambda r: _of_run(named(r), "")),
    ]


def _live_routes(library: Library, live: Callable[[], Live]) -> list[BaseRoute]:
    """What a model is asked."""

    def asking(kind: str) -> Answer:
        async def answer(request: Request) -> Response:
            asked = await posted(request)
            name = request.path_params["run"]
            found = await run_in_threadpool(lambda: getattr(live(), kind)(library.run(name), asked))
            return Response(await run_in_threadpool(as_json, found), media_type=JSON)

        return _kept_safe(answer)

    def heads(request: Request) -> Any:
        return live().heads(library.run(request.path_params["run"]), _row(request), request.query_params.get("word"))

    questions = [
        Route(f"/runs/{{run}}/{kind}.json", asking(kind), methods=["POST"]) for kind in ("read", "reread", "attack")
    ]
    return [*questions, _twin("/runs/{run}/texts/{row}/heads.json", heads)]


def _kept_safe(answer: Answer) -> Answer:
    """Whatever goes wrong is answered in one line, by this server and under its policy."""

    async def safe(request: Request) -> Response:
        try:
            return await answer(request)
        except (AttentestError, HTTPException) as error:
            return await _failed(request, error)
        except Exception as error:
            logging.getLogger(__name__).exception("a fault")
            return await _failed(request, error)

    return safe


async def _reading(request: Request, make: Callable[[], Found]) -> Found:
    """What reads files does so in threads, a few at a time: nobody else is held up, and memory stays flat."""
    async with request.app.state.readers:
        return await run_in_threadpool(make)


def _answered(make: Callable[[Request], Response]) -> Answer:
    async def answer(request: Request) -> Response:
        return await _reading(request, lambda: make(request))

    return _kept_safe(answer)


def _twin(path: str, make: Callable[[Request], Any]) -> Route:
    def answer(request: Request) -> Response:
        found = make(request)
        return Response(found if isinstance(found, bytes) else as_json(found), media_type=JSON)

    return Route(path, _answered(answer))


def _page(path: str, name: str, about: Callable[[Request], dict[str, Any]]) -> Route:
    return Route(path, _answered(lambda r: shell(name, **about(r))))


def _of_run(run: RunFiles, part: str) -> dict[str, Any]:
    address = f"/runs/{quote(run.id, safe='')}" + (f"/{part}" if part else "")
    return {"title": f"{run.id} {part}".strip(), "run": run.id, "twin": f"{address}.json"}


def _of_study(study: dict[str, Any]) -> dict[str, Any]:
    name = study["study"]
    return {"title": study["title"] or name, "study": name, "twin": f"/studies/{quote(name, safe='')}.json"}


def _row(request: Request) -> int:
    text = str(request.path_params["row"])
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise NoSuchText(f"Row {text[:40]!r} is no whole number: texts are numbered from 0.")
    return int(text)


def _paper(request: Request) -> str:
    name = str(request.path_params["paper"])
    if name not in PAPERS:
        raise UnknownName("paper", name[:80], PAPERS)
    return name


def _of_paper(request: Request) -> dict[str, Any]:
    name = _paper(request)
    return {"title": PAPERS[name].citation, "paper": name, "twin": f"/claims/{name}.json"}


def _run(library: Library, run: RunFiles, verdict: Future[dict[str, Any]]) -> dict[str, Any]:
    """The page of a run: what it is, its verdict, and the plots that there are."""
    wording = wording_of(run.fields)
    return library.summary(run.id) | {
        "classes": run.classes,
        "task": task_of(run.fields).name,
        "unit": wording.unit,
        "item": wording.item,
        **_judged(verdict),
        "plots": [described(plot) for plot in plots_of(run)],
        "report": (run.folder.path / "report.html").is_file(),
    }


def _judged(verdict: Future[dict[str, Any]]) -> dict[str, Any]:
    """The verdict, or why there is none."""
    if not verdict.done():
        return {"verdict": None, "judging": True}
    try:
        return {"verdict": verdict.result(), "judging": False}
    except AttentestError as error:
        return {"verdict": None, "judging": False, "problem": line_of(error)}


def _report(run: RunFiles) -> Response:
    path = run.folder.path / "report.html"
    if not path.is_file():
        raise UnknownName(f"page of {run.id}", "report", ["texts"])
    return FileResponse(path, headers={"content-security-policy": REPORT_POLICY}, media_type="text/html")


async def _failed(request: Request, error: Exception) -> Response:
    """One clear line, as JSON or as a page."""
    if isinstance(error, HTTPException):
        status, line = error.status_code, f"There is nothing at {request.url.path[:80]}."
    elif isinstance(error, AttentestError):
        status, line = next(status for kind, status in STATUS if isinstance(error, kind)), line_of(error)
    else:
        status, line = 500, f"A fault in attentest ({type(error).__name__})."
    if request.method == "POST" or request.url.path.endswith(".json") or request.url.path.startswith("/static/"):
        return refused(status, line)
    return shell("error", "Nothing to show" if status == 404 else "This did not work", status, line=line)
