"""The predictions of the studies limits*, judged by the rules in their files, from the figures of limits.csv."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

Row = dict[str, Any]
Outcome = Literal["met", "missed", "unsettled"]

#: What knows nothing of the model, beside explainers.
BASELINES = ("first_words", "random")
CORPORA = {"sst": "SST", "yelp_hat": "Yelp-HAT", "20news": "20 Newsgroups", "imdb": "IMDB"}
#: Of models that were trained on SNLI itself, and asked about its edits.
BY_SNLI = "cad_snli, trained on SNLI"
EDITED = {"cad_imdb": "IMDB, edited", "cad_snli": "SNLI, edited", BY_SNLI: "SNLI, edited, trained on SNLI"}
EXPLAINERS = {
    "attention": "attention",
    "gradient": "gradient",
    "gradient_norm": "gradient norm",
    "gradient_x_input": "gradient × input",
    "integrated_gradients": "integrated gradients",
    "lrp": "LRP",
    "leave_one_out": "leave one out",
}
#: Those that were asked about people's edits last.
OTHERS = {
    "attention_x_gradient": "attention × gradient",
    "attention_x_value_norm": "attention × norm",
    "state_evidence": "state evidence",
    "state_erasure": "state erasure",
    "gradient_state": "gradient × state",
    "smooth_grad": "SmoothGrad",
    "deep_lift": "DeepLIFT",
    "deletion": "deletion",
    "occlusion": "occlusion",
    "lime": "LIME",
    "kernel_shap": "KernelSHAP",
    "information_bottleneck": "information bottleneck",
    "diffmask": "DiffMask",
}
SIZES = ("0.01", "0.03", "0.1")
#: The parts of the table on fragility: the first explainers, and those that have a study of their own.
FRAGILITY, GRADIENT, RELEVANCE = "fragility", "fragility of the gradient", "fragility of relevance"
#: What the study of relevance asks about beside attention and gradient × input.
RELAYED = ("attention_x_gradient", "smooth_grad", "lrp", "deep_lift")
#: By how much it moves embeddings.
RELAYED_BY = ("0.01", "0.1")


class Table:
    """The committed figures, found by where they stand."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = {
            (row["part"], row["corpus"], row["explainer"], row["at"], row["measure"]): row for row in rows
        }  # fmt: skip

    def __call__(self, part: str, corpus: str, explainer: str = "", at: str = "", measure: str = "") -> Row:
        """A row."""
        return self._rows[part, corpus, explainer, at, measure]

    def bounds(self, *where: str) -> tuple[float, float]:
        """The interval of a figure."""
        row = self(*where)
        return float(row["low"]), float(row["high"])

    def value(self, *where: str) -> float:
        """The figure."""
        return float(self(*where)["value"])


def below(bounds: tuple[float, float], limit: float) -> Outcome:
    """Whether a figure lies below a limit, interval included."""
    low, high = bounds
    return "met" if high < limit else "missed" if low >= limit else "unsettled"


def at_least(bounds: tuple[float, float], limit: float) -> Outcome:
    """Whether a figure is at least so large, interval included."""
    return opposite(below(bounds, limit))


def above(bounds: tuple[float, float], limit: float = 0.0) -> Outcome:
    """Whether a figure lies above a limit, interval included."""
    low, high = bounds
    return "met" if low > limit else "missed" if high <= limit else "unsettled"


def within(bounds: tuple[float, float], limit: float) -> Outcome:
    """Whether a figure lies within a limit of zero, interval included."""
    low, high = bounds
    return "met" if -limit <= low and high <= limit else "missed" if low > limit or high < -limit else "unsettled"


def opposite(outcome: Outcome) -> Outcome:
    """What was predicted not to be so."""
    return {"met": "missed", "missed": "met", "unsettled": "unsettled"}[outcome]  # type: ignore[return-value]


def not_shown(outcome: Outcome) -> Outcome:
    """What was predicted not to be shown: unsettled will do."""
    return "missed" if outcome == "met" else "met"


def both(*outcomes: Outcome) -> Outcome:
    """All of them met; missed where one is."""
    return "missed" if "missed" in outcomes else "unsettled" if "unsettled" in outcomes else "met"


def fragile(table: Table, corpus: str, explainer: str, size: str, part: str = FRAGILITY) -> Outcome:
    """Whether a searched change leaves at most half of the top words, and random ones leave .8."""
    searched = table.bounds(part, corpus, explainer, f"searched {size}", "overlap")
    random = table.bounds(part, corpus, explainer, f"random {size}", "overlap")
    most: Outcome = "met" if searched[1] <= 0.5 else "missed" if searched[0] > 0.5 else "unsettled"
    return both(most, at_least(random, 0.8))


