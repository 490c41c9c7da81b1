"""What is one paper's own: ``compare.py`` in its folder, where claims.toml, which all papers share, does not reach.

It names one value, ``OWN``: measures that are computed in a way of their own, conclusions that compare more than two
figures, what is known of single figures beforehand, and the table that comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from attentest.errors import InputError
from attentest.papers import Paper

if TYPE_CHECKING:
    from attentest.papers.claims import Claim
    from attentest.papers.evidence import Evidence, Group
    from attentest.papers.finding import Compared, Finder
    from attentest.papers.headline import HeadlineRule
    from attentest.papers.rules import DirectionRule, MeasureRule
    from attentest.statistics.resampling import Sample

__all__ = ["Note", "Own", "own_of"]

COMPARE = "compare"


@dataclass(frozen=True)
class Note:
    """Something known beforehand about some figures; empty selectors match everything."""

    words: str
    table: str = ""
    corpus: str = ""
    measure: str = ""
    group: str = ""
    source: str = ""
    #: The corpus as our runs prepared it, such as "20news(draw_empty=False)"; none: however it was.
    forms: tuple[str, ...] = ()
    #: False: what is compared is not the same thing, so it stays out of the agreement rate.
    like_for_like: bool = True

    def about(self, claim: Claim, form: str) -> bool:
        """Whether a claim is one of them, compared with texts prepared in that form."""
        names = ("table", "corpus", "measure", "group", "source")
        return (not self.forms or form in self.forms) and all(
            getattr(self, name) in ("", getattr(claim, name)) for name in names
        )


@dataclass(frozen=True)
class Own:
    """What compare.py says."""

    #: By the measure's name in claims.toml: (evidence, runs, rule, group) to a sample, None where no text was judged,
    #: or why there is none.
    measures: Mapping[str, Callable[[Evidence, Group, MeasureRule, str], Sample | str | None]] = field(
        default_factory=dict
    )
    #: By the direction's name: what its two sides differ by, or why that cannot be said. The last is a key for draws.
    conclusions: Mapping[str, Callable[[Finder, DirectionRule, str], Compared | str]] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    headline: HeadlineRule | None = None


def own_of(paper: Paper) -> Own:
    """What a paper's compare.py says; nothing where it has none."""
    if not (paper.folder / f"{COMPARE}.py").is_file():
        return Own()
    module = import_module(f"{paper.package}.{COMPARE}")
    found = getattr(module, "OWN", None)
    if not isinstance(found, Own):
        raise InputError(f"papers/{paper.name}/{COMPARE}.py must name a value OWN of attentest.papers.own.Own.")
    return found
