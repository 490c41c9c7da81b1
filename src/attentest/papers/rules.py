"""How a paper's figures are compared with ours: claims.toml, as frozen values.

Names of the paper stand for names of ours; every measure has its tolerance and the reason for it. What cannot be
computed carries a reason instead: ``missing`` (unavailable) or ``reason`` (not run).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from attentest.errors import InputError, suggestion
from attentest.papers import Paper
from attentest.papers.checked import built, tables

__all__ = [
    "Control",
    "CorpusRule",
    "DirectionRule",
    "FamilyRule",
    "HeadlineRule",
    "MeasureRule",
    "NameRule",
    "Note",
    "Rules",
    "Second",
    "Sense",
    "Side",
    "VectorsRule",
    "read_rules",
]

Plain = Literal["mean", "accuracy", "f1_positive", "f1_macro", "f1_micro", "roc_auc", "share", "correlation", "reach"]
Statistic = Literal[Plain, "f1_change", "ratio", "bleu", "bleu_change", "bleu_ratio"]
Sense = Literal["higher", "lower", "near"]


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
    #: Of a model: over tokens ("flat"), or over words and then sentences.
    structure: Literal["flat", "hierarchical"] = "flat"
    #: What else makes it this model, wherever a run has such a choice: {"query": "conditional", "head": "softmax"}.
    choices: Mapping[str, str] = field(default_factory=dict)
    #: What a run must have chosen to be this model: a name with any parameters, {"terms": "tying"}, a text with just
    #: these, {"encoder": "bilstm(hidden=150, layers=2)"}, or nothing, {"terms": ""}.
    needs: Mapping[str, str] = field(default_factory=dict)
    #: Why it is not the paper's, known beforehand.
    differs: str = ""
    #: Whether the vectors and settings in this file are those of other models, so that they are no difference.
    apart: bool = False
    #: Of such a model: the study's epochs on our corpus of this name.
    epochs: Mapping[str, int] = field(default_factory=dict)
    missing: str = ""
    reason: str = ""


@dataclass(frozen=True)
class MeasureRule:
    """What a measure of the paper is in our findings, and how near ours must come."""

    words: str
    #: Largest |ours − published|, in the paper's unit, for "agrees"; counts have 0.
    tolerance: float = 0.0
    #: Why that much.
    why: str = ""
    #: A number of corpus.json.
    count: Literal["", "vocabulary", "texts in train", "texts in test", "mean length", "classes"] = ""
    challenge: str = ""
    #: A measure that the findings declare, or a statistic of ``column`` (for F1, the predictions; for its change, those
    #: under other weights).
    measure: str = ""
    #: For figures whose group is a measure of its own: the findings' measure for every group.
    groups: Mapping[str, str] = field(default_factory=dict)
    #: For figures whose group is computed in a way of its own: the measure of this file for every group.
    members: Mapping[str, str] = field(default_factory=dict)
    statistic: Statistic = "mean"
    column: str = ""
    #: Only rows whose column has a value: {"weights": "uniform"}.
    where: Mapping[str, str] = field(default_factory=dict)
    #: For shares: texts at or above, at or below this value; for correlations and ratios, the other column.
    at_least: float | None = None
    at_most: float | None = None
    against: str = ""
    #: For the reach of a curve, whose points differ in this column: the largest mean of ``column`` among the points
    #: whose mean of ``against`` is at most ``at_most``, or at most the measure of this name; 0 where there is none.
    along: str = ""
    within: str = ""
    #: What a judged text without a value counts as.
    fill: float | None = None
    #: Only texts whose column reaches a value: {"max_attention": 0.5}.
    given: Mapping[str, float] = field(default_factory=dict)
    #: What a figure's group means.
    by: Literal["", "predicted class"] = ""
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
        if self.computed and not self.why:
            raise ValueError("a measure that is compared must say why its tolerance is what it is: add 'why'.")
        if not self.computed and not (self.members or self.missing or self.reason):
            raise ValueError("write 'challenge' or 'count', or say with 'missing' or 'reason' why there is no figure.")
        if self.statistic in ("share", "correlation", "ratio") and not self.column:
            raise ValueError(f"statistic = {self.statistic!r} needs a 'column'.")
        if self.statistic == "share" and (self.at_least is None) == (self.at_most is None):
            raise ValueError("statistic = 'share' needs one of 'at_least' and 'at_most'.")
        if self.statistic in ("correlation", "ratio") and not self.against:
            raise ValueError(f"statistic = {self.statistic!r} needs 'against', the other column.")
        if self.statistic == "reach":
            if not (self.column and self.against and self.along):
                raise ValueError("statistic = 'reach' needs 'column', 'against' and 'along'.")
            if (self.at_most is None) == (not self.within):
                raise ValueError("statistic = 'reach' needs one of 'at_most' and 'within'.")

    @property
    def computed(self) -> bool:
        """Whether our findings hold it."""
        return bool(self.challenge or self.count)


@dataclass(frozen=True)
class Note:
    """Something known beforehand about some figures; empty selectors match everything."""

    words: str
    table: str = ""
    corpus: str = ""
    measure: str = ""
    group: str = ""
    source: str = ""
    #: The corpus as our runs prepared it, such as "20news(draw_empty=False)"; none: however it was.
    forms: tuple[str, ...] = ()
    #: False: what is compared is not the same thing, so it stays out of the agreement rate.
    like_for_like: bool = True

    def about(self, claim: object, form: str) -> bool:
        """Whether a claim is one of them, compared with texts prepared in that form."""
        names = ("table", "corpus", "measure", "group", "source")
        return (not self.forms or form in self.forms) and all(
            getattr(self, name) in ("", getattr(claim, name)) for name in names
        )


@dataclass(frozen=True)
class Side:
    """One side of a direction: a measure of a model."""

    measure: str
    model: str = ""
    attention: str = ""
    group: str = ""
    #: For directions that compare corpora: those whose figures are averaged, each counting the same.
    corpora: tuple[str, ...] = ()


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
        inside = [bool(side.corpora) for side in (self.left, self.right) if side is not None]
        if any(inside) and (self.corpora or not all(inside)):
            raise ValueError("a direction names its 'corpora', or both of its sides name theirs.")
        if not any(inside) and not self.corpora:
            raise ValueError("a direction that is measured names its 'corpora'.")


@dataclass(frozen=True)
class Control:
    """A model that the paper does not have, to set beside its own, from which it differs in these choices."""

    name: str
    words: str
    choices: Mapping[str, str]


@dataclass(frozen=True)
class Second:
    """The second text of a corpus, which a control's head sees."""

    words: str = "the query"
    #: How often the commonest answer is right, in the unit of the scores.
    chance: float = 0.0


