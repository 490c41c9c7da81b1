"""How the tests that train other models are read: Wiegreffe & Pinter's four, and random weights in training."""

from __future__ import annotations

from attentest.report.four_lines import carries_line, luck_line, needed_line, unique_line
from attentest.report.readings.reading import Caption, Column, Plot, Reading, Results
from attentest.report.verdict import Line
from attentest.store.findings import Findings

__all__ = ["ADVERSARIAL_TRAINING", "GUIDE", "SEED_VARIANCE", "TRAINED_RANDOM", "TRAINED_UNIFORM"]

TRAINED_UNIFORM = Reading(
    "trained_uniform",
    columns=(
        Column("label", "int32", "the gold class"),
        Column("change", "double", "total variation distance between the two models' predictions"),
        Column("attention_jsd", "double", "Jensen–Shannon divergence (nats) of the model's weights from uniform ones"),
        Column("correct", "bool", "whether the model is right"),
        Column("correct_uniform", "bool", "whether the model trained with uniform weights is"),
        Column("predicted_uniform", "int32", "what that model predicts"),
        Column("lost", "double", "`correct − correct_uniform`: 1, 0 or −1"),
    ),
    lines=(lambda found, results: needed_line(found, results.seeds, results.wording),),
    in_study={"lost": "accuracy lost, trained uniform"},
)

TRAINED_RANDOM = Reading(
    "trained_random",
    columns=(
        Column("label", "int32", "the gold class"),
        Column("change", "double", "total variation distance between the two models' predictions"),
        Column(
            "attention_jsd",
            "double",
            "Jensen–Shannon divergence (nats) of the model's weights from the random ones",
        ),
        Column("correct", "bool", "whether the model is right"),
        Column("correct_random", "bool", "whether the model trained with random weights is"),
        Column("predicted_random", "int32", "what that model predicts"),
        Column("lost", "double", "`correct − correct_random`: 1, 0 or −1"),
    ),
)


def _luck(seed_variance: Findings, results: Results) -> Line | None:
    return None if results.seeds is None else luck_line(seed_variance, results.seeds, results.wording)


def _seeds_figures() -> tuple[Plot, ...]:
    from attentest.report.four_figures import seed_violins

    return (
        Plot(
            "seeds",
            "attention_jsd",
            lambda found, results: seed_violins(found, results.wording),
            Caption(
                "How much does attention vary over seeds?",
                "The same model was trained again from other seeds. Left: how far each {w.unit}’s attention lies "
                "from theirs (JSD, at most 0.693); right: how far its prediction does (TVD). A mean over the "
                "other seeds for each {w.unit}; {w.units} with one dominant weight are in the top row. The thick "
                "mark is the median. Attention that moves while predictions stay is specific to its seed.",
            ),
            lambda found, results: seed_violins(found, results.wording, columns=1),
            wide=True,
            section="tests",
        ),
    )


SEED_VARIANCE = Reading(
    "seed_variance",
    rows="One row per text. Lists hold one entry for each of the other seeds.",
    columns=(
        Column("label", "int32", "the gold class"),
        Column("max_attention", "double", "the model's largest weight"),
        Column(
            "attention_jsd",
            "double",
            "Jensen–Shannon divergence (nats) of the other seeds' weights from the model's, mean over seeds",
        ),
        Column(
            "prediction_tvd",
            "double",
            "total variation distance of their predictions from the model's, mean over seeds",
        ),
        Column("attention_jsd_by_seed", "list of double", "the former for each seed"),
        Column("prediction_tvd_by_seed", "list of double", "the latter for each seed"),
        Column("correct", "bool", "whether the model is right"),
        Column("correct_others", "double", "the share of the other seeds that are"),
        Column("predicted_by_seed", "list of int32", "what each of them predicts"),
        Column("top_changed", "double", "the share of the other seeds in which another token has the largest weight"),
        Column("top_changed_by_seed", "list of double", "the same, for every other seed: 1 or 0"),
    ),
    lines=(_luck,),
    figures=_seeds_figures,
    in_study={"attention_jsd": "JSD to other seeds"},
)


