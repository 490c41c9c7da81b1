"""What a corpus asks of a model, and what a person reads it called: the one room for what differs by task.

A corpus names its task; ``TASKS`` says what follows from it. Whoever makes a line, a figure or a table is given a
``Wording`` and puts its words in place; nobody edits a finished sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

__all__ = [
    "DEFAULT",
    "STEPS",
    "TASKS",
    "TEXTS",
    "THOROUGH",
    "THOROUGHLY",
    "Task",
    "TaskName",
    "Wording",
    "task_of",
    "wording_of",
]

TaskName = Literal["single", "pair", "answer", "translate"]

#: The challenges that an audit runs, whatever the task, when nothing else is asked for.
DEFAULT: Final = (
    *("importance", "agreement", "permutation", "adversary", "uniform", "rationale", "faithfulness", "certificates"),
    *("single_weight", "flip_sets"),
)
#: What a thorough audit adds: each trains other models to compare this one with.
THOROUGH: Final = ("trained_uniform", "seed_variance", "guide", "adversarial_training")
#: What a thorough audit puts in the place of a usual challenge: every text, and a third way of taking words out.
THOROUGHLY: Final = {"importance": "importance(texts=0, erasures=('delete', 'mask', 'draw', 'states'))"}


@dataclass(frozen=True)
class Wording:
    """What is judged, what attention weighs and what is chosen, as a person calls them; plurals end in s."""

    #: What is judged, counted and drawn: a row of the findings.
    unit: str = "text"
    #: What is drawn whole where an interval or a ranking draws again.
    whole: str = "text"
    #: What attention weighs, and the same where states are told from what lies below them.
    item: str = "word"
    token: str = "token"
    #: What a model says of a unit, and what that is one of.
    prediction: str = "prediction"
    choice: str = "class"
    #: What the items that matter do, where it is known which these are.
    decide: str = "decide the label"
    #: Whose rationales these are, where they are not planted.
    marks: str = "human rationales"
    marked: str = "human rationales"

    @property
    def units(self) -> str:
        """Several units."""
        return f"{self.unit}s"

    @property
    def wholes(self) -> str:
        """Several of what is drawn whole."""
        return f"{self.whole}s"

    @property
    def items(self) -> str:
        """Several items."""
        return f"{self.item}s"

    @property
    def tokens(self) -> str:
        """Several tokens."""
        return f"{self.token}s"

    def counted(self, count: int) -> str:
        """So many units: ``1 text``, ``1,200 texts``."""
        return f"{count:,} {self.unit if count == 1 else self.units}"


#: Each text is judged once.
TEXTS: Final = Wording()
#: A text is written step by step, and every step is judged.
STEPS: Final = Wording(
    unit="step",
    whole="sentence",
    prediction="next word",
    choice="word",
    decide="tell what to write",
    marks="the given links",
    marked="the given links",
)


@dataclass(frozen=True)
class Task:
    """What a corpus asks of a model."""

    name: TaskName
    #: What a model reads and gives.
    about: str
    #: What its corpora are called together with those of like tasks.
    family: str
    wording: Wording = TEXTS
    #: Whether a text is asked with a second one.
    pairs: bool = False
    #: Whether texts are written: the rows of the findings are then steps, grouped by their column ``sentence``.
    writes: bool = False
    #: The challenges that an audit asks beside those it asks of every task.
    usual: tuple[str, ...] = ()
    #: How many texts an audit examines where no limit is given; 0: all.
    limit: int = 0


TASKS: Final[Mapping[str, Task]] = {
    task.name: task
    for task in (
        Task("single", "one text, one class", "single texts"),
        Task("pair", "two texts, one class; attention reads the first", "pairs of texts", pairs=True),
        Task(
            "answer",
            "a story or article and a question; the answer is the class, and attention reads the story",
            "pairs of texts",
            pairs=True,
        ),
        Task(
            "translate",
            "a sentence and its translation; there are no classes",
            "translation",
            STEPS,
            writes=True,
            usual=("alignment", "bleu"),
            # Every word of a translation is a decision of its own: few sentences have many.
            limit=50,
        ),
    )
}


def task_of(fields: Mapping[str, Any]) -> Task:
    """What was asked of the model, by a run's fields."""
    return TASKS[fields.get("corpus", {}).get("task", "single")]


def wording_of(fields: Mapping[str, Any]) -> Wording:
    """What to call what was judged and what its attention weighs, by a run's fields."""
    wording = task_of(fields).wording
    sentences = fields.get("model", {}).get("structure") == "hierarchical" and fields.get("site") != "word"
    return replace(wording, item="sentence", token="sentence") if sentences else wording
