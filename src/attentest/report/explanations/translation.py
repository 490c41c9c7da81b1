"""A translation with its attention: which words of a text a model looked at while it wrote each word of another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from attentest.presentation.text import pair_in_words, visible, visible_token
from attentest.printing import Printer
from attentest.report.explanations.savable import Savable

if TYPE_CHECKING:
    import pandas
    from rich.table import Table

__all__ = ["Translation"]

#: Characters shown of a word; words of the source listed for each word written, and the least share that is listed.
LONGEST, TOP, LEAST = 24, 3, 0.05


@dataclass(frozen=True)
class Translation(Savable):
    """A text, what a model wrote for it, and by every method a score of each word for each word written."""

    text: str
    tokens: tuple[str, ...]
    #: Words that the model has never met: it reads all of them alike.
    unknown: tuple[bool, ...]
    words: tuple[str, ...]
    #: How probable each word was when it was written.
    chances: tuple[float, ...]
    #: By method: for each word written, one score for each word of the text.
    scores: Mapping[str, tuple[tuple[float, ...], ...]]
    run: str = ""
    model: str = ""
    tokenisation: str = ""
    notes: tuple[str, ...] = ()
    #: Said of every method.
    summaries: Mapping[str, str] = field(default_factory=dict)

    @property
    def translation(self) -> str:
        """The words written, with spaces between."""
        return " ".join(self.words)

    def show(self) -> None:
        """Print it: for each word written, the words of the text with the largest scores."""
        from rich.text import Text

        console = Printer(highlight=False)
        console.print(Text.assemble(("Text         ", "dim"), visible(" ".join(self.tokens))))
        console.print(Text.assemble(("Translation  ", "dim"), (visible(self.translation) or "nothing", "bold")))
        for note in self.notes:
            console.print(Text.assemble(("Note         ", "dim"), visible(note)))
        console.print(Text(f"Model        {visible(self.run)} ({visible(self.model)}); {self.tokenisation}", "dim"))
        for name in self.scores:
            console.print()
            console.print(self.table(name))

    def table(self, method: str) -> Table:
        """For each word written, its probability and the words of the text with the largest scores."""
        from rich.table import Table
        from rich.text import Text

        table = Table(title=f"{method}: {self.summaries.get(method, '')}".rstrip(": "), title_justify="left", box=None)
        table.title_style, table.pad_edge = "bold", False
        table.add_column("Writes", overflow="fold")
        table.add_column("Chance", justify="right", no_wrap=True)
        table.add_column("Words it looked at" if method == "attention" else "Words that mattered", overflow="fold")
        for word, chance, row in zip(self.words, self.chances, self.scores[method], strict=True):
            largest = max((abs(score) for score in row), default=0.0)
            top = sorted(range(len(row)), key=lambda i: -abs(row[i]))[:TOP]
            said = [
                f"{visible_token(self.tokens[i], LONGEST)} {row[i]:.2f}" for i in top if abs(row[i]) > LEAST * largest
            ]
            shown = Text("  ".join(said) or "no word has a score")
            table.add_row(Text(visible_token(word, LONGEST), "bold"), f"{100 * chance:.0f} %", shown)
        return table

    def to_frame(self, method: str = "attention") -> pandas.DataFrame:
        """A row for every word written, a column for every word of the text."""
        import pandas

        return pandas.DataFrame(self.scores[method], index=list(self.words), columns=list(self.tokens))

    def to_record(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "text": self.text,
            "run": self.run,
            "model": self.model,
            "tokenisation": self.tokenisation,
            "notes": list(self.notes),
            "tokens": list(self.tokens),
            "unknown": list(self.unknown),
            "words": list(self.words),
            "chances": list(self.chances),
            "scores": {name: [list(row) for row in rows] for name, rows in self.scores.items()},
        }

    def _repr_html_(self) -> str:
        """The page in a frame, for notebooks: nothing in it can run."""
        from attentest.report.pages.card import framed

        return framed(self.to_html(), "Translation", 420 + (90 + 26 * len(self.words)) * len(self.scores))

    def to_html(self) -> str:
        """A page of its own, without scripts: a picture of words by words for every method."""
        from attentest.challenges.alignment.figures import heat_map
        from attentest.presentation.charts import image
        from attentest.report.pages.html import environment

        nothing = np.zeros((len(self.words), len(self.tokens)), bool)
        images = {
            pair_in_words(name): image(heat_map(self.tokens, self.words, np.array(rows), nothing, name))
            for name, rows in self.scores.items()
            if rows
        }
        return environment().get_template("translated.html").render(made=self, images=images, summaries=self.summaries)
