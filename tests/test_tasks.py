"""What differs by task has one room, and what people read is made of its words."""

from __future__ import annotations

from pathlib import Path

import pytest

from attentest.data.corpora import CORPORA
from attentest.tasks import STEPS, TASKS, TEXTS, task_of, wording_of

SOURCE = Path(__file__).parents[1] / "src" / "attentest"


def test_every_corpus_names_a_task() -> None:
    assert {getattr(CORPORA[name], "task", "single") for name in CORPORA} <= set(TASKS)


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_other_room_asks_for_the_name_of_a_task(path: Path) -> None:
    if path.parent.name == "corpora" or path == SOURCE / "tasks.py":
        return
    assert '"translate"' not in path.read_text("utf-8")


def test_units_are_counted_in_the_singular_and_the_plural() -> None:
    assert [TEXTS.counted(count) for count in (0, 1, 1200)] == ["0 texts", "1 text", "1,200 texts"]
    assert (STEPS.units, STEPS.wholes, STEPS.items) == ("steps", "sentences", "words")


def test_the_wording_of_a_run_is_its_task_s_with_what_its_attention_weighs() -> None:
    hierarchical = {"corpus": {"task": "single"}, "model": {"structure": "hierarchical"}}
    assert (wording_of(hierarchical).items, wording_of(hierarchical).token) == ("sentences", "sentence")
    assert wording_of(hierarchical | {"site": "word"}) == wording_of({"corpus": {"name": "made up"}}) == TEXTS
    assert wording_of({"corpus": {"task": "translate"}}) == STEPS
    assert task_of({"corpus": {"task": "answer"}}).pairs
