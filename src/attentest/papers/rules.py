"""How a paper's figures are compared with ours: claims.toml, as frozen values.

Names of the paper stand for names of ours; every measure has its tolerance and the reason for it. What cannot be
computed carries a reason instead: ``missing`` (unavailable) or ``reason`` (not run).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from attentest.errors import InputError, suggestion
from attentest.papers import Paper
from attentest.papers.checked import NO_KEY, built, tables
from attentest.papers.own import Own, own_of

__all__ = [
    "CorpusRule",
    "Count",
    "DirectionRule",
    "MeasureRule",
    "NameRule",
    "Rules",
    "Sense",
    "Side",
    "VectorsRule",
    "read_rules",
]

Plain = Literal[
    "mean", "accuracy", "f1_positive", "f1_macro", "f1_micro", "f1_change", "roc_auc", "correlation", "ratio"
]
Statistic = Literal[Plain, "bleu", "bleu_change", "bleu_ratio"]
Sense = Literal["higher", "lower", "near"]
Count = Literal[
    "",
    "vocabulary",
    "texts in train",
    "texts in test",
    "mean length",
    "spread of length",
    "mean sentences",
    "spread of sentences",
    "classes",
]


@dataclass(frozen=True)
class CorpusRule:
    """A corpus of the paper, and ours that stands for it."""

    #: Our corpus; empty when there is none.
    name: str = ""
    #: Why its texts are not the paper's, known beforehand; what is partial is read from the run.
    differs: str = ""
    #: Other preparations, or other corpora of ours that stand for it, each with why it is not the paper's.
    forms: Mapping[str, str] = field(default_factory=dict)
    #: The paper's vectors, a name in [vectors]; empty: none or not said.
    vectors: str = ""
    #: The texts whose words the paper's vocabulary counts.
    vocabulary: Literal["train", "all"] = "train"
    #: The splits that the paper's training size and average length count together.
    train: tuple[str, ...] = ("train",)
    length: tuple[str, ...] = ("train",)
    #: Where it differs from the paper's other corpora: settings, models' texts, challenges' parameters.
    settings: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    challenges: Mapping[str, str] = field(default_factory=dict)
    #: Models of the paper that are not run on it, each with the reason.
    without: Mapping[str, str] = field(default_factory=dict)
    missing: str = ""
    reason: str = ""


@dataclass(frozen=True)
class VectorsRule:
    """Word vectors that a paper starts from."""

    words: str
    #: File names that hold them whole.
    files: tuple[str, ...] = ()
    #: File names that hold a part of them, and which part.
    parts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class NameRule:
    """A model or an attention of the paper, and our text for it."""

    name: str = ""
    #: What a run must have chosen to be this model, one of the texts listed for each choice: a name with any
    #: parameters, {"terms": ["tying"]}, a text with just these, {"encoder": ["bilstm(layers=2)"]}, or nothing, [""].
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Why it is not the paper's, known beforehand.
    differs: str = ""
    #: Whether the vectors and settings in this file are those of other models, so that they are no difference.
    apart: bool = False
    #: Of such a model: the study's epochs on our corpus of this name.
    epochs: Mapping[str, int] = field(default_factory=dict)
    #: Why it was not run.
    reason: str = ""


@dataclass(frozen=True)
class MeasureRule:
    """What a measure of the paper is in our findings, and how near ours must come."""

    words: str
    #: Largest |ours − published|, in the paper's unit, for "agrees"; counts have 0.
    tolerance: float = 0.0
    #: Why that much.
    why: str = ""
    #: A number of corpus.json (counts.py).
    count: Count = ""
    challenge: str = ""
    #: A measure that the findings declare, or one for every group of figures that is a measure of its own; or a
    #: statistic of ``column`` (for F1, the predictions; for its change, those under other weights).
    measure: str | Mapping[str, str] = ""
    #: For figures whose group is computed in a way of its own: the measure of this file for every group.
    members: Mapping[str, str] = field(default_factory=dict)
    statistic: Statistic = "mean"
    column: str = ""
    #: Only rows whose column has a value: {"weights": "uniform"}.
    where: Mapping[str, str] = field(default_factory=dict)
    #: For correlations and ratios, the other column.
    against: str = ""
    #: Only texts whose column reaches a value: {"max_attention": 0.5}.
    given: Mapping[str, float] = field(default_factory=dict)
    #: Ours times this is in the paper's unit.
    scale: float = 1.0
    #: Other measures of this file shown beside it.
    also: tuple[str, ...] = ()
    #: The panel of the scatter plot; empty: not drawn.
    panel: str = ""
    missing: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        if self.computed and self.tolerance < 0:
            raise ValueError(f"tolerance = {self.tolerance} must be 0 or more.")
        if not self.computed and not (self.members or self.missing or self.reason):
            raise ValueError("write 'challenge' or 'count', or say with 'missing' or 'reason' why there is no figure.")
        if self.statistic in ("correlation", "ratio") and not (self.column and self.against):
            raise ValueError(f"statistic = {self.statistic!r} needs a 'column' and 'against', the other one.")

    @property
    def computed(self) -> bool:
        """Whether our findings hold it."""
        return bool(self.challenge or self.count)

    @property
    def groups(self) -> Mapping[str, str]:
        """The findings' measure for every group that is one of its own."""
        return {} if isinstance(self.measure, str) else self.measure

    def declared(self, group: str) -> str:
        """The findings' measure of a group; empty where it is a statistic of a column."""
        return self.measure if isinstance(self.measure, str) else self.measure.get(group, "")


