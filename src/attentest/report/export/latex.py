"""Tables as LaTeX and as CSV; every cell comes from strangers and stays text in both."""

from __future__ import annotations

import csv
import io
import math
import textwrap
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
    '"': r"\textquotedblright{}",
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
    "✓": r"$\surd$",
    "✗": r"$\times$",
    "…": r"\ldots{}",
    "ŷ": r"\^{y}",
    "·": r"\textperiodcentered{}",
    "²": r"$^2$",
    "√": r"$\surd$",
    "∅": r"$\emptyset$",
    "≈": r"$\approx$",
    "↵": r"$\hookleftarrow$",
    "‹": r"\textless{}",
    "›": r"\textgreater{}",
}
_SIGNS |= {
    letter: f"$\\{name}$"
    for letters, names in (
        ("αβγδεζηθικλμ", "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu"),
        ("νξπρστυφχψω", "nu xi pi rho sigma tau upsilon phi chi psi omega"),
        ("ΓΔΘΛΞΠΣΦΨΩ", "Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"),
    )
    for letter, name in zip(letters, names.split(), strict=True)
}
#: Signs that every engine knows as they are.
_PLAIN = frozenset("–—‘’“”ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿœŒ")
#: A cell longer than this is prose, and its column is as wide as is left for it, but not narrower than so many signs.
_PROSE, _NARROWEST = 40, 14
#: Signs of a line of small print, upright and on a page that is turned; what the space between columns takes of it.
_LINE, _TURNED, _BETWEEN = 80, 125, 1.6
#: A table of more lines, upright or turned, runs over pages.
_PAGE = {False: 45, True: 28}

Table = Sequence[Sequence[Any]]


def escaped(text: str) -> str:
    """The text with nothing in it that LaTeX takes for anything else, or that an old engine does not know."""
    # After the end of a row, a bracket or a star would be read as an option of it.
    return ("{}" if text[:1] in ("[", "*") else "") + "".join(_sign(character) for character in visible(text))


def _sign(character: str) -> str:
    if character in _SIGNS or character.isascii() or character in _PLAIN:
        return _SIGNS.get(character, character)
    # LuaTeX and XeTeX take any sign of their font; pdfTeX would stop, so there its number stands in its place.
    code = f"\\textless{{}}U+{ord(character):04X}\\textgreater{{}}"
    return f"\\ifdefined\\Umathchar {character}\\else {code}\\fi{{}}"


def latex_of(head: Sequence[str], rows: Table, caption: str, label: str) -> str:
    """A table with booktabs' rules; one of many lines is a longtable, and a wide one stands on a turned page."""
    cells = [[_shown(cell) for cell in row] for row in rows]
    columns = [[len(row[place]) for row in cells] for place in range(len(head))]
    # A long name stands over short cells on several lines.
    names = [textwrap.wrap(n, max([_NARROWEST, *c])) or [""] for n, c in zip(head, columns, strict=True)]
    widths = [max([*map(len, lines), *column]) for lines, column in zip(names, columns, strict=True)]
    turned, room = _room(widths, columns)
    numeric = [bool(rows) and all(isinstance(row[place], int | float) for row in rows) for place in range(len(head))]
    line = _TURNED if turned else _LINE
    kinds = "".join(
        f">{{\\raggedright\\arraybackslash}}p{{{room[place] / line:.2f}\\linewidth}}"
        if place in room
        else "r"
        if numeric[place]
        else "l"
        for place in range(len(head))
    )
    heads = " & ".join("\\shortstack[l]{" + r"\\".join(map(escaped, lines)) + "}" for lines in names) + r" \\"
    body = [" & ".join(_broken(cell, place in room) for place, cell in enumerate(row)) + r" \\" for row in cells]
    high = sum(max([1, *(math.ceil(len(row[place]) / room[place]) for place in room)]) for row in cells)
    named = f"\\caption{{{escaped(caption)}}}\\label{{tab:{label}}}"
    small = r"\footnotesize\setlength{\tabcolsep}{3pt}"
    packages = "array,booktabs,longtable" + (",pdflscape" if turned else "")
    if high > _PAGE[turned]:
        first = ["{" + small, f"\\begin{{longtable}}{{{kinds}}}", named + r" \\", r"\toprule", heads]
        parts = [*first, r"\midrule", r"\endhead", *body, r"\bottomrule", r"\end{longtable}", "}"]
    else:
        first = [r"\begin{table}", r"\centering" + small, named, f"\\begin{{tabular}}{{{kinds}}}", r"\toprule", heads]
        parts = [*first, r"\midrule", *body, r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    if turned:
        parts = [r"\begin{landscape}", *parts, r"\end{landscape}"]
    return "\n".join([f"% Needs \\usepackage{{{packages}}}; LaTeX reads it as UTF-8 since 2018.", *parts, ""])


def _room(widths: Sequence[int], columns: Sequence[Sequence[int]]) -> tuple[bool, dict[int, float]]:
    """Whether a table needs a turned page, and how many signs a line of each column of prose has."""
    prose = {place: math.sqrt(max(columns[place])) for place, width in enumerate(widths) if width > _PROSE}
    fixed = sum(width for place, width in enumerate(widths) if place not in prose) + _BETWEEN * len(widths)
    turned = fixed + _NARROWEST * len(prose) > _LINE
    left = (_TURNED if turned else _LINE) - fixed
    return turned, {place: max(_NARROWEST, left * part / sum(prose.values())) for place, part in prose.items()}


def _broken(cell: str, wide: bool) -> str:
    """A cell's text; in a column of prose, names of many parts may be broken between them."""
    text = escaped(cell)
    if not wide:
        return text
    for sign in (".", r"\_", r"\textasciitilde{}", "=", "("):
        text = text.replace(sign, f"{sign}\\allowbreak{{}}")
    return text


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
