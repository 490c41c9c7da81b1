"""What people see of a challenge: its lines, figures, headline numbers and columns, in one value.

A challenge asks, and may use torch; its presentation needs nothing but findings. Line makers and figures are given the
challenge's own findings and the results of the whole run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from attentest.presentation.line import Line, Measured
from attentest.presentation.seeds import Seeds
from attentest.presentation.site import Site, on_words, site_of
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, sentences_of
from attentest.tasks import Wording, wording_of

if TYPE_CHECKING:
    from attentest.presentation.charts import Palette

__all__ = ["NARROW", "Caption", "Column", "Plot", "Presentation", "Results", "Section"]

#: How wide a figure with names at its left is drawn for narrow screens.
NARROW = 130


@dataclass(frozen=True)
class Results:
    """What one run found, by the names of its challenges, and the fields that say what was run."""

    found: Mapping[str, Findings]
    fields: Mapping[str, Any]

    @cached_property
    def wording(self) -> Wording:
        """What people call what was judged."""
        return wording_of(self.fields)

    @cached_property
    def site(self) -> Site | None:
        """The attention that was examined, where the model has many."""
        return site_of(self.fields)

    @cached_property
    def on_words(self) -> Estimate | None:
        """The share of attention on words; None where all of it is."""
        return on_words(self.found.get("instances"))

    @cached_property
    def seeds(self) -> Seeds | None:
        """The same model from other seeds, where it was trained again."""
        return Seeds.of(self.found.get("seed_variance"))

    @property
    def classes(self) -> list[str]:
        """The names of the classes."""
        return [str(name) for name in self.fields.get("corpus", {}).get("classes", [])]

    @property
    def marks(self) -> str:
        """Who marked words: ``planted``, ``human``, or "" where the corpus does not say."""
        return str(self.fields.get("corpus", {}).get("rationale") or "")

    @cached_property
    def in_steps(self) -> bool:
        """Whether rows are steps of writing."""
        instances = self.found.get("instances")
        return instances is not None and sentences_of(instances.table) is not None

    @cached_property
    def palette(self) -> Palette:
        """One colour for each predicted class; where rows are steps, for all of them."""
        from attentest.presentation.charts import Palette

        predicted: list[int] = next((f.table["predicted"].to_pylist() for f in self.found.values()), [])
        if self.in_steps:
            return Palette.one(f"all {self.wording.units}", predicted)
        return Palette.of(self.classes, predicted)


class Caption(NamedTuple):
    """A figure's title and how to read it; ``{w.units}`` are what a run's wording calls them."""

    title: str
    reading: str


@dataclass(frozen=True)
class Plot:
    """A figure of the page."""

    key: str
    #: The column without which a row cannot be drawn.
    column: str
    #: An Altair chart.
    draw: Callable[[Findings, Results], Any]
    caption: Caption | Callable[[Findings, Results], Caption]
    #: A second drawing for narrow screens, where the first is wider than a phone.
    narrow: Callable[[Findings, Results], Any] | None = None
    #: Whether it takes the whole width of the page.
    wide: bool = False
    pairs: tuple[str, ...] = ()
    points: bool = False
    #: The section of the page it stands in.
    section: str = "figures"
    #: Whether there is anything to draw.
    applies: Callable[[Findings], bool] = lambda _: True
    #: Why a text that was judged may have nothing in the column.
    missing: str = "no number"

    def captioned(self, findings: Findings, results: Results) -> Caption:
        """Its title and how to read it, for these findings."""
        return self.caption if isinstance(self.caption, Caption) else self.caption(findings, results)


@dataclass(frozen=True)
class Section:
    """A section of the page: a table, and the plots that name it; several challenges may have a part in one."""

    #: Its id on the page.
    key: str
    #: Its template, as ``package/file``; ``tables[key]`` there is the table.
    template: str
    table: Callable[[Results], Any]
    #: Its place among the sections, the lowest first.
    place: int = 1000
    #: What the list of contents calls it; "": its key.
    title: str = ""


class Column(NamedTuple):
    """A column of findings: its name, the type of its values, and what they mean."""

    name: str
    type: str
    meaning: str


@dataclass(frozen=True)
class Presentation:
    """What people see of one challenge's findings."""

    challenge: str
    #: What a row stands for, and what there is to know of the columns below them, in Markdown.
    rows: str = "One row per text."
    columns: tuple[Column, ...] = ()
    notes: str = ""
    #: Lines of the verdict; None where the findings do not allow one.
    lines: tuple[Callable[[Findings, Results], Line | None], ...] = ()
    #: Figures of the page, made when it is drawn: drawing needs Altair, and the rest does not.
    figures: Callable[[], tuple[Plot, ...]] = tuple
    #: Measures to show where no line was read, without the kind of attention, in these words; "": in their own.
    headline: Mapping[str, str] = field(default_factory=dict)
    #: Numbers to show after these, which are no measure.
    further: Callable[[Findings], Iterator[Measured]] | None = None
    #: Whether a table of its own stands beside the verdict, so that it needs no headline.
    tabled: bool = False
    #: Sections of the page that it has a part in.
    sections: tuple[Section, ...] = ()
    #: A table in the terminal, with Rich, below the verdict; None where there is nothing to show.
    terminal: Callable[[Results], Any] | None = None
    #: Measures that the table of a study has room for, with the heads of their columns.
    in_study: Mapping[str, str] = field(default_factory=dict)
    #: Its place among the others, the lowest first: figures, tables and columns of studies stand in this order.
    place: int = 1000
