"""Joint adversary: may the attention of all layers be very different at once, and the prediction stay?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, ClassVar, NamedTuple

import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, flags, numbers, ragged, reasons
from attentest.errors import InputError
from attentest.measures.adversary.search import relaxed_search
from attentest.measures.adversary.strongest import unconstrained_divergence
from attentest.measures.chance import normals
from attentest.measures.divergence import jensen_shannon, total_variation
from attentest.models.capabilities import required
from attentest.models.huggingface.partial_forward.several_sites import SeveralSites
from attentest.models.huggingface.pretrained import Pretrained
from attentest.models.huggingface.site import Site, parse_site
from attentest.models.subject import Subject
from attentest.parameters import SHARE, Several, Within
from attentest.store.findings import Measure

__all__ = ["JointAdversary"]

#: Halvings of the way back to the model's own weights.
HALVINGS = 10


class _Found(NamedTuple):
    """The farthest weights that were found within ε."""

    weights: Float[Tensor, "batch site token"]
    #: Jensen–Shannon divergence from the model's own.
    divergence: Float[Tensor, "batch site"]
    change: Float[Tensor, " batch"]
    decided: Int[Tensor, " batch"]
    #: Whether it needed to be drawn back into ε.
    drawn_back: Bool[Tensor, " batch"]


@dataclass(frozen=True)
class JointAdversary(Challenge):
    """Weights at several sites at once that lie as far as possible from the model's own, within ε of its prediction.

    For transformers. A prediction may stay under other weights in one layer because the other layers make up for
    it. Here many are changed at once: for every text, one set of weights among the words for each site, the
    output's row of every layer unless named otherwise, as far from the model's own as a search finds without moving
    the prediction by more than ε. What special tokens, a prompt or a second text get stays as it was at every site.
    First all weight is put on each site's least word, and nothing lies farther; where that is too much, a search
    follows, by gradients from several starts. So every number says *at least*; what is not found may still be
    there. Weights outside ε are drawn back towards the model's own until they are inside. Over several heads or
    rows a site cannot follow exactly; the distance is that of the weights that are then read. Read it beside
    `on_words`: where little of the attention lies on words, it is no wonder that moving it changes nothing. A text
    that is searched costs some hundred times its reading: on a CPU examine few. Not part of an audit unless asked
    for: `--challenge joint_adversary`.

    The search is the relaxed one of Jain & Wallace (eq. 2), with a distribution for every site.
    """

    name: ClassVar[str] = "joint_adversary"
    question: ClassVar[str] = "Can the weights of words change in many layers at once while the prediction stays?"
    reference: ClassVar[str] = "after Jain & Wallace 2019, section 4.2.2"
    needs: ClassVar[tuple[type, ...]] = (Pretrained,)
    sites: Annotated[
        tuple[str, ...],
        "Which attentions, such as `('layer 3 head 2', 'layer 5')`. None named: every layer, at the output's row.",
        Several(0, 10_000),
    ] = ()
    epsilon: Annotated[float, "How far the prediction may move (total variation distance).", SHARE] = 0.01
    far: Annotated[
        float,
        "The divergence that every site must exceed for a text to count as `far`; at most ln 2 ≈ 0.69.",
        Within(0, 1),
    ] = 0.5
    k: Annotated[int, "Searches of a text, side by side, each from other weights.", Within(1, 1000)] = 3
    penalty: Annotated[float, "The search's λ: the price of leaving ε.", Within(0, 1e9)] = 20.0
    rate: Annotated[float, "The search's step size (Adam).", Within(0, 100, without=(0,))] = 0.3
    steps: Annotated[
        int,
        "The search's steps. 0: no gradients; only the way towards each site's least word is tried.",
        Within(0, 100_000),
    ] = 50
    noise: Annotated[float, "Spread of the logits the search starts from.", Within(0, 1000)] = 3.0
    per_token: Annotated[
        bool, "Keep the adversarial attention of every token at every site, not only how far it lies from the model's."
    ] = True

    @property
    def measures(self) -> tuple[Measure, ...]:
        """How far all sites together, at least, and what that leaves."""
        near = f"within ε = {self.epsilon} of the prediction"
        return (
            Measure("lower", "lower", "mean", f"JSD reached at all sites at once {near}: at least, mean over sites"),
            Measure("least", "least", "mean", "the same at the site that moved least"),
            Measure("far", "far", "fraction", f"share where every site is farther than {self.far}: at least"),
            Measure("unconstrained", "unconstrained", "mean", "largest JSD with no bound on the prediction"),
            Measure("ratio", "ratio", "mean", "JSD reached, as a share of the unconstrained one"),
            Measure("top_changed", "top_changed", "share", "share of sites where the top word changes"),
            Measure("decision_kept", "decision_kept", "fraction", "share where the predicted class stays"),
            Measure("change", "change", "mean", "change of ŷ (TVD) under these weights"),
            Measure("on_words", "on_words", "share", "share of the sites' attention on words; the rest is held"),
        )

    def further_objection(self, subject: Subject, *, has_rationale: bool) -> str | None:
        """Needs the named sites, each attention once."""
        try:
            named = self._sites(required(Pretrained, subject, self.name))
        except InputError as error:
            return str(error)
        for (one, a), (other, b) in combinations(named, 2):
            if a.place == b.place and (None in (a.head, b.head) or a.head == b.head):
                return f"sites {one!r} and {other!r} are of the same attention: name each head once"
        return None

    def _sites(self, subject: Pretrained) -> list[tuple[str, Site]]:
        names = self.sites or tuple(place.name for place in subject.places.places if place.kind != "decoder")
        return [(name, parse_site(name, subject.places, subject.rows)) for name in names]

    def examine(self, examination: Examination) -> pa.Table:
        """One search for as many texts as there is room for."""
        subject = required(Pretrained, examination.subject, self.name)
        mask, judged = examination.mask, ~examination.single
        named = self._sites(subject)
        sites = SeveralSites.of(subject, examination.batch, [site for _, site in named])
        own = _normalised(sites.own)
        noise = [
            normals(examination.batch.keys, self.k, mask.shape[1], examination.seed, f"joint_adversary/{name}", mask)
            for name, _ in named
        ]
        free = unconstrained_divergence(own.flatten(0, 1), _each(mask, len(named))).unflatten(0, own.shape[:2])
        found = self._searched(sites, own, mask, torch.stack(noise, dim=1))
        lower, possible = found.divergence.mean(-1), free.mean(-1)
        moved = _top(found.weights, mask) != _top(own, mask)
        columns = {
            "row": examination.rows,
            "tokens": pa.array(examination.lengths.cpu().numpy(), pa.int32()),
            "sites": pa.array([len(named)] * len(mask), pa.int32()),
            "on_words": numbers(sites.on_words.double().mean(-1), judged),
            "lower": numbers(lower, judged),
            "least": numbers(found.divergence.amin(-1), judged),
            "far": flags((found.divergence > self.far).all(-1), judged),
            "unconstrained": numbers(possible, judged),
            "ratio": numbers(torch.where(possible > 0, lower / possible, torch.nan), judged),
            "top_changed": numbers(moved.double().mean(-1), judged),
            "decision_kept": flags(found.decided == examination.reading.predicted, judged),
            "change": numbers(found.change, judged),
            "divergences": ragged(found.divergence, torch.ones_like(found.divergence, dtype=torch.bool)),
            **({"adversarial_attention": ragged(found.weights.transpose(1, 2), mask)} if self.per_token else {}),
            "not_judged": reasons((examination.single, "fewer than two tokens")),
        }
        return pa.table(columns)

    def _searched(
        self,
        sites: SeveralSites,
        own: Float[Tensor, "batch site token"],
        mask: Bool[Tensor, "batch token"],
        noise: Float[Tensor, "batch site k token"],
    ) -> _Found:
        """The farthest weights of every text, as many texts at a time as memory allows."""
        room = sites.room(self.k)

        def searched(texts: Int[Tensor, " text"], *, climbing: bool) -> _Found:
            parts = []
            for some in texts.split(room):
                search = _Search(sites, some, own[some], mask[some], self)
                parts.append(search.farthest(search.climbed(noise[some]) if climbing else search.least()))
            return _Found(*(torch.cat(part) for part in zip(*parts, strict=True)))

        found = searched(torch.arange(len(own), device=own.device), climbing=False)
        outside = found.drawn_back.nonzero()[:, 0]
        if not self.steps or not len(outside):
            return found
        climbed = searched(outside, climbing=True)
        better = climbed.divergence.mean(-1) > found.divergence[outside].mean(-1)
        chosen = outside[better]
        return _Found(*(one.index_copy(0, chosen, other[better]) for one, other in zip(found, climbed, strict=True)))


@dataclass(eq=False)
class _Search:
    """Some texts at a time."""

    sites: SeveralSites
    texts: Int[Tensor, " text"]
    own: Float[Tensor, "text site token"]
    mask: Bool[Tensor, "text token"]
    asked: JointAdversary

    def __post_init__(self) -> None:
        self.reference = self._probabilities(self.own[:, None])

    def _probabilities(self, weights: Float[Tensor, "text k site token"]) -> Float[Tensor, "text k outcome"]:
        return self.sites(weights.to(self.sites.own.dtype), self.texts).double().softmax(-1)

    def farthest(self, tried: Float[Tensor, "text k site token"]) -> _Found:
        """Of all that was tried and lies within ε, or was drawn back into it."""
        weights, change, decided, drawn_back = self._within(tried)
        seen = self.sites.seen(weights.to(self.sites.own.dtype), self.texts)
        divergence = jensen_shannon(seen, self.own[:, None])
        each, best = torch.arange(len(seen), device=seen.device), divergence.mean(-1).argmax(-1)
        return _Found(*(part[each, best] for part in (seen, divergence, change, decided, drawn_back)))

    def least(self) -> Float[Tensor, "text 1 site token"]:
        """All weight on the word that has least: as far as weights can be."""
        least = self.own.masked_fill(~self.mask[:, None], torch.inf).argmin(-1, keepdim=True)
        return torch.zeros_like(self.own).scatter(-1, least, 1.0)[:, None]

    def climbed(self, noise: Float[Tensor, "text site k token"]) -> Float[Tensor, "text two_k site token"]:
        """Jain & Wallace's search: where it ends, and the farthest within ε that it passes.

        Each site is a row of the search, and the prediction is that under all rows of a text.
        """
        (texts, sites), asked, own = self.own.shape[:2], self.asked, self.own[:, None]
        passed = own.repeat(1, asked.k, 1, 1)
        farthest = passed.new_zeros(texts, asked.k)

        def decode(rows: Float[Tensor, "row k token"]) -> Float[Tensor, "row k outcome"]:
            weights = rows.unflatten(0, (texts, sites)).transpose(1, 2)
            probabilities = self._probabilities(weights)
            now = jensen_shannon(weights.detach(), own).mean(-1)
            better = (total_variation(probabilities.detach(), self.reference) <= asked.epsilon) & (now > farthest)
            farthest.copy_(now.where(better, farthest))
            passed.copy_(weights.detach().where(better[..., None, None], passed))
            return _each(probabilities, sites)

        options: dict[str, Any] = {"spread": asked.noise, "penalty": asked.penalty, "rate": asked.rate}
        ended = relaxed_search(
            decode,
            self.own.flatten(0, 1),
            _each(self.mask, sites),
            _each(self.reference[:, 0], sites),
            asked.epsilon,
            noise.flatten(0, 1),
            steps=asked.steps,
            **options,
        )
        return torch.cat([passed, ended.weights.unflatten(0, (texts, sites)).transpose(1, 2)], dim=1)

    def _within(self, tried: Float[Tensor, "text k site token"]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Weights within ε on the way from the model's own to these: they themselves, or what halving finds."""
        own = self.own[:, None]
        change, decided = self._judged(tried)
        outside = change > self.asked.epsilon
        low, high = (tried.new_full(outside.shape, share).where(outside, 1.0) for share in (0.0, 1.0))
        change = change.where(~outside, 0.0)
        decided = decided.where(~outside, self.reference.argmax(-1))
        for _ in range(HALVINGS if bool(outside.any()) else 0):
            share = (low + high) / 2
            there, then = self._judged(own + share[..., None, None] * (tried - own))
            fits = there <= self.asked.epsilon
            low, high = share.where(fits, low), high.where(fits, share)
            change, decided = there.where(fits, change), then.where(fits, decided)
        return own + low[..., None, None] * (tried - own), change, decided, outside

    def _judged(self, weights: Float[Tensor, "text k site token"]) -> tuple[Tensor, Tensor]:
        """How far the prediction moves, and the decision."""
        probabilities = self._probabilities(weights)
        return total_variation(probabilities, self.reference), probabilities.argmax(-1)


def _each(values: Tensor, sites: int) -> Tensor:
    """A text's values for every one of its sites, one beside the other."""
    return values.repeat_interleave(sites, dim=0)


def _normalised(weights: Float[Tensor, "batch site token"]) -> Float[Tensor, "batch site token"]:
    """In double precision, summing to one beyond what single precision left off."""
    exact = weights.double()
    return exact / exact.sum(-1, keepdim=True)


def _top(weights: Float[Tensor, "batch site token"], mask: Bool[Tensor, "batch token"]) -> Int[Tensor, "batch site"]:
    return weights.masked_fill(~mask[:, None], -1.0).argmax(-1)
