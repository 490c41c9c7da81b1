"""What whoever runs a study sees: all studies, how far annotators are, and results."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from attentest.errors import AttentestError, InputError, line_of
from attentest.explorer.answering import REPORT_POLICY, answered, page, twin
from attentest.explorer.people.studies import PeopleStudies
from attentest.people import PeopleStudy
from attentest.people.overview import annotators_of, in_a_row

__all__ = ["researcher_routes"]

WHOSE = ("people", "simulated")


def researcher_routes(studies: PeopleStudies) -> list[BaseRoute]:
    """Their addresses. None can be taken for an annotator's: links are longer."""

    def named(request: Request) -> PeopleStudy:
        return studies.named(request.path_params["study"])

    return [
        twin("/people.json", lambda _: _all(studies)),
        page("/people", "people", lambda _: {"title": "People", "twin": "/people.json"}),
        twin("/people/{study}/results.json", lambda r: _results(named(r), r)),
        Route("/people/{study}/report", answered(lambda r: _report(named(r), r))),
        twin("/people/{study}.json", lambda r: _one(named(r))),
        page("/people/{study}", "asked", lambda r: _about(named(r))),
    ]


def _all(studies: PeopleStudies) -> dict[str, Any]:
    rows = []
    for name in studies.paths():
        try:
            rows.append(in_a_row(studies.named(name)))
        except AttentestError as error:
            rows.append({"study": name, "problem": line_of(error)})
    return {"studies": rows}


def _about(study: PeopleStudy) -> dict[str, Any]:
    return {"title": study.name, "study": study.name, "twin": f"/people/{quote(study.name, safe='')}.json"}


def _one(study: PeopleStudy) -> dict[str, Any]:
    record = study.record
    return in_a_row(study) | {
        "summary": study.design.summary,
        "runs": record["runs"],
        "counts": record["counts"],
        "conditions": record["conditions"],
        "annotators": annotators_of(study),
        "withdrawn": study.store.withdrawn,
    }


def _whose(request: Request) -> Any:
    whose = request.query_params.get("whose", WHOSE[0])
    if whose not in WHOSE:
        raise InputError(f"whose={whose[:40]!r} must be one of: {', '.join(WHOSE)}.")
    return whose


def _results(study: PeopleStudy, request: Request) -> dict[str, Any]:
    from attentest.people.results.results import results_of

    return results_of(study, _whose(request)).record()


def _report(study: PeopleStudy, request: Request) -> Response:
    """The report as the answers are now."""
    from attentest.people.results.page import page as drawn
    from attentest.people.results.results import results_of

    text = drawn(study, results_of(study, _whose(request)))
    return HTMLResponse(text.encode("utf-8", "replace"), headers={"content-security-policy": REPORT_POLICY})
