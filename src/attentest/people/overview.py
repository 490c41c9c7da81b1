"""How far studies are: a row for every study, and of one study a row for every annotator."""

from __future__ import annotations

from typing import Any

from attentest.people.study import PeopleStudy

__all__ = ["annotators_of", "in_a_row"]


def in_a_row(study: PeopleStudy) -> dict[str, Any]:
    """A study in a row: what it asks, and how many answered; simulated annotators are counted apart."""
    annotators = study.store.annotators()
    given = [answer.kind for answer in study.answers()]
    return {
        "study": study.name,
        "design": study.record["design"],
        "corpus": ", ".join(dict.fromkeys(run["corpus"] for run in study.record["runs"])),
        "items": study.record["counts"]["item"],
        "people": sum(each.kind != "simulated" for each in annotators),
        "answers": sum(kind != "simulated" for kind in given),
        "simulated": sum(each.kind == "simulated" for each in annotators),
    }


def annotators_of(study: PeopleStudy) -> list[dict[str, Any]]:
    """How far everybody is, in the order of invitation."""
    rows = []
    for who in study.store.annotators():
        far, given = study.progress(who), study.given(who).values()
        about = {"annotator": who.name, "kind": who.kind, "done": far.done, "total": far.total}
        rows.append(about | {"agreed": far.consented, "last": max((event.at for event in given), default="")})
    return rows
