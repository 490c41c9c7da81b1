"""The explorer's server: pages, their JSON twins, and what is computed on demand."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from attentest.errors import AttentestError, UnknownName, line_of
from attentest.explorer.answering import JSON, Answer, answered, kept_safe, page, reading, report_at, twin
from attentest.explorer.application import application
from attentest.explorer.data.calibration import calibration, roc
from attentest.explorer.data.claims import claims_of
from attentest.explorer.data.files import NoSuchText, RunFiles
from attentest.explorer.data.library import Library
from attentest.explorer.data.plots import described, plot_json, plots_of
from attentest.explorer.data.studies import Studies
from attentest.explorer.data.texts import page_of_texts, text_of
from attentest.explorer.people.server import PAGE as PEOPLE
from attentest.explorer.people.server import people_routes
from attentest.explorer.people.studies import PeopleStudies
from attentest.explorer.plain import as_json
from attentest.explorer.safety import Guard, posted
from attentest.explorer.sources.audits import SourceAudits
from attentest.explorer.sources.server import PAGE as SOURCES
from attentest.explorer.sources.server import source_routes
from attentest.papers import PAPERS
from attentest.people import DEFAULT_PEOPLE
from attentest.store.folder import REPORT
from attentest.store.sources import USUAL
from attentest.tasks import task_of, wording_of

if TYPE_CHECKING:
    from attentest.explorer.live.answers import Live

__all__ = ["explorer"]

PAGES = (("/", "Runs"), ("/claims", "Claims"), ("/calibration", "Calibration"))
#: Seconds that the page of a run waits for its verdict, which may take minutes; it says so, and asks again.
PATIENCE, TICK = 2.0, 0.05


def explorer(
    runs: Path,
    *,
    host: str = "127.0.0.1",
    token: str | None = None,
    checkpoints: tuple[Path, ...] = (),
    people: Path = DEFAULT_PEOPLE,
    sources: Path = USUAL,
    judging: bool = True,
) -> Starlette:
    """The server of a folder of runs, of the studies in ``people``, and of the audits of sources in ``sources``.

    ``checkpoints`` are models that runs audited and did not keep, and that may be asked. ``judging`` reads the verdict
    on every run in the background.
    """
    library, asked, stop = Library(runs), PeopleStudies(people), threading.Event()
    cited = SourceAudits((sources, runs))

    @cache
    def live() -> Live:
        """Torch is loaded by the first question."""
        from attentest.explorer.live.answers import Live
        from attentest.explorer.live.models import Models

        return Live(Models(checkpoints))

    @contextlib.contextmanager
    def lifetime() -> Iterator[None]:
        thread = threading.Thread(target=library.judge_all, args=(stop,), name="judging", daemon=True)
        if judging:
            thread.start()
        yield
        stop.set()
        library.judge.stop()
        asked.close()

    def pages() -> tuple[tuple[str, str], ...]:
        return (*PAGES, *((SOURCES,) if cited.any() else ()), *((PEOPLE,) if asked.paths() else ()))

    routes = [*_routes(library, live), *_live_routes(library, live), *people_routes(asked), *source_routes(cited)]
    return application(routes, Middleware(Guard, host=host, token=token), pages, lifetime)


def _routes(library: Library, live: Callable[[], Live]) -> list[BaseRoute]:
    """Every address; a page's twin has the same with .json."""

    def named(request: Request) -> RunFiles:
        return library.run(request.path_params["run"])

    def home(request: Request) -> Any:
        return library.home(request.query_params)

    async def run(request: Request) -> Response:
        found = await reading(request, lambda: named(request))
        future = library.judge.start(found)
        for _ in range(round(PATIENCE / TICK)):
            if future.done():
                break
            await asyncio.sleep(TICK)
        return Response(as_json(await reading(request, lambda: _run(library, found, future))), media_type=JSON)

    studies = Studies(library)

    def texts(request: Request) -> Any:
        return page_of_texts(named(request), request.query_params)

    def text(request: Request) -> Any:
        run, row = named(request), _row_of(request)
        found = text_of(run, row)
        return live().completed(run, found) if request.query_params.get("live") == "1" else found

    def plot(request: Request) -> Any:
        return plot_json(named(request), request.path_params["name"])

    def claims(request: Request) -> Any:
        return claims_of(_paper(request), set(library.names()))

    return [
        twin("/home.json", home),
        page("/", "home", lambda _: {"title": "Runs", "twin": "/home.json"}),
        twin("/claims.json", lambda _: {"papers": library.papers()}),
        page("/claims", "claims", lambda _: {"title": "Claims", "twin": "/claims.json"}),
        twin("/claims/{paper}.json", claims),
        page("/claims/{paper}", "paper", _of_paper),
        twin("/calibration.json", lambda _: calibration()),
        page("/calibration", "calibration", lambda _: {"title": "Calibration", "twin": "/calibration.json"}),
        twin(
            "/calibration/{test:path}.json", lambda r: roc(r.path_params["test"], r.query_params.get("truth", "words"))
        ),
        twin("/studies/{study}.json", lambda r: studies.study(r.path_params["study"])),
        twin(
            "/studies/{study}/plots/{name}.json",
            lambda r: studies.grid_json(r.path_params["study"], r.path_params["name"]),
        ),
        page("/studies/{study}", "study", lambda r: _of_study(studies.study(r.path_params["study"]))),
        twin("/runs/{run}/plots/{name}.json", plot),
        twin("/runs/{run}/texts/{row}.json", text),
        page(
            "/runs/{run}/texts/{row}", "text", lambda r: _of_run(named(r), f"texts/{_row_of(r)}") | {"row": _row_of(r)}
        ),
        twin("/runs/{run}/texts.json", texts),
        page("/runs/{run}/texts", "texts", lambda r: _of_run(named(r), "texts")),
        page("/runs/{run}/read", "read", lambda r: _of_run(named(r), "read", r.url.query)),
        Route("/runs/{run}/report", answered(lambda r: _report(named(r)))),
        Route("/runs/{run}.json", kept_safe(run)),
        page("/runs/{run}", "run", lambda r: _of_run(named(r), "")),
    ]


