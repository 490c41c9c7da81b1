"""Every paper's page says how intervals are made, and that none is corrected for; every quote stands in a source."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from attentest.papers import PAPERS
from attentest.papers.claims import load_claims

#: Recalled, or from outside the sources at hand.
ELSEWHERE = {"adversaries guide worse than the model"}
#: A passage in quotation marks, and how many words make it one that is quoted.
QUOTED, WORDS = re.compile(r'"([^"]+)"|“([^”]+)”'), 4
#: What stands between words.
JOINED = re.compile(r"[^a-z0-9]+")


def letters(text: str) -> str:
    """A text without what typesetting changes: spaces, hyphens at line ends, marks, formulas' signs."""
    return JOINED.sub("", re.sub(r"\$[^$]*\$", "", text.replace("Δŷ^med", "")).lower())


def sources() -> str:
    data = os.environ.get("ATTENTEST_DATA")
    folder = Path(data).parent / "seeds" if data else None
    if folder is None or not folder.is_dir():
        pytest.skip("the papers' texts are not beside ATTENTEST_DATA")
    return "\n".join(letters(path.read_text("utf-8")) for path in sorted(folder.glob("*.txt")))


@pytest.mark.parametrize("name", PAPERS)
def test_a_page_says_the_rule_for_intervals_and_for_their_number(name: str) -> None:
    page = PAPERS[name].text("page.md") or ""
    assert "wider of" in page
    assert "Student's t" in page
    assert re.search(r"corrected for (their|its) number|uncorrected for multiple", page)


def quotes() -> Iterator[tuple[str, str]]:
    for name in PAPERS:
        for direction in load_claims(name).rules.directions:
            if direction.quote and direction.name not in ELSEWHERE:
                yield direction.name, direction.quote


def stands_in(text: str, quote: str) -> bool:
    """Whether a quote is there, broken at one place at most: a footnote or the foot of a page may stand in it."""
    longest = next(end for end in range(len(quote), -1, -1) if quote[:end] in text)
    return quote[longest:] in text


def test_every_quoted_sentence_stands_in_a_source() -> None:
    text = sources()
    missing = [
        (name, part)
        for name, quote in quotes()
        for part in re.split(r"Δŷ\^med|§[\d.]+|…", quote)
        if not stands_in(text, letters(part))
    ]
    assert not missing
    assert not stands_in(text, letters("attention is an explanation, as everybody has always known"))


def passages(page: str) -> Iterator[str]:
    """What stands in quotation marks in a page's prose and tables, not in its commands."""
    prose = re.sub(r"```.*?```|`[^`]*`", "", page, flags=re.DOTALL)
    for part in re.split(r"\n\s*\n|\n(?=[|#-])", prose):
        assert part.count('"') % 2 == 0, part
        for straight, curly in QUOTED.findall(part):
            if len((straight or curly).split()) >= WORDS:
                yield straight or curly


@pytest.mark.parametrize("name", PAPERS)
def test_every_passage_quoted_on_a_page_stands_in_a_source(name: str) -> None:
    text = sources()
    missing = [
        quote
        for quote in passages(PAPERS[name].text("page.md") or "")
        if not all(letters(part) in text for part in quote.split("…"))
    ]
    assert not missing


def test_passages_are_found_across_lines_and_commands_and_single_words_are_none() -> None:
    page = 'It says "we find … what\nnobody saw", a "word", `say "these are four words"`.\n\n| “one in a table” | 2 |'
    assert list(passages(page)) == ["we find … what\nnobody saw", "one in a table"]
