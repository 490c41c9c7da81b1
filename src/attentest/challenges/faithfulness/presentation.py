"""What people see of faithfulness: lines, figures, columns."""

from __future__ import annotations

from typing import Any

from attentest.challenges.certificates.checks import checks_table, failed
from attentest.challenges.faithfulness.comparison import KINDS, RANDOM, Compared
from attentest.presentation.line import Line
from attentest.presentation.presentation import NARROW, Caption, Column, Plot, Presentation, Results, Section
from attentest.presentation.standings import ATTENTION, place, standing_cells
from attentest.presentation.text import interval_of, value_of
from attentest.presentation.thresholds import FEWEST, said, tone_of
from attentest.registry import name_in_words
from attentest.statistics.ranking import Ranking
from attentest.store.findings import Findings
from attentest.tasks import TEXTS, Wording

__all__ = ["PRESENTATION", "saliency_line", "saliency_table"]


UNFAIR = (
    "This test favours signed methods (±), since it asks only what speaks for the class, and methods based on "
    "erasure (e), which are nearly the criterion itself. The table and its comparisons show all methods; the verdict’s "
)

#: What the verdict does about it, where there are fair ones and where there are none.
WEIGHED = "share of the way is taken to the best of those that are neither."

NOT_WEIGHED = "line is not weighed, because every other method is one of these."


def saliency_line(
    faithfulness: Findings, wording: Wording = TEXTS, failed: frozenset[str] = frozenset()
) -> Line | None:
    """Does erasing what attention puts first do as much as erasing what saliency puts first?"""
    compared = Compared.of(faithfulness, failed)
    if compared is None or compared.ranking is None or not compared.others:
        return None
    ranking, share, best = compared.ranking, compared.share, compared.best
    named = name_in_words(best, compared.names)
    named = f"{named}, the best unsigned method not based on erasure" if compared.fair else named
    sure = [] if compared.few else compared.others
    places = {standing.name: standing.rank for standing in ranking.standings}
    better = sorted((name for name in sure if ranking.told_apart(name, RANDOM) > 0), key=places.__getitem__)
    as_much = "more than" if share.low > 1 else "nearly as much as" if share.high < 1 else "about as much as"
    erasing = f"Erasing the {wording.items} that attention puts first"
    words = {
        "supports": f"{erasing} does {as_much} for {named}.",
        "against": f"{erasing} does far less than for {named}.",
        "mixed": f"{erasing} does more than erasing random ones, and less than for {named}.",
    }
    tone, scale = tone_of("saliency", share), "saliency"
    reading = said(words, "saliency", tone, share, wording)
    if not compared.fair:
        tone = "context"
        reading = (
            "No other explainer here is unsigned, like attention, and not based on erasure, so "
            "the comparison is not fair and does not count."
        )
    elif ranking.told_apart(best, RANDOM) <= 0 and share.judged >= FEWEST:
        tone, scale = "unsettled", ""
        reading = (
            f"No comparable explainer does more than erasing {wording.items} at random, so there is nothing to "
            "compare with."
        )
    ahead = [n for n in sure if ranking.told_apart(n, ATTENTION) > 0 and compared.kind(n) == KINDS["signed"]]
    if tone == "supports" and ahead:
        # As good as its like is not good: others find words that matter more, if only by knowing what speaks for.
        tone = "mixed"
        names = ", ".join(name_in_words(name, compared.names) for name in ahead)
        reading = (
            f"{erasing} does {as_much} for {named}, but signed methods "
            f"that are not based on erasure find significantly more: {names}."
        )
    own, leader, chance = (ranking[name].mean.value for name in (ATTENTION, best, RANDOM))
    # A share of a way that may have no length says nothing, however it comes out.
    there, alone = ranking.told_apart(best, RANDOM) > 0, compared.alone
    way = f"{share} of the way from a random order to {name_in_words(best, compared.names)}"
    reading += (
        f" {compared.limits(wording)}: attention {own:.2f}, {name_in_words(best, compared.names)} {leader:.2f}, "
        f"a random order {chance:.2f}. {_ranked(compared, ranking, wording)}"
    )
    reading = " ".join([reading, *compared.turned()])
    return Line(
        "saliency",
        f"Does erasing attention's top {wording.items} do as much as erasing saliency's? (faithfulness)",
        way if there else f"{alone} of the largest drop that erasing makes; a random order {chance:.3f}",
        reading,
        tone,
        share if there else alone,
        "tokens",
        "As faithful as saliency?",
        scale=scale if there else "",
        better=tuple(name_in_words(name, compared.names) for name in better),
        rival=compared.rival(better),
        explainers=(ATTENTION,),
    )


def _ranked(compared: Compared, ranking: Ranking, wording: Wording) -> str:
    """Attention's place, and who is significantly better, whether or not the comparison is fair."""
    if compared.few:
        return f"{ranking.judged} {wording.wholes} are too few to rank methods by."
    own = ranking[ATTENTION]
    groups: dict[str, list[str]] = {"": [], KINDS["signed"]: [], KINDS["made_of_erasure"]: []}
    for name in compared.others:
        if ranking.told_apart(name, ATTENTION) > 0:
            groups[compared.kind(name)[-1:]].append(name_in_words(name, compared.names))
    notes = ("", " (signed)", " (based on erasure)")
    better = [f"{', '.join(names)}{note}" for names, note in zip(groups.values(), notes, strict=True) if names]
    who = f"significantly better: {'; '.join(better)}" if better else "none is significantly better"
    return f"Attention ranks {place(own)} of {len(ranking.standings)}, a random order among them; {who}."


def saliency_table(
    faithfulness: Findings | None, wording: Wording = TEXTS, failed: frozenset[str] = frozenset()
) -> dict[str, Any] | None:
    """The explainers from the best to the worst, and whether their order depends on the way of erasing, as text."""
    compared = None if faithfulness is None else Compared.of(faithfulness, failed)
    if compared is None:
        return None
    rows = [
        {
            "words": row.words,
            "kind": row.kind,
            **standing_cells(row.standing, row.beside_attention, few=compared.few, wording=wording, failed=failed),
            "numbers": [(value_of(e, "mean"), interval_of(e, "mean")) for e in (row.removed, row.kept, row.until_flip)],
            "never": "–" if row.flipped is None else f"{100 * (1 - row.flipped.value):.1f} %",
        }
        for row in compared.rows()
    ]
    return {
        "erasure": compared.erasure,
        "rows": rows,
        "limits": compared.limits(wording),
        "unfair": UNFAIR + (WEIGHED if compared.fair else NOT_WEIGHED) if any(row["kind"] for row in rows) else "",
        "turned": list(compared.turned()),
    }


def _figures() -> tuple[Plot, ...]:
    from attentest.challenges.faithfulness.figures import faithfulness_overview

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
            section="saliency",
            applies=lambda found: Compared.of(found) is not None,
        ),
    )


def _compared(results: Results) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """How explainers rank, and what was checked of their scores."""
    bad = failed(results.found.get("certificates"))
    return saliency_table(results.found.get("faithfulness"), results.wording, bad), checks_table(results)


#: The section of the page on explainers.
SALIENCY = Section(
    "saliency", "attentest.challenges.faithfulness/section.html", _compared, place=30, title="Against saliency"
)

PRESENTATION = Presentation(
    "faithfulness",
    place=30,
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
    lines=(lambda found, results: saliency_line(found, results.wording, failed(results.found.get("certificates"))),),
    sections=(SALIENCY,),
    figures=_figures,
)
