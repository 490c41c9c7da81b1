"""The tests of attention that are scored, and which way each of them points, as its paper has it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BOUNDS", "EVIDENCE", "TESTS", "THOROUGH", "TRUTHS", "Test", "kept", "test_of"]

#: The uses of the verdict, each with the truth that it is about.
TRUTHS = {"reason": "words", "check": "states", "one": "one"}
#: The measures that decide each use; all of them must agree.
EVIDENCE = {
    "reason": ("importance.attention.held.delete", "importance.attention.held.mask"),
    "check": ("importance.attention.held.states",),
    "one": ("importance.attention.one.delete", "importance.attention.one.mask"),
}
#: The mark of *no* is at most the first, that of *yes* at least the second, whatever the fit says: who is given a
#: reason for a decision that concerns them should not be given half of one. Added after the run (see the protocol).
BOUNDS = {"one": (0.2, 0.8)}
#: What a thorough audit adds to them: a third way of taking words out, which must agree too. The least of three
#: numbers is too low where each varies with the draw, so *one* does without it.
THOROUGH = {
    "reason": (*EVIDENCE["reason"], "importance.attention.held.draw"),
    "check": EVIDENCE["check"],
    "one": EVIDENCE["one"],
}


@dataclass(frozen=True)
class Test:
    """Measures of a challenge that a paper reads in one direction."""

    __test__ = False  # pytest takes every class of this name for tests

    challenge: str
    #: The measures' names: how they begin, and the columns they are made of.
    begins: str
    higher: tuple[str, ...]
    lower: tuple[str, ...]
    paper: str

    def direction(self, rest: str) -> int:
        """1 where higher is more faithful, −1 where lower is, 0 where it says nothing of this measure."""
        if not rest.startswith(self.begins):
            return 0
        parts = rest[len(self.begins) :].split(".")
        return int(any(part in self.higher for part in parts)) - int(any(part in self.lower for part in parts))


RANKS = ("tau", "spearman", "captured", "top_k_overlap", "rank_biased_overlap", "significant")
OVERLAPS = ("average_precision", "mass", "token_f1", "iou", "span_f1", "auprc")
TESTS = (
    Test("agreement", "attention~", RANKS, (), "Jain & Wallace 2019"),
    Test("permutation", "", ("median_change", "flips", "largest_change"), ("gained",), "Jain & Wallace 2019"),
    Test(
        *("adversary", "", (), ("lower", "upper", "ratio", "ratio_upper", "top_changed", "searched")),
        "Jain & Wallace 2019",
    ),
    Test("uniform", "", ("change", "flipped"), ("gained",), "Wiegreffe & Pinter 2019"),
    Test("trained_uniform", "", ("lost", "change", "attention_jsd"), (), "Wiegreffe & Pinter 2019"),
    Test("seed_variance", "", (), ("attention_jsd", "top_changed"), "Wiegreffe & Pinter 2019"),
    Test("guide", "", ("gained", "over_own", "over_adversary"), (), "Wiegreffe & Pinter 2019"),
    Test("random_weights", "", ("change", "flips"), ("gained",), "Vashishth et al. 2019"),
    Test("gating", "", ("query_jsd", "query_change", "query_flipped"), ("gate",), "Vashishth et al. 2019"),
    Test(
        *("single_weight", "", ("delta_js", "js_top", "top_flips", "only_top_flips")),
        *(("other_matters_more", "only_other_flips"), "Serrano & Smith 2019"),
    ),
    Test(
        *("flip_sets", "attention.", (), ("dropped", "counted", "never", "times", "times_counted")),
        "Serrano & Smith 2019",
    ),
    Test(
        *("faithfulness", "attention."),
        ("comprehensiveness", "normalised_comprehensiveness", "normalised_sufficiency", "flipped"),
        *(("sufficiency", "until_flip"), "DeYoung et al. 2020"),
    ),
    Test(
        *("soft_faithfulness", "attention.", ("soft_comprehensiveness", "soft_sufficiency"), ()),
        "Zhao & Aletras 2023",
    ),
    Test("rationale", "attention.", OVERLAPS, (), "DeYoung et al. 2020"),
    Test("randomisation", "attention.", (), ("spearman", "spearman_absolute"), "Adebayo et al. 2018"),
    Test("input_invariance", "attention.", ("invariant", "spearman"), (), "Kindermans et al. 2019"),
    Test("knockout", "", ("tau", "captured", "top_flips", "change_top"), (), "Geva et al. 2023"),
    Test("importance", "attention.", ("held", "one"), (), "Shapley 1953"),
)
#: Challenges whose measures prove or count, and test nothing of an attention.
NO_TESTS = ("certificates", "instances")


def test_of(measure: str) -> tuple[Test | None, int]:
    """The test that a measure belongs to, and its direction; none and 0 where no paper gives one."""
    challenge, _, rest = measure.partition(".")
    for test in TESTS:
        if test.challenge == challenge and (direction := test.direction(rest)):
            return test, direction
    return None, 0


def kept(measure: str) -> bool:
    """Whether a measure is about a model's attention: not about other explainers, and no check of their scores."""
    challenge, _, rest = measure.partition(".")
    if challenge in NO_TESTS:
        return False
    return challenge in ("importance", "agreement") or rest.startswith("attention") or "." not in rest
