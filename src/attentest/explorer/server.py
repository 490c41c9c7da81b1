"""The explorer's server: pages, their JSON twins, and what is computed on demand."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
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
from attentest.explorer.data.calibration import calibration
from attentest.explorer.data.claims import claims_of
from attentest.explorer.data.files import NoSuchText, RunFiles
from attentest.explorer.data.library import Library
from attentest.explorer.data.plots import described, plot_data, plots_of
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

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        thread = threading.Thread(target=library.judge_all, args=(stop,), name="judging", daemon=True)
        if judging:
            thread.start()
        yield
        stop.set()

    return Starlette(
        routes=[
            *_routes(library),
            *_live_routes(library, checkpoints),
            Mount("/static", StaticFiles(directory=STATIC, check_dir=False)),
        ],
        middleware=[Middleware(Guard, host=host, token=token)],
        exception_handlers={AttentestError: _failed, HTTPException: _failed, Exception: _failed},
        lifespan=lifespan,
    )


def _routes(library: Library) -> list[BaseRoute]:
    """Every address; a page's twin has the same with .json."""

    def named(request: Request) -> RunFiles:
        return library.run(request.path_params["run"])

    def home(request: Request) -> Any:
        return library.home(request.query_params)

    def run(request: Request) -> Any:
        return _run(library, named(request))

    def texts(request: Request) -> Any:
        return page_of_texts(named(request), request.query_params)

    def text(request: Request) -> Any:
        return text_of(named(request), _row(request))

    def plot(request: Request) -> Any:
        return plot_data(named(request), request.path_params["name"])

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
        _twin("/runs/{run}/plots/{name}.json", plot),
        _twin("/runs/{run}/texts/{row}.json", text),
        _page("/runs/{run}/texts/{row}", "text", lambda r: _of_run(named(r), f"texts/{_row(r)}") | {"row": _row(r)}),
        _twin("/runs/{run}/texts.json", texts),
        _page("/runs/{run}/texts", "texts", lambda r: _of_run(named(r), "texts")),
        _page("/runs/{run}/read", "read", lambda r: _of_run(named(r), "read") | {"twin": ""}),
        Route("/runs/{run}/report", _answered(lambda r: _report(named(r)))),
        _twin("/runs/{run}.json", run),
        _page("/runs/{run}", "run", lambda r: _of_run(named(r), "")),
    ]


def _live_routes(library: Library, checkpoints: tuple[Path, ...]) -> list[BaseRoute]:
    """What a model is asked: torch is loaded by the first question."""

    @cache
    def live() -> Live:
        from attentest.explorer.live.answers import Live
        from attentest.explorer.live.models import Models

        return Live(Models(checkpoints))

    def asking(kind: str) -> Answer:
        async def answer(request: Request) -> Response:
            asked = await posted(request)
            name = request.path_params["run"]
            found = await run_in_threadpool(lambda: getattr(live(), kind)(library.run(name), asked))
            return Response(await run_in_threadpool(as_json, found), media_type="application/json")

        return answer

    def heads(request: Request) -> Any:
        return live().heads(library.run(request.path_params["run"]), _row(request), request.query_params.get("word"))

    questions = [
        Route(f"/runs/{{run}}/{kind}.json", asking(kind), methods=["POST"]) for kind in ("read", "reread", "attack")
    ]
    return [*questions, _twin("/runs/{run}/texts/{row}/heads.json", heads)]


def _answered(make: Callable[[Request], Response]) -> Answer:
    """Answers are made in threads: reading files holds up nobody else."""

    async def answer(request: Request) -> Response:
        return await run_in_threadpool(make, request)

    return answer


def _twin(path: str, make: Callable[[Request], Any]) -> Route:
    return Route(path, _answered(lambda r: Response(as_json(make(r)), media_type="application/json")))


def _page(path: str, name: str, about: Callable[[Request], dict[str, Any]]) -> Route:
    return Route(path, _answered(lambda r: shell(name, **about(r))))


def _of_run(run: RunFiles, part: str) -> dict[str, Any]:
    address = f"/runs/{quote(run.id, safe='')}" + (f"/{part}" if part else "")
    return {"title": f"{run.id} {part}".strip(), "run": run.id, "twin": f"{address}.json"}


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


def _run(library: Library, run: RunFiles) -> dict[str, Any]:
    """The page of a run: what it is, its verdict, and the plots that there are."""
    wording = wording_of(run.fields)
    return library.summary(run.id) | {
        "classes": run.classes,
        "task": task_of(run.fields).name,
        "unit": wording.unit,
        "item": wording.item,
        **_judged(library, run),
        "plots": [described(plot) for plot in plots_of(run)],
        "report": (run.folder.path / "report.html").is_file(),
    }


def _judged(library: Library, run: RunFiles) -> dict[str, Any]:
    """The verdict, or why there is none."""
    try:
        return {"verdict": library.verdict(run.id)}
    except AttentestError as error:
        return {"verdict": None, "problem": line_of(error)}


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
