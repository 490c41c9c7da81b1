"""How tests of explainers are read: what their top words do, and whether their scores can be trusted."""

from __future__ import annotations

from attentest.report.readings.reading import NARROW, Caption, Column, Plot, Reading
from attentest.report.saliency import Compared, saliency_line

__all__ = ["CERTIFICATES", "FAITHFULNESS", "INPUT_INVARIANCE", "RANDOMISATION", "SOFT_FAITHFULNESS"]


def _faithfulness_figures() -> tuple[Plot, ...]:
    from attentest.report.figures import faithfulness_overview

    return (
        Plot(
            "saliency",
            "normalised_comprehensiveness",
            lambda found, _: faithfulness_overview(found),
            Caption(
                "Whose top words matter most to the prediction?",
                "The top words of each explainer are erased, from 1 to 50 % of a text, and the drop of the "
                "predicted probability is averaged. 1 is the largest drop that was found for as many words of "
                "that text, 0 the smallest (exact for short texts, otherwise the furthest that any order tried "
                "went); the dashed line is a random order. An explainer to the right points at words the prediction "
                "depends on. Erased texts are out of distribution, so this is evidence, not proof. Bars are 95 % "
                "intervals.",
            ),
            lambda found, _: faithfulness_overview(found, width=NARROW),
            applies=lambda found: Compared.of(found) is not None,
        ),
    )


FAITHFULNESS = Reading(
    "faithfulness",
    rows=(
        "One row per text, explainer and way of erasing. Drops are of the probability of the predicted "
        "class; bins are the challenge's parameter `bins`."
    ),
    columns=(
        Column(
            "explainer",
            "string",
            "whose top tokens are erased; `marks`: the marked tokens, where the corpus has any",
        ),
        Column("erasure", "string", "how they are erased"),
        Column(
            "signed",
            "bool",
            "whether the explainer's scores have a sign, so that it can put last what speaks against the class",
        ),
        Column(
            "made_of_erasure",
            "bool",
            "whether the explainer is made of erasing as the test does: `leave_one_out`, `deletion` and "
            "`occlusion`; with `zero_attention` those made of the weights or of erasing states",
        ),
        Column("tokens", "int32", "the number of tokens"),
        Column(
            "normalised_comprehensiveness",
            "double",
            "`comprehensiveness` between the least and the most that was found: 0 at "
            "`least_comprehensiveness`, 1 at `most_comprehensiveness`, exact where `enumerated`; null "
            "where these differ by less than .001",
        ),
        Column(
            "normalised_sufficiency",
            "double",
            "`sufficiency` between the least and the most that was found, turned round: 1 at `least_sufficiency`",
        ),
        Column("comprehensiveness", "double", "drop without the top tokens, mean over bins"),
        Column("sufficiency", "double", "drop with the top tokens alone, mean over bins"),
        Column("without", "list of double", "the probability without the top tokens, one for each bin"),
        Column("only", "list of double", "the probability with the top tokens alone, one for each bin"),
        Column("flipped", "bool", "whether the decision flips at any of `bins` and `flip_bins`"),
        Column(
            "flip_fraction",
            "double",
            "share of tokens removed where it first flips; null where it never does (Serrano & Smith 2019)",
        ),
        Column("until_flip", "double", "the same, 1 where it never flips (Mohankumar et al. 2020)"),
        Column(
            "random_normalised_comprehensiveness",
            "double",
            "this and the following: the mean of `draws` random orders",
        ),
        Column("random_normalised_sufficiency", "double", ""),
        Column("random_comprehensiveness", "double", ""),
        Column(
            "least_comprehensiveness",
            "double",
            "the smallest drop that removing as many tokens, in nested sets, was found to make",
        ),
        Column("most_comprehensiveness", "double", "the largest"),
        Column("random_sufficiency", "double", "the mean of `draws` random orders"),
        Column("least_sufficiency", "double", "the smallest drop that as many tokens alone were found to leave"),
        Column("most_sufficiency", "double", "the largest"),
        Column("random_until_flip", "double", "the mean of `draws` random orders"),
        Column(
            "best_until_flip",
            "double",
            "the smallest `until_flip` of all orders tried: the explainers', the searched and the random ones",
        ),
        Column("enumerated", "bool", "whether the limits are exact, from all sets of tokens"),
        Column(
            "search_beaten",
            "bool",
            "whether some explainer went beyond all searched and random orders by more than .01",
        ),
    ),
    lines=(lambda found, results: saliency_line(found, results.wording, results.failed),),
    figures=_faithfulness_figures,
)