def points(table: Table, corpus: str, explainer: str) -> Outcome:
    """Whether an explainer finds edited words better than chance and than the first words, where predictions follow."""
    where = ("followed", "average_precision")
    return both(
        *(above(table.bounds("edits", corpus, f"{explainer} − {o}", *where)) for o in ("chance", "first_words"))
    )


def finds(table: Table, corpus: str, explainer: str) -> Outcome:
    """Whether a model trained without an explainer's words is less accurate than one without random words."""
    return below(table.bounds("roar", corpus, f"{explainer} − random", "retrained", "correct"), 0.0)


Case = tuple[str, Outcome]


def of_randomisation(table: Table) -> Iterator[tuple[str, list[Case]]]:
    """Randomised weights, and a moved origin."""
    yield (
        "With everything random, every explainer's ρ lies below .3, on every corpus",
        [
            (
                f"{EXPLAINERS[e]}, {CORPORA[c]}",
                below(table.bounds("randomisation", c, e, "everything", "spearman"), 0.3),
            )
            for e in EXPLAINERS
            for c in CORPORA
        ],
    )
    yield (
        "Attention has ρ = 1 after the head alone is random",
        [
            (CORPORA[c], at_least(table.bounds("randomisation", c, "attention", "head", "spearman"), 0.9995))
            for c in CORPORA
        ],
    )
    stay = ("attention", "gradient_norm", "leave_one_out")
    yield (
        "With the origin moved, attention, gradient norm and leave one out stay for 95 % of texts",
        [
            (f"{EXPLAINERS[e]}, {CORPORA[c]}", at_least(table.bounds("input_invariance", c, e, "", "invariant"), 0.95))
            for e in stay
            for c in CORPORA
        ],
    )
    yield (
        "Gradient, gradient × input, integrated gradients and LRP do not: under 10 % of their texts stay",
        [
            (f"{EXPLAINERS[e]}, {CORPORA[c]}", below(table.bounds("input_invariance", c, e, "", "invariant"), 0.1))
            for e in EXPLAINERS
            if e not in stay
            for c in CORPORA
        ],
    )


def of_edits(table: Table) -> Iterator[tuple[str, list[Case]]]:
    """People's edits."""
    followed = {c: table.bounds("edits", c, "", "", "followed") for c in EDITED}
    yield "Predictions follow at least 60 % of IMDB's edits", [("", at_least(followed["cad_imdb"], 0.6))]
    yield "Predictions follow fewer than 50 % of SNLI's edits", [("", below(followed["cad_snli"], 0.5))]
    yield (
        "Every explainer points at the edited words of IMDB: above chance, and above first words",
        [(name, points(table, "cad_imdb", e)) for e, name in EXPLAINERS.items()],
    )
    yield (
        "On IMDB, leave one out finds them best",
        [
            (
                f"beside {name}",
                above(table.bounds("edits", "cad_imdb", f"leave_one_out − {e}", "followed", "average_precision")),
            )
            for e, name in EXPLAINERS.items()
            if e != "leave_one_out"
        ],
    )
    yield "On SNLI, attention does not point at them", [("", not_shown(points(table, "cad_snli", "attention")))]
    yield (
        "On IMDB, every explainer finds them better where the prediction followed than where it did not",
        [
            (
                name,
                above(table.bounds("edits", "cad_imdb", f"{e} − {e}", "followed − not followed", "average_precision")),
            )
            for e, name in EXPLAINERS.items()
        ],
    )


def of_edits_by_snli(table: Table) -> Iterator[tuple[str, list[Case]]]:
    """People's edits of SNLI, of models that were trained on SNLI."""
    right, followed = (
        table.bounds("accuracy", BY_SNLI, "", "", "correct"),
        table.bounds("edits", BY_SNLI, "", "", "followed"),
    )
    yield (
        "Trained on SNLI: .50 to .62 of its edited pairs are predicted right",
        [("", both(at_least(right, 0.5), below(right, 0.62)))],
    )
    yield "… 20 to 40 % of the edits are followed", [("", both(at_least(followed, 0.2), below(followed, 0.4)))]
    yield (
        "… attention and leave one out point at the edited words",
        [(EXPLAINERS[e], points(table, BY_SNLI, e)) for e in ("attention", "leave_one_out")],
    )


