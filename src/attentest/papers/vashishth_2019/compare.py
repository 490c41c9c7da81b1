"""How this paper alone is compared: families of tasks, and heads that see the query beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from attentest.papers.evidence import Group
from attentest.papers.finding import Compared, Finder, Found, in_digits, scaled
from attentest.papers.headline import Control, HeadlineRule, Second
from attentest.papers.matching import Match
from attentest.papers.own import Note, Own
from attentest.papers.rules import DirectionRule, Side
from attentest.statistics.resampling import contrast

__all__ = ["OWN"]

SINGLE, PAIRS, TRANSLATION = ("SST", "IMDB", "AG News"), ("SNLI", "bAbI 1", "bAbI 2", "bAbI 3"), ("Multi30k",)
#: A family of which more than one corpus is named must stand on so many, each with so many texts in every seed.
CORPORA, TEXTS = 2, 30


@dataclass(frozen=True)
class Families:
    """A conclusion about two families of corpora: figures averaged over those of each that have runs."""

    left: tuple[str, ...]
    right: tuple[str, ...]

    def __call__(self, finder: Finder, rule: DirectionRule, key: str) -> Compared | str:
        """What the two averages differ by."""
        sides: list[list[Found]] = []
        named, without, few = [], [], []
        for side, corpora in ((rule.left, self.left), (rule.right, self.right)):
            found = {corpus: finder.find(corpus, side or Side("")) for corpus in corpora}
            # A seed without any text to judge has no figure, and so the corpus has none.
            there = {
                corpus: one
                for corpus, one in found.items()
                if not isinstance(one, str) and np.isfinite(one.per_seed).all()
            }
            if not there:
                return "; ".join(dict.fromkeys(one for one in found.values() if isinstance(one, str) and one))
            without += [
                f"without {corpus} ({one or 'no run' if isinstance(one, str) else 'a seed has no such text'})"
                for corpus, one in found.items()
                if corpus not in there
            ]
            sides.append(list(there.values()))
            mean = np.mean([one.interval.value for one in there.values()])
            named.append(f"{in_digits(float(mean))} ({', '.join(there)})")
            few += _few(found, there)
        every = [one for side in sides for one in side]
        left, right = ([one.sample for one in side] for side in sides)
        gap = scaled(contrast(left, right, key), every[0].scale)
        parts = [
            (sign / len(side), one.per_seed) for sign, side in zip((1.0, -1.0), sides, strict=True) for one in side
        ]
        cells = Group(tuple(cell for one in every for cell in one.match.group.cells))
        words = dict.fromkeys((*(word for one in every for word in one.match.differences), *without))
        judged, not_judged = sum(one.sample.judged for one in every), sum(one.sample.not_judged for one in every)
        match, also = Match(cells, tuple(words)), " against ".join(named)
        return Compared(match, gap, parts, also, judged, not_judged, "; ".join(few))


def _few(found: Mapping[str, Found | str], there: Mapping[str, Found]) -> list[str]:
    """What a family stands on, where that is too little to settle a conclusion; a sole corpus is all there is."""
    enough = [name for name, one in there.items() if min(one.sample.by_seed, default=0) >= TEXTS]
    if len(enough) >= min(CORPORA, len(found)):
        return []
    each = [
        f"{name} {'none' if isinstance(one, str) else ', '.join(map(str, one.sample.by_seed))}"
        for name, one in found.items()
    ]
    return [
        f"stands on {' and '.join(there)}{' alone' if len(there) == 1 else ''} (texts by seed: {'; '.join(each)}), "
        f"where {CORPORA} corpora of a family with {TEXTS} texts in every seed are asked for"
    ]


OWN = Own(
    conclusions={
        "training without attention costs more for pairs than for single texts": Families(PAIRS, SINGLE),
        "permuting attention costs more for pairs than for single texts": Families(PAIRS, SINGLE),
        "training without attention costs more for translation than for single texts": Families(TRANSLATION, SINGLE),
        "permuting attention costs more for translation than for single texts": Families(TRANSLATION, SINGLE),
        "larger changes despite peaked attention for pairs": Families(PAIRS, SINGLE),
        "larger changes despite peaked attention for translation": Families(TRANSLATION, SINGLE),
        "the top weight matters more for pairs": Families(PAIRS, SINGLE),
        "the top weight matters more for translation": Families(TRANSLATION, SINGLE),
    },
    notes=(
        Note(
            "within the paper's own spread over runs (96.1 ± 4.3), and the better way",
            table="Table 2",
            corpus="bAbI 1",
            measure="accuracy",
        ),
    ),
    headline=HeadlineRule(
        title="What is lost without attention: is it about attention, or about wiring?",
        words="the paper's head",
        measures=("accuracy", "accuracy_change", "bleu", "bleu_change"),
        controls=(
            Control("joint", "a head that sees the query, affine", {"head": "joint"}),
            Control("joint_tanh", "a head that sees the query, Jain & Wallace's", {"head": "joint_tanh"}),
        ),
        read={
            "training without attention": ("uniform, train+infer", "random, train+infer"),
            "uniform and random weights at inference only": ("uniform, infer", "random, infer"),
            "permuted weights": ("permute, infer",),
        },
        without="uniform, train+infer",
        altered="uniform, infer",
        little=5.0,
        # What the head cannot see in the paper's model, and how often the commonest answer of the test texts is right,
        # in per cent.
        second={
            "SNLI": Second("the hypothesis", chance=34.3),
            "bAbI 1": Second("the question", chance=18.7),
            "bAbI 2": Second("the question", chance=18.7),
            "bAbI 3": Second("the question", chance=21.5),
        },
    ),
)
