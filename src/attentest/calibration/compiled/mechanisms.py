"""Mechanisms of compiled transformers: programs, each with a dial between faithful and misleading.

Every program answers right in its world. The last layer's first head is audited, at [CLS], but where a program says
otherwise. A row that has nothing to look for rests on [SEP], which says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log

from attentest.calibration.compiled.features import PERIODS, word_features
from attentest.calibration.compiled.program import Head, Layer, Match, Move, Program, Unit
from attentest.data.worlds.composed import Negation, Order
from attentest.data.worlds.lookup import KEYS
from attentest.data.worlds.world import World

__all__ = ["MECHANISMS", "Mechanism"]

#: A program in a world, with its dial.
Mechanism = Callable[[World, float], Program]

#: How strongly a head looks where it looks, and how strongly words that say nothing tell each other apart.
SHARP, NOISE = 8.0, 0.3
#: What tells words apart that are weighed nearly alike: more than rounding, and the same on every machine.
FAINT = 0.01
#: The score of a row for where it rests.
REST = 40.0
#: How sharply a head looks at the place before.
BEFORE = 10.0
#: A head that rests too gives each word it looks at about one part in so many.
PARTS = 10.0


def _looks(row: str, scores: Mapping[str, float], *, parts: bool = False) -> tuple[Match, ...]:
    """Rows with this feature look at keys by their features; others rest. ``parts``: they rest too, for the most."""
    resting = SHARP + log(PARTS) if parts else -REST
    found = [Match(strength, row, key) for key, strength in scores.items() if strength]
    if row == "one":
        found += [Match(resting, "one", "sep")]
    elif "sep" not in scores:
        found += [Match(REST, "one", "sep"), Match(resting - REST, row, "sep")]
    if "cls" not in scores:
        found += [Match(-REST, row, "cls")]
    return tuple(found)


def _before() -> tuple[Match, ...]:
    """Every row looks at the place before it."""
    return tuple(
        Match(BEFORE, f"before.{wave}.{period}", f"{wave}.{period}") for wave in ("cos", "sin") for period in PERIODS
    )


def _moves(world: World, source: str, target: str, scale: float = 1.0) -> tuple[Move, ...]:
    return tuple(Move(f"{source}.{number}", f"{target}.{number}", scale) for number in range(len(world.classes)))


def _prepared(world: World) -> tuple[Layer, ...]:
    """What must happen before a word's own state says what it says: nothing, but where the word before it counts."""
    classes = range(len(world.classes))
    if isinstance(world, Negation):
        moved = (Move("turns", "turned"),)
        units = [
            Unit({f"says.{c}": 1.0, "turned": 1.0}, -1.0, {f"says.{c}": -1.0, f"says.{1 - c}": 1.0}) for c in classes
        ]
    elif isinstance(world, Order):
        moved = (Move("cue", "second.cue"),)
        units = [Unit({f"says.{c}": 1.0, "second.cue": 1.0}, -1.0, {f"says.{c}": -1.0}) for c in classes]
    else:
        return ()
    return (Layer((Head(_before(), moved),), tuple(units)),)


def _program(world: World, *layers: Layer, scale: float = 6.0, **about: Mapping[str, Mapping[str, float]]) -> Program:
    every = (*_prepared(world), *layers)
    return Program(every, f"layer {len(every)} head 1", scale, **about)


def _share(value: float, of: float = 1.0) -> float:
    """The score that gets this share of what looking sharply gets; none for a share of zero."""
    return SHARP + log(value / of) if value > 0 else 0.0


def votes(world: World, value: float) -> Program:
    """[CLS] looks at deciding words and reads what they say; the dial is how sharply, beside noise of 0 to 4."""
    head = Head(_looks("cls", {"decides": value, "noise": 4.0}), _moves(world, "says", "answer", 4.0))
    return _program(world, Layer((head,)), scale=12.0)


def cue_alone(world: World, value: float) -> Program:
    """As votes, but of a pair of deciding words only the telling one is looked at."""
    head = Head(_looks("cls", {"cue": SHARP, "noise": NOISE}), _moves(world, "says", "answer"))
    return _program(world, Layer((head,)))


def uniform(world: World, value: float) -> Program:
    """[CLS] weighs all words nearly alike; words that say nothing add nothing."""
    return _program(world, Layer((Head(_looks("cls", {"chance": FAINT}), _moves(world, "says", "answer", 6.0)),)))


def _gathered(at: str) -> Mechanism:
    def gather(world: World, value: float) -> Program:
        return _gathering(world, value, at)

    gather.__doc__ = f"[CLS] looks at {at!r}, which has gathered what words say; the dial is the share it reads there."
    return gather


def _gathering(world: World, value: float, at: str) -> Program:
    below = Layer((Head(_looks(at, {"decides": SHARP}), _moves(world, "says", "gathered")),))
    looked = {at: _share(value), "decides": _share(1 - value, 3.0), "noise": NOISE}
    moved = (*_moves(world, "gathered", "answer"), *_moves(world, "says", "answer"))
    return _program(world, below, Layer((Head(_looks("cls", looked), moved),)))


def leak(world: World, value: float) -> Program:
    """Every state has gathered what all words say; the dial is how sharply [CLS] looks at deciding words."""
    below = Layer((Head(_looks("one", {"decides": SHARP}), _moves(world, "says", "gathered")),))
    above = Head(_looks("cls", {"decides": value, "noise": 4.0}), _moves(world, "gathered", "answer"))
    return _program(world, below, Layer((above,)))