@dataclass(frozen=True)
class Side:
    """One side of a direction: a measure of a model."""

    measure: str
    model: str = ""
    attention: str = ""
    group: str = ""


@dataclass(frozen=True)
class DirectionRule:
    """A conclusion in the paper's words, and what must be seen for it to hold."""

    name: str
    quote: str
    section: str
    #: How the sentence was made into something that can be measured.
    reading: str
    corpora: tuple[str, ...] = ()
    left: Side | None = None
    sense: Sense = "higher"
    right: Side | None = None
    value: float | None = None
    #: For "near": how near.
    margin: float = 0.0
    #: True: from memory or from outside the sources at hand, so outside every rate.
    recalled: bool = False
    #: True: a question of ours, such as the paper's sentence put to a model that it does not have; outside every rate.
    ours: bool = False
    missing: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        if self.left is None:
            if not (self.missing or self.reason):
                raise ValueError("a direction needs 'left', or 'missing' or 'reason' to say why it is not measured.")
            return
        if (self.right is None) == (self.value is None):
            raise ValueError("a direction needs one of 'right' (another measure) and 'value' (a number).")
        if self.sense == "near" and self.margin <= 0:
            raise ValueError("sense = 'near' needs a 'margin' above 0.")


@dataclass(frozen=True)
class Rules:
    """The whole of claims.toml, and what is the paper's own."""

    #: Said of every figure that no run was made for.
    not_run: str
    #: What a cell of the study may have for a choice, the preferred value first; anything else is a difference.
    settings: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    #: Parameters of a challenge that change none of the figures compared; any other one is a difference.
    harmless: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    corpora: Mapping[str, CorpusRule] = field(default_factory=dict)
    vectors: Mapping[str, VectorsRule] = field(default_factory=dict)
    models: Mapping[str, NameRule] = field(default_factory=dict)
    attentions: Mapping[str, NameRule] = field(default_factory=dict)
    measures: Mapping[str, MeasureRule] = field(default_factory=dict)
    directions: tuple[DirectionRule, ...] = ()
    #: What its folder's compare.py says.
    own: Own = field(default_factory=Own, metadata=NO_KEY)

    def measure(self, name: str, group: str = "") -> MeasureRule:
        """The measure of a figure, which for some groups is another one."""
        rule = self.measures[name]
        return self.measures[rule.members[group]] if group in rule.members else rule


def read_rules(paper: Paper, text: str | None = None) -> Rules:
    """A paper's rules, checked: every name that one part uses must stand in another."""
    file = f"papers/{paper.name}/claims.toml"
    if text is None:
        text = (paper.folder / "claims.toml").read_text("utf-8")
    rules = built(Rules, tables(text, file), file, "the file")
    _check_names(rules, file)
    own = own_of(paper)
    for i, direction in enumerate(rules.directions):
        where = f"directions[{i}] ({direction.name})"
        for corpus_name in direction.corpora:
            _known(corpus_name, rules.corpora, file, f"{where}.corpora")
        if direction.left is not None and not direction.corpora and direction.name not in own.conclusions:
            raise InputError(f"{file}: {where} is measured, so it names its 'corpora'.")
        for side in (direction.left, direction.right):
            if side is not None:
                _check_side(side, rules, file, where)
    for name in own.measures:
        _known(name, rules.measures, file, "measures of compare.py")
    for name in own.conclusions:
        _known(name, [direction.name for direction in rules.directions], file, "conclusions of compare.py")
    return replace(rules, own=own)


def _check_names(rules: Rules, file: str) -> None:
    """Corpora and measures name only what stands in the file."""
    for name, corpus in rules.corpora.items():
        if corpus.vectors:
            _known(corpus.vectors, rules.vectors, file, f"corpora.{name}.vectors")
    for name, measure in rules.measures.items():
        for key, others in (("also", measure.also), ("members", tuple(measure.members.values()))):
            for other in others:
                _known(other, rules.measures, file, f"measures.{name}.{key}")


def _check_side(side: Side, rules: Rules, file: str, where: str) -> None:
    _known(side.measure, rules.measures, file, f"{where}.measure")
    if not rules.measure(side.measure, side.group).computed:
        raise InputError(f"{file}: {where} uses {side.measure!r}, which has no 'challenge'.")
    for kind, name, known in (("model", side.model, rules.models), ("attention", side.attention, rules.attentions)):
        if name:
            _known(name, known, file, f"{where}.{kind}")


def _known(name: str, known: Iterable[str], file: str, path: str) -> None:
    if name not in (names := list(known)):
        raise InputError(f"{file}: {path} = {name!r} is not in the file. {suggestion(name, names)}")
