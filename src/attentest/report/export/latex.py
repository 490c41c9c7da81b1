"""Tables as LaTeX and as CSV; every cell comes from strangers and stays text in both."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import Any

from attentest.presentation.text import visible

__all__ = ["csv_of", "escaped", "latex_of"]

#: What LaTeX would read as a command, and signs that its fonts may lack.
_SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    '"': r"\textquotedbl{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "\N{NO-BREAK SPACE}": "~",
    "−": "$-$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "→": r"$\rightarrow$",
    "↔": r"$\leftrightarrow$",
    "τ": r"$\tau$",
    "α": r"$\alpha$",
    "ε": r"$\epsilon$",
    "λ": r"$\lambda$",
    "Δ": r"$\Delta$",
    "✓": r"$\surd$",
    "✗": r"$\times$",
    "…": r"\ldots{}",
}
#: A cell longer than this is prose, and its column is as wide as is left for it.
_PROSE = 40
#: A longer table runs over pages.
_PAGE = 45

Table = Sequence[Sequence[Any]]


def escaped(text: str) -> str:
    """The text with nothing in it that LaTeX takes for anything else."""
    return "".join(_SIGNS.get(character, character) for character in visible(text))


def latex_of(head: Sequence[str], rows: Table, caption: str, label: str) -> str:
    """A table with booktabs' rules; one of many rows is a longtable."""
    columns = [[_shown(row[place]) for row in rows] for place in range(len(head))]
    prose = [any(len(cell) > _PROSE for cell in column) for column in columns]
    share = 0.9 / max(1, len(head) - 0.5 * (len(head) - sum(prose)))
    numeric = [bool(rows) and all(isinstance(row[place], int | float) for row in rows) for place in range(len(head))]
    kinds = "".join(
        f"p{{{share:.2f}\\linewidth}}" if long else "r" if number else "l"
        for long, number in zip(prose, numeric, strict=True)
    )
    heads = " & ".join(map(escaped, head)) + r" \\"
    body = [" & ".join(escaped(_shown(cell)) for cell in row) + r" \\" for row in rows]
    named = f"\\caption{{{escaped(caption)}}}\\label{{tab:{label}}}"
    needs = "% Needs \\usepackage{booktabs,longtable} and, before LuaTeX or XeTeX, \\usepackage[utf8]{inputenc}."
    if len(rows) > _PAGE:
        lines = [needs, f"\\begin{{longtable}}{{{kinds}}}", named + r" \\", r"\toprule", heads, r"\midrule"]
        return "\n".join([*lines, r"\endhead", *body, r"\bottomrule", r"\end{longtable}", ""])
    lines = [needs, r"\begin{table}", r"\centering\small", named, f"\\begin{{tabular}}{{{kinds}}}", r"\toprule", heads]
    return "\n".join([*lines, r"\midrule", *body, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _shown(cell: Any) -> str:
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return "–"
    return f"{cell:.3f}".replace("-", "−") if isinstance(cell, float) else str(cell)


def csv_of(head: Sequence[str], rows: Table) -> str:
    """The table as CSV: numbers in full, no number as an empty cell, and no text that a spreadsheet would compute."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(_text, head))
    writer.writerows([_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def _cell(cell: Any) -> Any:
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return ""
    return _text(cell) if isinstance(cell, str) else cell


def _text(cell: str) -> str:
    """Text; where a spreadsheet would take it for a formula, a quote stands before it."""
    shown = visible(cell)
    return f"'{shown}" if shown[:1] in ("=", "+", "-", "@") else shown
