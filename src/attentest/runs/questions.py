"""The questions of a run: which challenges are put to a model, and what of them a person named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Challenge
from attentest.challenges.instances.examine import Instances
from attentest.explainers import EXPLAINERS
from attentest.runs.options import Options
from attentest.tasks import DEFAULT, THOROUGH, THOROUGHLY

__all__ = ["OF_CHECKPOINTS", "SUITED", "Put", "Questions", "Usual", "challenge_named"]

#: The parameter by which explainers are named within a challenge.
PARAMETER = "explainers"

#: What is asked beside the usual of a model that selects the words it reads: about its selection, which heat maps show.
SELECTING = ("selection", f"instances(explainers={('selection', *Instances.explainers)!r})")

_METHODS = ("attention", "gradient", "gradient_norm", "gradient_x_input", "occlusion", "leave_one_out")
_ERASED = ("attention", "gradient_norm", "gradient_x_input", "leave_one_out")
#: What is put in the place of the challenges of this name to a model that is not made of attentest's parts: no rules of
#: lrp are known for it, and every erased text is read anew, so fewer orders are tried.
SUITED: Mapping[str, str] = {
    "adversary": "adversary(steps=100)",
    "rationale": f"rationale(explainers={_METHODS!r})",
    "faithfulness": f"faithfulness(explainers={_ERASED!r}, bins=(0.1, 0.2, 0.5), flip_bins=(), draws=1, candidates=1)",
    "certificates": f"certificates(explainers={_METHODS!r})",
}
#: The same for checkpoints: a text takes them a hundred times as long, and importance reads each some hundred times.
#: Texts are drawn each by its own chance: of 32 on average every third draw had fewer than the 30 that a line asks for.
OF_CHECKPOINTS: Mapping[str, str] = {
    **SUITED,
    "importance": "importance(orders=12, players=16, texts=48)",
    THOROUGHLY["importance"]: THOROUGHLY["importance"].replace("texts=0", "texts=200"),
}


@dataclass(frozen=True)
class Usual:
    """What of a run's challenges nobody named: where it does not apply it is passed over. All else must apply."""

    challenges: frozenset[Challenge] = frozenset()
    #: The challenges whose explainers nobody named.
    explained: frozenset[Challenge] = frozenset()


@dataclass(frozen=True)
class Put:
    """The challenges as they are put to a kind of model, and what of them is only usual."""

    challenges: tuple[Challenge, ...]
    usual: Usual


@dataclass(frozen=True)
class Questions:
    """The challenges of a run as text: those that a person named, and those that are put without being named."""

    named: tuple[str, ...] = ()
    #: Put where nobody names others.
    usual: tuple[str, ...] = ()
    #: Added by a thorough audit.
    added: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: Options, *, selects: bool = False) -> Questions:
        """The challenges that were named, or the usual ones; a thorough audit adds those that train other models.

        It also takes words out of every text in one more way. Naming only challenges that it adds sets their
        parameters; the usual ones still run. Of a model that selects words these are usual that ask about a selection.
        """
        given, default = options.challenges, (*DEFAULT, *SELECTING) if selects else DEFAULT
        if given is None and not options.thorough:
            return cls(usual=default)
        named = (given,) if isinstance(given, str) else tuple(given or ())
        if not options.thorough:
            return cls(named)
        names = {text.partition("(")[0].strip() for text in named}
        usual = tuple(THOROUGHLY.get(name, name) for name in default) if names <= {*THOROUGH} else ()
        return cls(named, usual, tuple(name for name in THOROUGH if name not in names))

    @property
    def texts(self) -> tuple[str, ...]:
        """All of them, in the order in which they are put."""
        return (*self.usual, *self.named, *self.added)

    def put(self, suited: Mapping[str, str] | None = None) -> Put:
        """The challenges themselves; ``suited`` has what is put in the place of some to a kind of model."""
        named = {text: CHALLENGES.parse((suited or {}).get(text, text)) for text in self.texts}
        usual = [named[text] for text in (*self.usual, *self.added) if text not in self.named]
        explained = [named[text] for text in self.texts if PARAMETER not in CHALLENGES.parameters(text)]
        return Put(tuple(named.values()), Usual(frozenset(usual), frozenset(explained)))


def challenge_named(text: str) -> Challenge:
    """The challenge of this text, with explainers that are known."""
    challenge = CHALLENGES.parse(text)
    for explainer in challenge.explained_by:
        EXPLAINERS.parse(explainer)
    return challenge
