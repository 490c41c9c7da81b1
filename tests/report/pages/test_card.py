"""What a notebook shows of a verdict and of an audit."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.report.made_up_verdict import made_up_verdict

from attentest.auditing import Audit
from attentest.report.pages.card import card
from attentest.report.verdict.verdict import Goal, Verdict
from attentest.store.folder import RunFolder


def held_in(frame: str) -> str:
    found = re.fullmatch(r'<iframe sandbox title="[^"]*" style="[^"]*" srcdoc="([^"]*)"></iframe>', frame)
    assert found is not None
    return html.unescape(found[1])


def text_of(page: str) -> str:
    return html.unescape(page).replace("\u00a0", " ")


def tags_of(page: str) -> list[str]:
    tags: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append(tag)
            tags.extend(name for name, _ in attrs if name.startswith("on"))

    Tags().feed(page)
    return tags


def test_a_verdict_shows_its_answers_and_what_decides_them() -> None:
    verdict = made_up_verdict()
    page = held_in(verdict._repr_html_())
    text = text_of(page)
    assert verdict.headline in text
    for goal in verdict.goals:
        assert goal.goal in text
    for line in verdict.lines:
        assert (line.question in text) == bool(line.decides)
    assert "prefers-color-scheme: dark" in page
    assert "script" not in tags_of(page)


def test_an_audit_shows_the_same_and_where_its_report_is(small_run: RunFolder) -> None:
    text = text_of(held_in(Audit(small_run, made_up_verdict())._repr_html_()))
    assert made_up_verdict().headline in text
    assert f"Report: {small_run.path / 'report.html'}" in text


@pytest.mark.parametrize("text", ["<script>1</script>", '"></iframe><img src=x onerror=alert(1)>', "{{ 7 * 7 }}"])
def test_a_hostile_verdict_or_path_stays_text(text: str) -> None:
    verdict = Verdict(text, (), (Goal(text, text, "no", text),), text, (text,))
    frame = card(verdict, Path(text))
    assert tags_of(frame) == ["iframe"]
    page = held_in(frame)
    assert not {"script", "img", "onerror"} & {*tags_of(page)}
    assert text in text_of(page)
