"""Gating: is a token's weight a function of its own state alone?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, flags, numbers, reasons
from attentest.challenges.rereading import reread
from attentest.data.batches import Batch, Sequences
from attentest.measures.chance import another, permutations, uniforms
from attentest.measures.divergence import jensen_shannon
from attentest.measures.packing import ordinals, positions
from attentest.models.capabilities import Attends, required
from attentest.store.findings import Measure

__all__ = ["Gating", "other_query", "swapped_states"]

#: Weights below have lost their digits in single precision, and are not compared.
LEAST = 1e-30
#: Differences below these are rounding: of a divergence, and of the logarithm of a ratio.
ROUNDING, RATIO_ROUNDING = 1e-6, 1e-3


class OtherQuery(NamedTuple):
    """Other queries for the texts of a batch, and why some texts have none."""

    asked: Batch
    none: np.ndarray
    same: np.ndarray


@dataclass(frozen=True)
class Gating(Challenge):
    """Everything but h_t is swapped: the other states of the text and, where there is one, the query.

    Vashishth et al. hold that attention over a single text only gates: the weight of a token is decided by its own
    state, up to the sum that all share, and so can be had without the others. Two swaps test it on the trained
    model. *The rest*: half of the tokens, by chance, keep their states, and each of the others gets that of another
    token of the same text. If attention is a gate, the weights of those kept stay as they were among themselves,
    and a token gets the weight of the state it was given. *The query*, where texts come in pairs: the same states
    are asked with the second text of another pair; in translation, with another step of the same sentence; where
    a single text asks with its own summary, with that of another text. How far
    the weights move, and the prediction with them when the text is read again under these weights, says how much
    attention answers what is asked. A query with the same words is not judged. That attention is a gate says how it
    works, not whether it explains. Not part of an audit unless asked for.

    In symbols, attention is a gate if α_t = g(h_t) / Σ g(h_s).
    """

    name: ClassVar[str] = "gating"
    question: ClassVar[str] = "Is a token's weight a function of its own state alone?"
    reference: ClassVar[str] = "Vashishth et al. 2019, section 4 (Proposition 4.1)"
    needs: ClassVar[tuple[type, ...]] = (Attends,)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Whether attention is a gate; what the rest of the text does to it, and what the query does."""
        rest, query = {"swapped": "rest"}, {"swapped": "query"}
        gate = "share of instances where attention is a gate: every weight a function of its token's state alone"
        kept = "JSD of the weights of half of the tokens, among themselves, when the other states are swapped"
        ratio = "largest change of ln(α_t/α_s) of two of these tokens"
        expected = "JSD of all weights after the swap from what a function of each state alone would give"
        change = "change of ŷ (TVD) under the weights that another query asks for"
        flipped = "share of decisions that the weights of another query change"
        return (
            Measure("gate", "gate", "fraction", gate, rest),
            Measure("rest_jsd", "rest_jsd", "mean", kept, rest),
            Measure("rest_log_ratio", "rest_log_ratio", "mean", ratio, rest),
            Measure("gate_jsd", "gate_jsd", "mean", expected, rest),
            Measure("query_jsd", "query_jsd", "mean", "JSD of the weights under another query", query),
            Measure("query_change", "query_change", "mean", change, query),
            Measure("query_flipped", "query_flipped", "fraction", flipped, query),
        )

    def examine(self, examination: Examination) -> pa.Table:
        """A row for every text and swap: of the rest of the text and, where there is one, of the query."""
        other = other_query(examination)
        if other is None:
            return _rest(examination, None)
        query = _query(examination, other)
        rest = _rest(examination, query["query_jsd"].to_numpy())
        missing = [name for name in query.column_names if name not in rest.column_names]
        return pa.concat_tables([rest, query], promote_options="default").select(
            [*rest.column_names[:-1], *missing, "not_judged"]
        )


def _rest(examination: Examination, query_jsd: np.ndarray | None) -> pa.Table:
    """The states of half of the tokens swapped; attention is a gate where the query has no say either."""
    batch, mask, states = examination.batch, examination.mask, examination.reading.states
    kept, source = swapped_states(batch.keys, mask, examination.seed)
    swapped = states.gather(1, source[..., None].expand_as(states))
    subject = required(Attends, examination.subject, Gating.name)
    before, after = examination.weights, subject.attend(batch, swapped, batch).double()
    jsd, log_ratio = _compared(before, after, kept)
    gate_jsd, _ = _compared(before.gather(-1, source), after, mask)
    few, weightless = (examination.lengths < 3).cpu().numpy(), jsd.isnan().cpu().numpy()
    judged: np.ndarray = ~(few | weightless)
    gate = (jsd < ROUNDING) & (log_ratio < RATIO_ROUNDING) & (gate_jsd < ROUNDING)
    known = judged
    if query_jsd is not None:
        gate &= torch.from_numpy(query_jsd < ROUNDING).to(gate.device)
        known = judged & ~np.isnan(query_jsd)
    return pa.table(
        {
            "row": examination.rows,
            "swapped": pa.array(["rest"] * len(judged), pa.string()),
            "gate": flags(gate, known),
            "rest_jsd": numbers(jsd, judged),
            "rest_log_ratio": numbers(log_ratio, judged),
            "gate_jsd": numbers(gate_jsd, judged),
            "not_judged": reasons((few, "fewer than three tokens"), (weightless, "no weight on the tokens kept")),
        }
    )