def of_edits_by_others(table: Table) -> Iterator[tuple[str, list[Case]]]:
    """People's edits, and the explainers that were asked last."""

    def apart(explainers: str, at: str = "followed") -> tuple[float, float]:
        return table.bounds("edits", "cad_imdb", explainers, at, "average_precision")

    yield (
        "Each of the other explainers points at the edited words of IMDB: above chance, and above first words",
        [(name, points(table, "cad_imdb", e)) for e, name in OTHERS.items()],
    )
    yield (
        "… and finds them better where the prediction followed than where it did not",
        [(name, above(apart(f"{e} − {e}", "followed − not followed"))) for e, name in OTHERS.items()],
    )
    yield (
        "On IMDB, LRP finds them better than each of the others",
        [(f"beside {name}", above(apart(f"lrp − {e}"))) for e, name in OTHERS.items()],
    )
    yield (
        "On IMDB, LIME and KernelSHAP find them better than leave one out",
        [(OTHERS[e], above(apart(f"{e} − leave_one_out"))) for e in ("lime", "kernel_shap")],
    )
    yield (
        "Trained on SNLI, deletion, occlusion, LIME and KernelSHAP point at the edited words",
        [(OTHERS[e], points(table, BY_SNLI, e)) for e in ("deletion", "occlusion", "lime", "kernel_shap")],
    )
    yield (
        "… attention × norm and DiffMask do not",
        [(OTHERS[e], not_shown(points(table, BY_SNLI, e))) for e in ("attention_x_value_norm", "diffmask")],
    )


def of_fragility(table: Table) -> Iterator[tuple[str, list[Case]]]:
    """Small changes of embeddings."""
    asked = [e for e in EXPLAINERS if e in ("attention", "gradient_norm", "gradient_x_input", "integrated_gradients")]
    yield (
        "Moved by .1, gradient norm, gradient × input and integrated gradients are fragile, on every corpus",
        [(f"{EXPLAINERS[e]}, {CORPORA[c]}", fragile(table, c, e, "0.1")) for e in asked[1:] for c in CORPORA],
    )
    apart = "attention − gradient_x_input"
    yield (
        "Attention is less fragile than gradient × input, at every size and on every corpus",
        [
            (f"{CORPORA[c]}, {size}", above(table.bounds(FRAGILITY, c, apart, f"searched {size}", "overlap")))
            for c in CORPORA
            for size in SIZES
        ],
    )
    yield (
        "Random changes of .01 leave at least .95 of every explainer's top words",
        [
            (
                f"{EXPLAINERS[e]}, {CORPORA[c]}",
                at_least(table.bounds(FRAGILITY, c, e, "random 0.01", "overlap"), 0.95),
            )
            for e in asked
            for c in CORPORA
        ],
    )


def of_the_gradient(table: Table) -> Iterator[tuple[str, list[Case]]]:
    """The same of the gradient with attention held fixed."""

    def apart(corpus: str, explainers: str) -> tuple[float, float]:
        return table.bounds(GRADIENT, corpus, explainers, "searched 0.1", "overlap")

    yield (
        "Moved by .1, the gradient keeps as much of its top words as gradient × input, to within .1, on every corpus",
        [(CORPORA[c], within(apart(c, "gradient − gradient_x_input"), 0.1)) for c in CORPORA],
    )
    beside = {c: above(apart(c, "attention − gradient")) for c in CORPORA}
    yield (
        "Moved by .1, attention is less fragile than the gradient on SST, 20 Newsgroups and IMDB",
        [(CORPORA[c], outcome) for c, outcome in beside.items() if c != "yelp_hat"],
    )
    yield (
        "It is not shown to be on Yelp-HAT",
        [("", not_shown(beside["yelp_hat"]))],
    )
    yield (
        "Random changes of .01 leave at least .95 of the gradient's top words, on every corpus",
        [
            (CORPORA[c], at_least(table.bounds(GRADIENT, c, "gradient", "random 0.01", "overlap"), 0.95))
            for c in CORPORA
        ],
    )


