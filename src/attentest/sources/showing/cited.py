"""One answer with its sources, shaded by every method: in the terminal, as a page, as plain values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.text import Text

from attentest import __version__
from attentest.presentation.text import visible
from attentest.printing import Printer
from attentest.registry import name_in_words
from attentest.report.explanations.savable import Savable
from attentest.report.explanations.terminal import shade_of
from attentest.report.pages.html import environment
from attentest.sources.judging.record import Record
from attentest.sources.showing.shading import number, shaded_example
from attentest.sources.showing.words import STATUS

__all__ = ["Cited"]

#: Sources that a line of print names, characters of a source that are painted, words that are painted at most.
FIRST, LONGEST = 3, 400


@dataclass(frozen=True, eq=False)
class Cited(Savable):
    """A question, its answer, and what every method says of its sources; ``show`` prints it, ``save`` keeps it."""

    record: Record
    model: str
    #: The audit's folder; "": it was asked just now.
    run: str = ""

    def show(self) -> None:
        """Print it, in colour where the terminal has colours."""
        Printer(highlight=False).print(self)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Head, sources, and a block for each method."""
        coloured = console.color_system is not None and not console.no_color
        record = self.record
        fall = record.whole - record.empty
        yield Text.assemble(("Question  ", "dim"), visible(record.question))
        yield Text.assemble(("Answer    ", "dim"), (visible(record.answer), "bold"))
        if record.span:
            yield Text.assemble(("Explained ", "dim"), visible(record.span))
        yield Text.assemble(
            ("Came from ", "dim"), f"{STATUS[record.status]}; log-probability {number(record.whole)}, ",
            f"{number(abs(fall))} {'lower' if fall >= 0 else 'higher'} without any source",
        )  # fmt: skip
        yield Text(f"Model     {visible(self.model)}", "dim")
        yield Text()
        for source, text in enumerate(record.sources):
            yield Text.assemble((f"{source + 1:>3}  ", "dim"), visible(text, LONGEST))
        for name, given in record.given.items():
            yield Text()
            if not given.scores:
                yield Text.assemble((name_in_words(name), "bold"), f"  not judged: {visible(given.not_judged)}")
                continue
            yield Text.assemble((name_in_words(name), "bold"), "  ", Text("  ").join(self._firsts(given.scores)))
            if coloured:
                yield Padding(Text("\n").join(self._painted(given.scores)), (0, 0, 0, 2))

    def _firsts(self, scores: list[float]) -> Iterator[Text]:
        """The highest scores, each with its source; of words also the word."""
        record = self.record
        words = len(record.items) > len(record.sources)
        for item in np.argsort(-np.array(scores), kind="stable")[:FIRST]:
            word = f" {visible(record.items[item], 30)}" if words else ""
            yield Text.assemble(
                (f"{record.of_source[item] + 1}{word} ", "dim"), f"{scores[item]:.3g}".replace("-", "−")
            )

    def _painted(self, scores: list[float]) -> Iterator[Text]:
        """Every source on a line, its items in the colours of their scores."""
        record, largest = self.record, max(map(abs, scores)) or 1.0
        for source in range(len(record.sources)):
            own = [item for item, of in enumerate(record.of_source) if of == source]
            painted = (Text(visible(record.items[n], LONGEST), shade_of(scores[n] / largest)) for n in own)
            yield Text.assemble((f"{source + 1} ", "dim"), Text(" ").join(painted))

    def to_record(self) -> dict[str, Any]:
        """Everything as plain values."""
        record = self.record
        return {
            **{"question": record.question, "answer": record.answer, "span": record.span, "model": self.model},
            **{"run": self.run, "status": record.status, "whole": record.whole, "without_any": record.empty},
            **{"sources": record.sources, "items": record.items, "of_source": record.of_source},
            "without_each": record.without,
            "scores": {name: given.scores for name, given in record.given.items() if given.scores},
            "not_judged": {name: given.not_judged for name, given in record.given.items() if not given.scores},
        }

    def to_html(self) -> str:
        """A page of its own, without scripts."""
        given = self.record.given.items()
        return (
            environment(number=number)
            .get_template("attentest.sources.showing/cited.html")
            .render(
                example=shaded_example(self.record),
                model=self.model,
                every=True,
                not_judged=[(name_in_words(name), each.not_judged) for name, each in given if not each.scores],
                version=__version__,
            )
        )
