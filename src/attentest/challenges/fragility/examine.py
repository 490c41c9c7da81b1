"""Fragility: do small changes of the embeddings that leave the prediction move the explanation?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import pyarrow as pa
import torch

from attentest.challenges.challenge import Challenge, Examination, flags, numbers, prediction_of, reasons
from attentest.challenges.fragility.search import BALLS, OBJECTIVES, Found, Search, random_signs, sizes_of
from attentest.errors import InputError
from attentest.explainers import EXPLAINERS
from attentest.explainers.gradient.slopes import differentiable
from attentest.explainers.gradient.traced import traceable, traced, untraced
from attentest.measures.rank import spearman, top_k_overlap
from attentest.models.subject import Subject
from attentest.parameters import Several, Within
from attentest.registry import name_in_words
from attentest.store.findings import Measure

__all__ = ["Fragility"]

#: How the embeddings are moved.
WAYS = ("searched", "random")


@dataclass(frozen=True)
class Fragility(Challenge):
    """Embeddings are moved a little, so that the prediction stays and the explanation moves as far as it can.

    The words stay what they are; each number of their embeddings is moved by at most a share (`sizes`) of the text's
    root mean square. *Searched* changes follow the gradient of what is asked (`objective`), step by step within that
    ball; of all steps at which the prediction stayed, the one counts where the scores moved most. *Random* ones move
    every number by all of the share, up or down. Both are put to all methods alike whose scores are a differentiable
    function of the embeddings: attention, gradients, SmoothGrad with its noise held; of models that can be replayed,
    LRP and DeepLIFT; of all but checkpoints and modules of your own, what is made of states, such as attention ×
    gradient. What erases or draws words has no gradient to follow. The prediction stays where its
    class does and its probabilities move by at most `output_change`. Scores are compared without their signs:
    Spearman's ρ, and the overlap of the top tokens. Where a gradient is taken with attention held fixed
    (`path='detached'`), the search follows what is left of its own slope. A moved embedding is the embedding of no
    word, so this says how steady a method is near a text, not that a text exists on which it misleads. It tests
    explainers, not the verdict.
    """

    name: ClassVar[str] = "fragility"
    question: ClassVar[str] = "Do changes too small for the prediction move the explanation?"
    reference: ClassVar[str] = "Ghorbani et al. 2019"
    of_classifiers: ClassVar[bool] = True
    explainers: Annotated[tuple[str, ...], "Methods whose scores are moved.", Several()] = (
        "attention",
        "gradient",
        "gradient_norm",
        "gradient_x_input",
        "integrated_gradients(n_steps=8)",
    )
    sizes: Annotated[
        tuple[float, ...], "Sizes of change, as shares of the root mean square of a text's embeddings.", Several()
    ] = (0.01, 0.03, 0.1)
    top: Annotated[int, "How many top tokens are compared; texts must have more.", Within(1, 1000)] = 5
    steps: Annotated[int, "Steps of each search.", Within(1, 1000)] = 10
    ball: Annotated[str, "`max` bounds every number of a change (L∞), `length` all of them together (L2)."] = "max"
    objective: Annotated[
        str, "What is moved: `top` takes scores from the top tokens, `centre` shifts their mean place in the text."
    ] = "top"
    output_change: Annotated[float, "By how much the prediction may move (TVD) and still stay.", Within(0, 1)] = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, given, known in (("ball", self.ball, BALLS), ("objective", self.objective, OBJECTIVES)):
            if given not in known:
                raise InputError(f"fragility: {name}={given!r} must be one of {', '.join(known)}.")
        for size in self.sizes:
            if not 0 < size <= 10:
                raise InputError(f"fragility: sizes={self.sizes} must lie above 0, up to 10.")
        for explainer in self.explainers:
            if not traceable(type(EXPLAINERS.parse(explainer))):
                raise InputError(
                    f"fragility: explainer {explainer!r} has no gradient to follow here. Name some of "
                    f"{', '.join(name for name, kind in EXPLAINERS.items() if traceable(kind))}."
                )

    def further_objection(self, subject: Subject, *, has_rationale: bool) -> str | None:
        """Needs scores that have all of their slope."""
        return next(filter(None, (untraced(EXPLAINERS.parse(e), subject) for e in self.explainers)), None)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """For each explainer, size and way: how alike scores stay, and how often the prediction does."""
        return tuple(
            Measure(
                f"{e}.{way}.{size:g}.{column}",
                column,
                statistic,  # type: ignore[arg-type]
                f"{name_in_words(e, self.explainers)}, {way} changes of {size:g}: {words}",
                {"explainer": e, "way": way, "size": f"{size:g}"},
            )
            for column, statistic, words in (
                ("spearman", "mean", "Spearman ρ with the scores of the text itself"),
                ("overlap", "mean", "overlap of the top tokens"),
                ("kept", "fraction", "share of texts whose prediction stays"),
            )
            for way in WAYS
            for size in self.sizes
            for e in self.explainers
        )

    def examine(self, examination: Examination) -> pa.Table:
        """One row per text, explainer, size and way."""
        subject, batch = examination.subject, examination.batch
        embeddings = subject.embed(batch).detach()
        scale, signs = sizes_of(embeddings, batch.mask), random_signs(batch, embeddings.shape[-1], examination.seed)
        signs = signs.to(embeddings)
        tables: list[pa.Table] = []
        for explainer in self.explainers:
            search = self.search_of(examination, explainer, embeddings)
            for size in self.sizes:
                found = (search.searched(size * scale, signs, self.steps), search.random(size * scale, signs))
                tables += [
                    self._rows(examination, search, explainer, size, *one) for one in zip(WAYS, found, strict=True)
                ]
        return pa.concat_tables(tables)

    def search_of(self, examination: Examination, explainer: str, embeddings: torch.Tensor) -> Search:
        """The search for one explainer of a batch with these embeddings."""
        subject, batch, method = examination.subject, examination.batch, EXPLAINERS.parse(explainer)
        target = examination.reading.predicted
        with differentiable(subject):
            own = traced(method, subject, batch, embeddings.clone().requires_grad_(), target)
        scores, before = own.scores.detach().double().abs(), prediction_of(examination.reading)
        given = subject, batch, method, embeddings, target, examination.mask, scores, before
        return Search(*given, self.top, self.ball, self.objective, self.output_change)

    def _rows(
        self, examination: Examination, search: Search, explainer: str, size: float, way: str, found: Found
    ) -> pa.Table:
        mask, count = examination.mask, len(found.kept)
        short = (examination.lengths <= self.top).cpu().numpy()
        nothing = (search.own.where(mask, 0.0).amax(-1) == 0).cpu().numpy()
        judged = ~(short | nothing)
        moved = judged & found.kept.cpu().numpy()
        return pa.table(
            {
                "row": examination.rows,
                "explainer": pa.array([explainer] * count, pa.string()),
                "way": pa.array([way] * count, pa.string()),
                "size": pa.array([f"{size:g}"] * count, pa.string()),
                "kept": flags(found.kept, judged),
                "spearman": numbers(spearman(search.own, found.scores, mask), moved),
                "overlap": numbers(top_k_overlap(search.own, found.scores, mask, self.top), moved),
                "output_change": numbers(found.output_change, judged),
                "not_judged": reasons((short, "no more tokens than are compared"), (nothing, "all scores are zero")),
            }
        )