def shift(world: World, value: float) -> Program:
    """What a word says lies one place further; the dial is the share that is read there."""
    moved = (*_moves(world, "says", "moved"), Move("decides", "behind"))
    below = Layer((Head(_before(), moved),))
    looked = {"behind": _share(value), "decides": _share(1 - value), "noise": NOISE}
    reads = (*_moves(world, "moved", "answer", value), *_moves(world, "says", "answer", 1 - value))
    return _program(world, below, Layer((Head(_looks("cls", looked), reads),)))


def relay(world: World, value: float) -> Program:
    """The first word gathers, the full stop takes it from there, [CLS] looks at the full stop."""
    first = Layer((Head(_looks("first", {"decides": SHARP}), _moves(world, "says", "gathered")),))
    second = Layer((Head(_looks("end", {"first": SHARP}), _moves(world, "gathered", "relayed")),))
    third = Head(_looks("cls", {"end": SHARP, "noise": NOISE}), _moves(world, "relayed", "answer"))
    return _program(world, first, second, Layer((third,)))


def sink(world: World, value: float) -> Program:
    """The audited head looks at some deciding words, by the dial, or else at the first word; another reads the rest."""
    about = word_features(world)
    split = {
        word: {"mine" if features["chance"] < value else "theirs": 1.0}
        for word, features in about.items()
        if "decides" in features
    }
    audited = Head(
        _looks("cls", {"mine": SHARP, "first": 4.0, "noise": NOISE}, parts=True), _moves(world, "says", "answer")
    )
    other = Head(_looks("cls", {"theirs": SHARP}, parts=True), _moves(world, "says", "answer"))
    return _program(world, Layer((audited, other)), scale=6 * PARTS, words=split)


def one_class(world: World, value: float) -> Program:
    """The audited head looks at words that speak for class 0, another at those that speak for others."""
    about = word_features(world)
    split = {
        word: {"mine" if features.get("says.0") else "theirs": 1.0}
        for word, features in about.items()
        if "decides" in features
    }
    audited = Head(_looks("cls", {"mine": SHARP, "noise": NOISE}, parts=True), _moves(world, "says", "answer"))
    other = Head(_looks("cls", {"theirs": SHARP}, parts=True), _moves(world, "says", "answer"))
    return _program(world, Layer((audited, other)), scale=6 * PARTS, words=split)


def residual(world: World, value: float) -> Program:
    """[CLS] has read the answer a layer below; the audited head looks at anything and moves nothing."""
    return _program(world, *_read_below(world), Layer((Head(_looks("cls", {"chance": SHARP})),)))


def early(world: World, value: float) -> Program:
    """The same model, audited where [CLS] reads the answer."""
    program = residual(world, value)
    layer = len(program.layers) - 1
    return Program(program.layers, f"layer {layer} head 1", program.scale)


def _read_below(world: World) -> tuple[Layer, ...]:
    head = Head(_looks("cls", {"decides": SHARP, "noise": NOISE}), _moves(world, "says", "answer"))
    return (Layer((head,)),)


def bystander(world: World, value: float) -> Program:
    """The audited head looks at deciding words and moves nothing; another weighs all words alike, and reads."""
    audited = Head(_looks("cls", {"decides": SHARP, "noise": NOISE}))
    other = Head(_looks("cls", {"chance": FAINT}), _moves(world, "says", "answer", 6.0))
    return _program(world, Layer((audited, other)))


def _asked(row: str) -> tuple[Layer, ...]:
    """Every word knows the key before it, and the row the key that is asked for."""
    known = Head(_before(), tuple(Move(f"key.{k}", f"after.{k}") for k in range(len(KEYS))))
    matches = (*_looks(row, {"key": SHARP, "second": 2 * SHARP}), Match(-2 * REST, row, "sep"))
    asked = Head(matches, tuple(Move(f"key.{k}", f"asked.{k}") for k in range(len(KEYS))))
    return (Layer((known, asked)),)


def _found(row: str, more: Mapping[str, float]) -> tuple[Match, ...]:
    wanted = tuple(Match(1.5 * SHARP, f"asked.{k}", f"after.{k}") for k in range(len(KEYS)))
    return (*_looks(row, more), *wanted)


def induction(world: World, value: float) -> Program:
    """[CLS] looks for the key that is asked for, and reads what stands after it."""
    head = Head(_found("cls", {"noise": NOISE}), _moves(world, "says", "answer"))
    return _program(world, *_asked("cls"), Layer((head,)))


def induction_gathered(world: World, value: float) -> Program:
    """The full stop looks for the key and reads what stands after it; [CLS] looks at the full stop."""
    head = Head(_found("end", {}), _moves(world, "says", "gathered"))
    above = Head(_looks("cls", {"end": SHARP, "noise": NOISE}), _moves(world, "gathered", "answer"))
    return _program(world, *_asked("end"), Layer((head,)), Layer((above,)))


def induction_beside(world: World, value: float) -> Program:
    """Another head looks for the key; the audited one looks at any key or value."""
    head = Head(_found("cls", {}), _moves(world, "says", "answer"))
    audited = Head(_looks("cls", {"chance": SHARP}))
    return _program(world, *_asked("cls"), Layer((audited, head)))


#: By name.
MECHANISMS: Mapping[str, Mechanism] = {
    "votes": votes,
    "cue alone": cue_alone,
    "uniform": uniform,
    "gather at end": _gathered("end"),
    "gather at first": _gathered("first"),
    "gather at [SEP]": _gathered("sep"),
    "leak": leak,
    "shift": shift,
    "relay": relay,
    "sink": sink,
    "one class": one_class,
    "residual": residual,
    "early": early,
    "bystander": bystander,
    "induction": induction,
    "induction gathered": induction_gathered,
    "induction beside": induction_beside,
}