SOFT_FAITHFULNESS = Reading(
    "soft_faithfulness",
    rows="One row per text and explainer.",
    columns=(
        Column("explainer", "string", "whose scores are the chances"),
        Column(
            "soft_comprehensiveness",
            "double",
            "what is lost when numbers are zeroed with the score as their chance, as a share of `lost_without_any`",
        ),
        Column(
            "soft_sufficiency",
            "double",
            "1 less what is lost when they are kept with that chance, as a share of `lost_without_any`",
        ),
        Column("random_soft_comprehensiveness", "double", "the same for the scores shuffled over the tokens"),
        Column("random_soft_sufficiency", "double", "the same for the scores shuffled over the tokens"),
        Column("erased", "double", "share of all numbers that is zeroed on average"),
        Column(
            "lost_without_any",
            "double",
            "what the predicted class's probability loses when every embedding is zero",
        ),
    ),
)

INPUT_INVARIANCE = Reading(
    "input_invariance",
    rows="One row per text and explainer.",
    columns=(
        Column("explainer", "string", "who was asked twice"),
        Column("largest_change", "double", "largest change of any score, as a share of the largest score"),
        Column("invariant", "bool", "whether that is at most `tolerance`"),
        Column("spearman", "double", "Spearman's ρ of the scores before and after the shift"),
        Column("top_changed", "bool", "whether another token has the largest score"),
        Column("output_change", "double", "largest change of a logit: rounding, because the model is the same"),
    ),
)

CERTIFICATES = Reading(
    "certificates",
    rows=(
        "One row per text, explainer and check. Gaps between scores (`loop_gap`, `repeat_gap`, `alone_gap`) "
        "are shares of the text's largest score; what a slope misses of the rise of the output along it "
        "(`slope_gap`) is a share of the slope; what a sum misses (`completeness_gap`, `summation_gap`) is "
        "a share of F(text) − F(no words), but in `conservation_gap`, which is in log-odds. What is absorbed "
        "(`absorbed_bias`, `absorbed_epsilon`, `absorbed_symbols`; by `attn_lrp` also `absorbed_positions`, "
        "`absorbed_softmax`, `absorbed_other_text`) is a share of all relevance, whatever its sign. Other "
        "checks are numbers of the [explainer's own](generated/explainers.md)."
    ),
    columns=(
        Column("explainer", "string", "whose scores are checked"),
        Column("check", "string", "what is checked"),
        Column("value", "double", "what came out; null, with the reason `outside the sample`, where it was not tried"),
        Column("limit", "double", "what the value may not exceed; null where it is merely good to know"),
        Column("within", "bool", "whether it does not"),
    ),
    tabled=True,
)


def _randomisation_figures() -> tuple[Plot, ...]:
    from attentest.report.randomisation_figure import randomisation_curve

    return (
        Plot(
            "randomisation",
            "spearman",
            lambda found, _: randomisation_curve(found),
            Caption(
                "Do scores change when the model is randomised?",
                "The model’s weights are randomised, from the head down until nothing learnt is left (or, on request, "
                "one part at "
                "a time), and every explainer scores the same words again. ρ is "
                "Spearman’s rank correlation with its scores for the trained model: 1 the same order of words, 0 "
                "(dashed) an unrelated one. Lines should fall: an explainer that stays the same for a random model "
                "explains the text, not the model. Bars are 95 % intervals; a bar that cannot be "
                "seen is narrower than its dot.",
            ),
        ),
    )


RANDOMISATION = Reading(
    "randomisation",
    rows="One row per text, explainer and layer.",
    columns=(
        Column("explainer", "string", "whose scores are compared"),
        Column(
            "layer",
            "string",
            "the part drawn anew last (`head`, `attention`, `encoder`; without `cascade` also "
            "`embedding`), or `everything`",
        ),
        Column("step", "int32", "its place in the order in which weights are drawn anew, from 1"),
        Column(
            "spearman",
            "double",
            "Spearman's ρ between the scores for the trained and for the random model, averaged over draws",
        ),
        Column("spearman_absolute", "double", "the same between the sizes of the scores, their signs aside"),
    ),
    figures=_randomisation_figures,
    tabled=True,
)