def of_relevance(table: Table) -> Iterator[tuple[str, list[Case]]]:
    """The same of relevance, of smoothed gradients, and of attention × gradient."""
    names, relevance = EXPLAINERS | OTHERS, ("lrp", "deep_lift")

    def apart(corpus: str, explainers: str) -> tuple[float, float]:
        return table.bounds(RELEVANCE, corpus, explainers, "searched 0.1", "overlap")

    yield (
        "Moved by .1, SmoothGrad is less fragile than gradient × input, on every corpus",
        [(CORPORA[c], above(apart(c, "smooth_grad − gradient_x_input"))) for c in CORPORA],
    )
    yield (
        "Moved by .1, LRP and DeepLIFT are less fragile than gradient × input, on every corpus",
        [(f"{names[e]}, {CORPORA[c]}", above(apart(c, f"{e} − gradient_x_input"))) for e in relevance for c in CORPORA],
    )
    beside = {(c, e): above(apart(c, f"attention − {e}")) for c in ("sst", "yelp_hat") for e in relevance}
    yield (
        "Moved by .1, attention is less fragile than LRP and DeepLIFT on SST",
        [(names[e], beside["sst", e]) for e in relevance],
    )
    yield (
        "It is not shown to be less fragile than they are on Yelp-HAT",
        [(names[e], not_shown(beside["yelp_hat", e])) for e in relevance],
    )
    yield (
        "Moved by .1, LRP and DeepLIFT are fragile on Yelp-HAT",
        [(names[e], fragile(table, "yelp_hat", e, "0.1", RELEVANCE)) for e in relevance],
    )
    yield (
        "They are not on SST",
        [(names[e], opposite(fragile(table, "sst", e, "0.1", RELEVANCE))) for e in relevance],
    )
    yield (
        "Moved by .1, attention × gradient keeps as much of its top words as attention, to within .1, on every corpus",
        [(CORPORA[c], within(apart(c, "attention_x_gradient − attention"), 0.1)) for c in CORPORA],
    )
    yield (
        "Random changes of .01 leave at least .95 of the top words of all of these, on every corpus",
        [
            (
                f"{names[e]}, {CORPORA[c]}",
                at_least(table.bounds(RELEVANCE, c, e, "random 0.01", "overlap"), 0.95),
            )
            for e in ("attention", "gradient_x_input", *RELAYED)
            for c in CORPORA
        ],
    )


def of_roar(table: Table) -> Iterator[tuple[str, list[Case]]]:
    """Remove and retrain. Where a rule asks for so many corpora, one line counts them."""
    yield (
        "Trained without attention's or gradient norm's words, models are less accurate than without random ones",
        [
            (f"{EXPLAINERS[e]}, {CORPORA[c]}", finds(table, c, e))
            for e in ("attention", "gradient_norm")
            for c in CORPORA
        ],
    )
    without = sum(finds(table, c, "gradient_x_input") != "met" for c in CORPORA)
    yield (
        "Without those of gradient × input they are not, on at least two of four corpora",
        [(f"{without} of four", "met" if without >= 2 else "missed")],
    )
    more = [above(table.bounds("roar", c, "attention", "retrained − whole", "correct")) for c in CORPORA]
    needed: Outcome = (
        "met" if more.count("met") >= 3 else "missed" if more.count("missed") >= 2 else "unsettled"
    )  # fmt: skip
    yield (
        "Erasing attention's words at test time overstates what they are needed for, on at least three of four corpora",
        [(f"{more.count('met')} of four", needed)],
    )


def of_interactions(table: Table) -> Iterator[tuple[str, list[Case]]]:
    """Pairs of words."""

    def bounds(corpus: str, measure: str) -> tuple[float, float]:
        return table.bounds("interactions", corpus, "pairwise_occlusion", "", measure)

    yield (
        "At least a quarter of a text's pairs of words interact, on every corpus",
        [(CORPORA[c], at_least(bounds(c, "interacting"), 0.25)) for c in CORPORA],
    )
    yield (
        "In fewer than three of four texts the pair that matters most is that of the two top words, on every corpus",
        [(CORPORA[c], below(bounds(c, "top_pair"), 0.75)) for c in CORPORA],
    )
    yield (
        "On SST, pairs with a negator interact more often than other pairs of the same text",
        [("", above(bounds("sst", "negated − others")))],
    )


PARTS: tuple[tuple[str, Callable[[Table], Iterator[tuple[str, list[Case]]]]], ...] = (
    ("randomisation", of_randomisation),
    ("edits", of_edits),
    ("edits, trained on SNLI", of_edits_by_snli),
    ("edits, the other explainers", of_edits_by_others),
    (FRAGILITY, of_fragility),
    (GRADIENT, of_the_gradient),
    (RELEVANCE, of_relevance),
    ("roar", of_roar),
    ("interactions", of_interactions),
)


def predictions(rows: Sequence[Row]) -> list[tuple[str, str, Outcome, list[Case]]]:
    """Every prediction: the part, what was predicted, what came out, and case by case."""
    table = Table(rows)
    return [
        (part, words, both(*(outcome for _, outcome in cases)), cases)
        for part, judged in PARTS
        for words, cases in judged(table)
    ]
