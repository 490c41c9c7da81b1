"""What people see of seed_variance: lines, figures, columns."""

from __future__ import annotations

from attentest.challenges.trained_models import TESTS
from attentest.presentation.line import Line
from attentest.presentation.presentation import Caption, Column, Plot, Presentation, Results
from attentest.presentation.seeds import Seeds, with_seeds
from attentest.presentation.thresholds import said, tone_of
from attentest.store.findings import Findings
from attentest.tasks import TEXTS, Wording

__all__ = ["PRESENTATION", "luck_line"]


def luck_line(seed_variance: Findings, seeds: Seeds, wording: Wording = TEXTS) -> Line:
    """How much of attention is luck? How often another seed puts another word first."""
    changed = with_seeds(seed_variance, "top_changed")
    words = {
        "supports": f"Other seeds put the same {wording.item} first: this attention varies little.",
        "against": f"Another seed would more often than not put another {wording.item} first: the attention shown is "
        "specific to this seed.",
        "mixed": f"Another seed would often put another {wording.item} first.",
        "unsettled": "The interval crosses a threshold: more seeds would tell.",
    }
    tone = tone_of("luck", changed)
    spread = f" ({seeds.each_jsd.min():.2f} to {seeds.each_jsd.max():.2f} by seed)" if seeds.others > 1 else ""
    reading = (
        f"{said(words, 'luck', tone, changed, wording)} From seed to seed attention moves by a JSD of "
        f"{seeds.jsd.value:.2f}{spread}, predictions by a TVD of {seeds.tvd.value:.3f}."
    )
    question = "How much does attention vary over seeds? (seed variance)"
    result = f"{changed} of other seeds put another {wording.item} first ({seeds.others} of them)"
    return Line("luck", question, result, reading, tone, changed, "setting", "Do other seeds look elsewhere?")


def _luck(seed_variance: Findings, results: Results) -> Line | None:
    return None if results.seeds is None else luck_line(seed_variance, results.seeds, results.wording)


def _figures() -> tuple[Plot, ...]:
    from attentest.challenges.seed_variance.figures import seed_violins

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


PRESENTATION = Presentation(
    "seed_variance",
    place=250,
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
    sections=(TESTS,),
    figures=_figures,
    in_study={"attention_jsd": "JSD to other seeds"},
)
