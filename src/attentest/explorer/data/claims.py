"""Published figures beside ours, from the tables that come with attentest."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from attentest.papers import PAPERS
from attentest.papers.claims import Claim, load_claims
from attentest.papers.outcome_files import committed
from attentest.papers.outcomes import Outcome
from attentest.papers.settling import STATUSES

__all__ = ["claims_of", "paper_summary"]

Row = dict[str, Any]


def paper_summary(name: str) -> Row:
    """A paper, and how many of its claims came out how."""
    counts = dict.fromkeys(STATUSES, 0)
    for outcome in committed(name) or ():
        counts[outcome.status] += 1
    paper = PAPERS[name]
    return {
        "name": name,
        "title": paper.title,
        "citation": paper.citation,
        "year": paper.year,
        "conclusion": paper.conclusion,
        "claims": {status: count for status, count in counts.items() if count},
    }


def claims_of(name: str, here: Container[str]) -> Row:
    """Every claim of a paper: published, ours, whether they agree, and the runs, with those that are ``here``."""
    found = committed(name)
    outcomes = [Outcome(claim, "not run") for claim in load_claims(name).every] if found is None else found
    return paper_summary(name) | {
        "statuses": list(STATUSES),
        "rows": [_row(number, outcome, here) for number, outcome in enumerate(outcomes)],
    }


def _row(number: int, outcome: Outcome, here: Container[str]) -> Row:
    claim = outcome.claim
    about: Row
    if isinstance(claim, Claim):
        about = {
            "kind": "figure",
            "model": claim.model,
            "attention": claim.attention,
            "measure": claim.measure,
            "group": claim.group,
            "source": claim.source,
            "published": claim.printed,
            "published_value": claim.value,
            "published_spread": claim.printed_spread,
        }
    else:
        about = {
            "kind": "direction",
            "model": "",
            "attention": "",
            "measure": claim.rule.name,
            "group": "",
            "source": "",
        }
        about |= {"published": claim.rule.reading, "published_value": None, "published_spread": ""}
    return {
        "number": number,
        "table": claim.table,
        "corpus": claim.corpus,
        **about,
        "ours": outcome.ours,
        "low": outcome.low,
        "high": outcome.high,
        "seeds": list(outcome.seeds),
        "judged": outcome.judged,
        "status": outcome.status,
        "like_for_like": outcome.like_for_like,
        "difference": outcome.difference,
        "reason": outcome.reason,
        "also": outcome.also,
        "runs": outcome.runs,
        "run_ids": list(outcome.run_ids),
        "run": next((run for run in outcome.run_ids if run in here), None),
        "device": outcome.device,
    }