def _live_routes(library: Library, live: Callable[[], Live]) -> list[BaseRoute]:
    """What a model is asked."""

    def asking(kind: str) -> Answer:
        async def answer(request: Request) -> Response:
            asked = await posted(request)
            name = request.path_params["run"]
            found = await run_in_threadpool(lambda: getattr(live(), kind)(library.run(name), asked))
            return Response(await run_in_threadpool(as_json, found), media_type=JSON)

        return kept_safe(answer)

    def heads(request: Request) -> Any:
        return live().heads(library.run(request.path_params["run"]), _row_of(request), request.query_params.get("word"))

    def own_text(request: Request) -> Any:
        """The twin of a page with a text of one's own; without one there is nothing to read yet."""
        run, query = library.run(request.path_params["run"]), request.query_params
        asked = {name: query[name] for name in ("text", "second", "site") if query.get(name)}
        step = {"step": _row(query["step"])} if query.get("step") else {}
        return live().read(run, asked | step) if "text" in asked else {"run": run.id, "text": None}

    questions = [
        Route(f"/runs/{{run}}/{kind}.json", asking(kind), methods=["POST"]) for kind in ("read", "reread", "attack")
    ]
    return [*questions, twin("/runs/{run}/read.json", own_text), twin("/runs/{run}/texts/{row}/heads.json", heads)]


def _of_run(run: RunFiles, part: str, query: str = "") -> dict[str, Any]:
    address = f"/runs/{quote(run.id, safe='')}" + (f"/{part}" if part else "")
    data = f"{address}.json" + (f"?{query}" if query else "")
    return {"title": f"{run.id} {part}".strip(), "run": run.id, "twin": data}


def _of_study(study: dict[str, Any]) -> dict[str, Any]:
    name = study["study"]
    return {"title": study["title"] or name, "study": name, "twin": f"/studies/{quote(name, safe='')}.json"}


def _row_of(request: Request) -> int:
    return _row(str(request.path_params["row"]))


def _row(text: str) -> int:
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
        "report": (run.folder.path / REPORT).is_file(),
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
    if not (run.folder.path / REPORT).is_file():
        raise UnknownName(f"page of {run.id}", "report", ["texts"])
    return report_at(run.folder.verify(REPORT))
