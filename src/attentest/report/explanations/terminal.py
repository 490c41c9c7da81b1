"""An explanation in the terminal: coloured words where there are colours, and the top words in print anyway."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from attentest.presentation.certificates import OUTCOMES, Check, figure
from attentest.presentation.text import visible, visible_token
from attentest.report.explanations.explanation import Explanation, Pairs, Scored, excerpt

__all__ = ["ExplanationView", "shade_of"]

#: The colours of full scores, light enough for black letters: for the class, against it, and of methods without sign.
FOR, AGAINST, SIZE = (92, 165, 230), (240, 125, 75), (245, 190, 70)
#: Words with smaller shares of the largest score are not painted.
FAINT = 0.1
#: Words listed for each direction, pairs listed, words of a text that are painted, characters of a word, classes named.
TOP, STRONGEST, PAINTED, LONGEST, CLASSES = 5, 5, 150, 40, 4


class ExplanationView:
    """What ``Explanation.show`` prints."""

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Head, one block for each method, pairs, legend."""
        coloured = console.color_system is not None and not console.no_color
        yield from self._head(coloured)
        for method in self.explanation.methods:
            yield Text()
            yield _facts([(Text(method.name, "bold"), Text(visible(method.summary), "dim"))])
            if coloured:
                yield Padding(Text(" ").join(self._words(method)), (0, 0, 0, 2))
            yield _facts(self._top(method), indent=2)
            yield _facts(map(_checked, method.checks), indent=2, gap=1)
        if self.explanation.pairs is not None:
            yield Text()
            yield from self._pairs(self.explanation.pairs)
        if coloured:
            yield Text()
            signs = {method.signed for method in self.explanation.methods}
            yield _legend(True in signs, False in signs)

    def _head(self, coloured: bool) -> Iterator[Padding]:
        made = self.explanation
        chances = sorted(zip(made.classes, made.probabilities, strict=True), key=lambda pair: -pair[1])
        named = Text("  ·  ").join(
            Text(f"{visible(name, LONGEST)} {100 * chance:.1f} %", style="bold" if i == 0 else "")
            for i, (name, chance) in enumerate(chances[:CLASSES])
        )
        if len(chances) > CLASSES:
            named.append(f"  ·  {len(chances) - CLASSES} other classes", style="dim")
        facts: list[tuple[str, Text]] = [("Predicted", named)]
        what = Text.assemble((visible(made.target, LONGEST), "bold"))
        if any(method.signed for method in made.methods) or made.pairs is not None:
            what.append(": scores above zero speak for it, below zero against it")
        facts.append(("Explained", what))
        if not coloured:
            facts.insert(0, ("Words", Text(" ").join(self._words(None))))
        if unknown := [visible_token(token, LONGEST) for token in made.never_met]:
            them = "it" if len(unknown) == 1 else "them"
            facts.append(("Unknown", Text(f"{', '.join(unknown)}: the model has never met {them}")))
        facts += [("Note", Text(visible(note))) for note in made.notes]
        facts.append(
            ("Model", Text(f"{visible(made.run)} ({visible(made.model)}); {visible(made.tokenisation)}", "dim"))
        )
        yield _facts([(Text(name, "dim"), said) for name, said in facts])

    def _words(self, method: Scored | None) -> Iterator[Text]:
        """The words of the text, or of the parts of a long one that matter, with their colour."""
        made = self.explanation
        weights = [method.scores] if method is not None else [m.scores for m in made.methods]
        for place in excerpt(len(made.tokens), weights, PAINTED):
            if isinstance(place, range):
                yield Text(f"… {len(place)} words …", style="dim")
                continue
            style = "" if method is None else shade_of(method.shade(place), method.signed)
            yield Text(
                visible_token(made.tokens[place], LONGEST), style=f"{style} italic" if made.unknown[place] else style
            )

    def _top(self, method: Scored) -> Iterator[tuple[Text, Text]]:
        if not method.largest:
            yield Text("most", "dim"), Text("no word has a score")
            return
        for name, top in method.top(TOP).items():
            words = [f"{self._label(i)} {figure(method.scores[i], signed=method.signed)}" for i in top]
            yield Text(name, "dim"), Text("  ".join(words) or "no word")

    def _label(self, place: int) -> str:
        shown = visible_token(self.explanation.tokens[place], LONGEST)
        return shown if self.explanation.tokens.count(self.explanation.tokens[place]) == 1 else f"{shown}({place + 1})"

    def _pairs(self, pairs: Pairs) -> Iterator[Padding]:
        yield _facts([(Text("Pairs of words", "bold"), Text(f"{pairs.name}: {visible(pairs.summary)}", "dim"))])
        strongest = [
            (Text(f"{self._label(i)} + {self._label(j)}:"), Text(figure(score, signed=True)))
            for i, j, score in pairs.strongest(STRONGEST)
        ]
        yield _facts(strongest or [(Text("no two words do anything together"), Text())], indent=2, gap=1)
        yield _facts(map(_checked, pairs.checks), indent=2, gap=1)


def _checked(check: Check) -> tuple[Text, Text]:
    sign, style = OUTCOMES[check.outcome]
    return Text(sign, style), Text(check.words, "" if check.outcome == "fails" else "dim")


def _facts(facts: Iterable[tuple[Text, Text]], indent: int = 0, gap: int = 2) -> Padding:
    """Names and what is said of them."""
    table = Table.grid(padding=(0, gap, 0, 0))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for name, said in facts:
        table.add_row(name, said)
    return Padding(table, (0, 0, 0, indent))


def shade_of(shade: float, signed: bool = True) -> str:
    """Black on the colour of the score's direction, mixed with white; nothing for a score that is hardly one."""
    size = min(1.0, abs(shade))
    if size < FAINT:
        return ""
    full = (FOR if shade > 0 else AGAINST) if signed else SIZE
    mixed = ",".join(str(round(255 - (255 - part) * (0.35 + 0.65 * size))) for part in full)
    return f"not dim rgb(0,0,0) on rgb({mixed})"


def _legend(signed: bool, unsigned: bool) -> Text:
    legend = Text("Colours: ", style="dim")
    if signed:
        legend.append(" for ", style=shade_of(1, True)).append(" and ").append(" against ", style=shade_of(-1, True))
        legend.append(" the class")
    if unsigned:
        legend.append("; " if signed else "").append(" how much ", style=shade_of(1, False))
        legend.append(", whatever the direction")
    return legend.append(". Full colour is a method's largest score in this text.")
