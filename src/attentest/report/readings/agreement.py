"""How the model's own answers, and how explainers agree, are read."""

from __future__ import annotations

from functools import partial

from attentest.report.accuracy import accuracy_line
from attentest.report.agreement_lines import deletion_line, gradient_line, states_line, tokens_line
from attentest.report.held import held_line
from attentest.report.readings.reading import NARROW, Caption, Column, Plot, Reading

__all__ = ["AGREEMENT", "INSTANCES"]

INSTANCES = Reading(
    "instances",
    rows="One row per text. Lists hold one entry per real token.",
    columns=(
        Column("tokens", "list of string", "the tokens"),
        Column("label", "int32", "the gold class"),
        Column("correct", "bool", "whether the prediction is the gold class"),
        Column("confidence", "double", "the probability of the predicted class"),
        Column(
            "probabilities",
            "list of double",
            "the predicted distribution, one entry per class; only where there are at most 100 classes",
        ),
        Column("max_attention", "double", "the largest attention weight"),
        Column("attention", "list of double", "the attention weights"),
        Column(
            "token_logits",
            "list of list of double",
            "$z_t$, one per token and class; only where the head is affine",
        ),
        Column("gradient", "list of double", "scores of [that explainer](generated/explainers.md#gradient)"),
        Column(
            "gradient_state",
            "list of double",
            "scores of [that explainer](generated/explainers.md#gradient_state)",
        ),
        Column("leave_one_out", "list of double", "scores of [that explainer](generated/explainers.md#leave_one_out)"),
        Column("state_erasure", "list of double", "scores of [that explainer](generated/explainers.md#state_erasure)"),
        Column(
            "state_evidence",
            "list of double",
            "scores of [that explainer](generated/explainers.md#state_evidence)",
        ),
        Column("rationale", "list of bool", "the marked tokens; only where the corpus has marks"),
    ),
    notes=(
        "Of Transformers checkpoints there is also `on_words` (double), the share of the attention that lies "
        "on words; the rest, on special tokens, a prompt or a second text, is held.\n\n"
        "Of pairs of texts there is also `second`, the tokens of the second text, and for every explainer "
        "named in `second_explainers` a list of scores of these tokens, such as `second_gradient`.\n\n"
        "Of translations a row is a step: a sentence and the words written so far (`second`). `label` and "
        "`predicted` are then words by their numbers; `word` is the word to write and `written` the one the "
        "model finds most likely. There are no `probabilities` and no `token_logits`, one for every word of "
        "the language."
    ),
    lines=(
        lambda found, results: accuracy_line(found, results.wording),
        lambda found, results: held_line(found, results.wording),
    ),
    tabled=True,
    in_study={"accuracy": "accuracy"},
)


def _agreement_figures() -> tuple[Plot, ...]:
    from attentest.report.figures import PAIRS, agreement_overview, tau_histograms

    narrow = partial(tau_histograms, columns=1)
    return (
        Plot(
            "tau",
            "tau",
            lambda found, results: tau_histograms(found, results.palette, results.wording),
            Caption(
                "Do attention and other scores rank the words the same?",
                "Each {w.unit} gives one Kendall τ: 1 if both scores put its words in the same order, 0 if the "
                "orders are unrelated, −1 if they are reversed. Values far from 1 mean that attention and the other "
                "score tell different stories. The control shows how well two scores other than attention agree. "
                "Dashed lines are means; sig. is the share with p ≤ .05.",
            ),
            lambda found, results: narrow(found, results.palette, results.wording),
            wide=True,
            pairs=PAIRS,
        ),
        Plot(
            "overview",
            "tau",
            lambda found, results: agreement_overview(found, results.wording),
            Caption(
                "How large is each agreement, and how sure is it?",
                "Black: choose the top words by the first score and see how much of the second they hold; 1 is the "
                "best choice, 0 a random one; attention ↔ state erasure and ↔ gradient state have the weight "
                "itself as a factor: peaked weights agree with them whether they are right or not. The verdict "
                "reads the black numbers, because Kendall τ weighs every pair of words equally, even words that do "
                "not matter. Dots are means over {w.units}, bars their 95 % intervals; a bar that "
                "cannot be seen is narrower than its dot. The control does not involve attention.",
            ),
            lambda found, results: agreement_overview(found, results.wording, width=NARROW),
        ),
    )


AGREEMENT = Reading(
    "agreement",
    rows="One row per text and pair.",
    columns=(
        Column(
            "pair",
            "string",
            "two explainers, such as `attention~gradient`; `attention~state_erasure` and "
            "`state_erasure~leave_one_out` are read in the verdict",
        ),
        Column("tokens", "int32", "the number of tokens"),
        Column("tau", "double", "Kendall's τ-b"),
        Column("p_value", "double", "its two-sided p-value"),
        Column("significant", "bool", "whether the p-value is at most `level`"),
        Column(
            "captured",
            "double",
            "how much of the second score the top `k` tokens of the first (at most half of the text's) "
            "hold: 0 a blind choice, 1 the best, at least −1; null for one token and where every choice "
            "holds the same",
        ),
        Column("spearman", "double", "Spearman's ρ"),
        Column("top_k_overlap", "double", "share of the top `k` tokens that both rankings have"),
        Column("rank_biased_overlap", "double", "rank-biased overlap, 0 to 1"),
    ),
    lines=(
        lambda found, results: states_line(found, results.found.get("permutation"), results.wording),
        lambda found, results: tokens_line(found, layered=results.site is not None, wording=results.wording),
        lambda found, results: gradient_line(found, results.wording),
        lambda found, results: deletion_line(found, results.wording),
    ),
    figures=_agreement_figures,
    in_study={
        "attention~gradient.tau": "τ(attention, gradient)",
        "attention~leave_one_out.tau": "τ(attention, deletion)",
    },
)