@dataclass(frozen=True)
class HeadlineRule:
    """The table that comes first: some figures, ours, and ours with a control, which is in no rate."""

    title: str
    #: What the paper's own models are called beside the controls.
    words: str
    measures: tuple[str, ...]
    controls: tuple[Control, ...] = ()
    #: The groups of figures that are read together in words: {"training without attention": [...]}.
    read: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: The groups that say how much a control can lose: trained without attention, and altered at inference only.
    without: str = ""
    altered: str = ""
    #: A control that loses no more than this when it is trained without attention has little room to lose any.
    little: float = 5.0
    second: Mapping[str, Second] = field(default_factory=dict)


@dataclass(frozen=True)
class FamilyRule:
    """What a conclusion about families of corpora must stand on: so many corpora, each with so many texts a seed."""

    corpora: int = 1
    texts: int = 0


@dataclass(frozen=True)
class Rules:
    """The whole of claims.toml."""

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
    notes: tuple[Note, ...] = ()
    directions: tuple[DirectionRule, ...] = ()
    headline: HeadlineRule | None = None
    #: Asked of every side that names more than one corpus.
    families: FamilyRule = field(default_factory=FamilyRule)

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
    for name, corpus in rules.corpora.items():
        if corpus.vectors:
            _known(corpus.vectors, rules.vectors, file, f"corpora.{name}.vectors")
    for name, measure in rules.measures.items():
        within = (measure.within,) if measure.within else ()
        for key, others in (("also", measure.also), ("within", within), ("members", tuple(measure.members.values()))):
            for other in others:
                _known(other, rules.measures, file, f"measures.{name}.{key}")
    for i, direction in enumerate(rules.directions):
        where = f"directions[{i}] ({direction.name})"
        for corpus_name in direction.corpora:
            _known(corpus_name, rules.corpora, file, f"{where}.corpora")
        for side in (direction.left, direction.right):
            if side is not None:
                _check_side(side, rules, file, where)
    _check_headline(rules, file)
    return rules


def _check_headline(rules: Rules, file: str) -> None:
    if rules.headline is None:
        return
    for name in rules.headline.measures:
        _known(name, rules.measures, file, "headline.measures")
    for corpus in rules.headline.second:
        _known(corpus, rules.corpora, file, "headline.second")


def _check_side(side: Side, rules: Rules, file: str, where: str) -> None:
    _known(side.measure, rules.measures, file, f"{where}.measure")
    if not rules.measure(side.measure, side.group).computed:
        raise InputError(f"{file}: {where} uses {side.measure!r}, which has no 'challenge'.")
    for corpus in side.corpora:
        _known(corpus, rules.corpora, file, f"{where}.corpora")
    for kind, name, known in (("model", side.model, rules.models), ("attention", side.attention, rules.attentions)):
        if name:
            _known(name, known, file, f"{where}.{kind}")


def _known(name: str, known: Iterable[str], file: str, path: str) -> None:
    if name not in (names := list(known)):
        raise InputError(f"{file}: {path} = {name!r} is not in the file. {suggestion(name, names)}")