def _query(examination: Examination, other: OtherQuery) -> pa.Table:
    """The same states asked with another query, and the text reread with the weights it gives."""
    single = examination.single
    judged: np.ndarray = ~(single | other.none | other.same)
    subject = required(Attends, examination.subject, Gating.name)
    weights = subject.attend(examination.batch, examination.reading.states, other.asked).double()
    weights = weights / weights.sum(-1, keepdim=True).clamp(min=LEAST)
    said = reread(examination, weights[:, None])
    return pa.table(
        {
            "row": examination.rows,
            "swapped": pa.array(["query"] * len(judged), pa.string()),
            "query_jsd": numbers(jensen_shannon(weights, examination.weights), judged),
            "query_change": numbers(said.change[:, 0], judged),
            "query_flipped": flags(said.decided[:, 0] != examination.reading.predicted, judged),
            "not_judged": reasons(
                (single, "fewer than two tokens"),
                (other.none, "no other query to ask"),
                (other.same, "the other query is the same"),
            ),
        }
    )


def other_query(examination: Examination) -> OtherQuery | None:
    """Another step of the same sentence, or another text of the split, second or own, chosen by the instance."""
    batch, seed = examination.batch, examination.seed
    drawn = uniforms(batch.keys, 1, 1, seed, "gating/query")[:, 0, 0]
    never = np.zeros(len(batch), bool)
    if batch.target is not None:
        step = batch.target.step
        count = torch.bincount(batch.target.of)[batch.target.of]
        # The steps of a sentence follow one another.
        donors = torch.arange(len(batch), device=step.device) - step + another(drawn, count, step)
        return OtherQuery(replace(batch[donors], keys=batch.keys), (count < 2).cpu().numpy(), never)
    own = required(Attends, examination.subject, Gating.name).texts_are_queries
    if batch.second is None and not own:
        return None
    texts = len(batch) if examination.texts is None else examination.texts
    if examination.donors is None or texts < 2:
        return OtherQuery(batch, ~never, never)
    rows = another(drawn, torch.full_like(batch.rows, texts), batch.rows)
    others = examination.donors(rows.cpu().numpy()).to(batch.rows.device)
    if own:
        return OtherQuery(replace(others, keys=batch.keys), never, _same(batch.text, others.text).cpu().numpy())
    assert batch.second is not None
    assert others.second is not None
    return OtherQuery(replace(batch, second=others.second), never, _same(batch.second, others.second).cpu().numpy())


def _same(one: Sequences, other: Sequences) -> Bool[Tensor, " batch"]:
    """Which texts have the same words; those beyond the narrower width differ where there are any."""
    width = min(one.tokens.shape[1], other.tokens.shape[1])
    words = (one.tokens[:, :width] == other.tokens[:, :width]).all(-1)
    return words & (one.lengths == other.lengths)


def swapped_states(
    keys: Int[Tensor, " batch"], mask: Bool[Tensor, "batch token"], seed: int
) -> tuple[Bool[Tensor, "batch token"], Int[Tensor, "batch token"]]:
    """Which tokens keep their states (half of them, rounded up), and where each token's state is taken from."""
    count, place = mask.sum(-1, keepdim=True), ordinals(mask)
    kept = mask & (place.gather(-1, permutations(keys, 1, mask, seed, "gating/kept")[:, 0]) < (count + 1) // 2)
    drawn = uniforms(keys, 1, mask.shape[1], seed, "gating/source", mask)[:, 0]
    other = another(drawn, count.expand_as(place), place).clamp(max=mask.shape[1] - 1)
    here = torch.arange(mask.shape[1], device=mask.device).expand_as(place)
    return kept, torch.where(mask & ~kept, positions(mask).gather(-1, other), here)


def _compared(
    before: Float[Tensor, "batch token"], after: Float[Tensor, "batch token"], among: Bool[Tensor, "batch token"]
) -> tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]]:
    """JSD of weights that are normalised among some tokens, and the largest change of ln(α_t/α_s) of two of them."""
    there = among & (before > LEAST) & (after > LEAST)
    old, new = (torch.where(among, weights, 0.0) for weights in (before, after))
    old, new = (weights / weights.sum(-1, keepdim=True).clamp(min=LEAST) for weights in (old, new))
    change = torch.where(there, new, 1.0).log() - torch.where(there, old, 1.0).log()
    most, least = change.where(there, -torch.inf).amax(-1), change.where(there, torch.inf).amin(-1)
    any_ = there.any(-1)
    return jensen_shannon(old, new).where(any_, torch.nan), (most - least).where(any_, torch.nan)