def _guide_figures() -> tuple[Plot, ...]:
    from attentest.report.four_figures import guide_scores

    return (
        Plot(
            "guide",
            "gained",
            lambda found, _: guide_scores(found),
            Caption(
                "Do the weights help a model that has no context?",
                "A simple model sees each word in isolation and averages under given weights. If the "
                "audited model’s weights make it better than uniform ones, they carry information about the "
                "words; if they beat weights it learns itself, they carry something it could not learn; if an "
                "adversary’s do as well, the information is not specific to this attention. Weights come from a "
                "model that has read the whole text, so part of what they carry may be its answer. The dashed "
                "line is the audited model.",
            ),
            section="tests",
        ),
    )


GUIDE = Reading(
    "guide",
    rows=(
        "One row per text. The network without context is named by the weights it is given: `uniform`, its "
        "`own`, the `model`'s, the `adversary`'s."
    ),
    columns=(
        Column("label", "int32", "the gold class"),
        Column("correct", "bool", "whether the model itself is right"),
        Column("correct_uniform", "bool", "whether the network without context is, under uniform weights"),
        Column("correct_own", "bool", "the same under weights it learnt itself"),
        Column("correct_model", "bool", "the same under the model's weights"),
        Column("correct_adversary", "bool", "the same under the adversary's weights"),
        Column("predicted_uniform", "int32", "what it predicts under uniform weights"),
        Column("predicted_own", "int32", "the same under weights it learnt itself"),
        Column("predicted_model", "int32", "the same under the model's weights"),
        Column("predicted_adversary", "int32", "the same under the adversary's weights"),
        Column("gained", "double", "`correct_model − correct_uniform`: 1, 0 or −1"),
        Column("over_own", "double", "`correct_model − correct_own`"),
        Column("over_adversary", "double", "`correct_model − correct_adversary`"),
    ),
    lines=(lambda found, results: carries_line(found, results.seeds, results.wording),),
    figures=_guide_figures,
    in_study={"gained": "accuracy gained by a guided MLP"},
)


def _unique(adversarial_training: Findings, results: Results) -> Line | None:
    found = results.found
    return unique_line(adversarial_training, found.get("seed_variance"), found.get("guide"), results.wording)


def _adversarial_training_figures() -> tuple[Plot, ...]:
    from attentest.report.four_figures import imitation_curve

    beside = ("seed_variance", "trained_uniform", "adversary")
    return (
        Plot(
            "curve",
            "tvd",
            lambda found, results: imitation_curve(found, **{name: results.found.get(name) for name in beside}),
            Caption(
                "Could a model attend elsewhere and predict the same?",
                "Each adversary was trained to predict as the model does but attend elsewhere; λ weighs the second "
                "aim. Other "
                "seeds of the model are the yardstick: models in the grey corner attend farther away than they do "
                "while their "
                "predictions stay as close. Adversaries inside it are alternatives to this attention. A curve that "
                "passes above the "
                "corner means that no other attention gives these predictions. Bars are 95 % intervals over "
                "{w.units}. Weights found for single {w.units} belong to "
                "no trained model; they are shown for comparison.",
            ),
            section="tests",
        ),
    )


ADVERSARIAL_TRAINING = Reading(
    "adversarial_training",
    rows=(
        "One row per text and λ, in the order of the parameter `weights`. Lists hold one entry for each of "
        "the adversary's seeds."
    ),
    columns=(
        Column("weight", "string", "λ, such as `0.01`"),
        Column("label", "int32", "the gold class"),
        Column(
            "tvd",
            "double",
            "total variation distance of the adversary's prediction from the model's, mean over its seeds",
        ),
        Column(
            "jsd",
            "double",
            "Jensen–Shannon divergence (nats) of its weights from the model's, mean over its seeds",
        ),
        Column("tvd_by_seed", "list of double", "the former for each seed"),
        Column("jsd_by_seed", "list of double", "the latter for each seed"),
        Column("correct", "bool", "whether the model is right"),
        Column("correct_adversary", "double", "the share of the adversary's seeds that are"),
        Column("predicted_by_seed", "list of int32", "what each of them predicts"),
        Column("max_attention", "double", "the model's largest weight"),
    ),
    lines=(_unique,),
    figures=_adversarial_training_figures,
)
