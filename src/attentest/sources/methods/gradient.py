"""Gradients of the answer's log-probability, and relevance by the rules of AttnLRP, summed over an item's tokens."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from attentest.errors import NotApplicable
from attentest.models.huggingface.attending import Pass, under_way
from attentest.models.huggingface.rules import Rules
from attentest.sources.case import Case
from attentest.sources.language import Cost
from attentest.sources.methods.method import Method, Scored

__all__ = ["AttnLRPOfSource", "GradientTimesInput"]


@dataclass(frozen=True)
class GradientTimesInput(Method):
    """The slope of the answer's log-probability at the embeddings, times these, summed over an item's tokens.

    One pass there and back over the whole prompt, which keeps every layer's activations for the way back.
    """

    name: ClassVar[str] = "gradient_x_input"
    summary: ClassVar[str] = "the answer's log-probability as its slope at the embeddings would have it"
    reference: ClassVar[str] = "Shrikumar et al. 2017"

    def score(self, case: Case) -> Scored:
        """One pass there and back."""
        return _scored(case, None)


@dataclass(frozen=True)
class AttnLRPOfSource(Method):
    """The answer's logits handed back through every layer by the rules of AttnLRP, summed over an item's tokens."""

    name: ClassVar[str] = "attn_lrp"
    summary: ClassVar[str] = "relevance handed back through every layer, attention included"
    reference: ClassVar[str] = "Achtibat et al. 2024, with ε = 0"

    def score(self, case: Case) -> Scored:
        """One pass there and back."""
        return _scored(case, Rules(1))

    def objection(self, case: Case) -> str | None:
        """Its rules watch every tensor, also those that are fetched from elsewhere for a layer and dropped again."""
        away = any(parameter.is_meta for parameter in case.model.model.parameters())
        return "weights that lie on disk or in another memory are fetched while it computes" if away else None


def _scored(case: Case, rules: Rules | None) -> Scored:
    began, model, prompt, answer = time.perf_counter(), case.model.model, case.prompt.ids, case.answer
    ids = torch.tensor([[*prompt, *answer.ids[:-1]]], device=case.model.device)
    rows = slice(len(prompt) - 1, ids.shape[1])
    targets = torch.tensor(answer.ids, device=ids.device)[:, None]
    explained = torch.tensor(answer.explained, device=ids.device)
    frozen = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for parameter in frozen:
        parameter.requires_grad_(False)
    try:
        with torch.enable_grad():
            table = model.get_input_embeddings()
            leaf = table(ids).detach().requires_grad_()
            # A table that accelerate has placed is called past its class, where the pass would give its own.
            placed = hasattr(table, "_hf_hook")
            given = {"inputs_embeds": leaf} if placed else {"input_ids": ids}
            with under_way(Pass(embeddings=None if placed else leaf, rules=rules)):
                logits: Tensor = model(**given, use_cache=False).logits
            told = logits[0, rows].to(ids.device).float()
            told = told if rules is not None else told.log_softmax(-1)
            (slope,) = torch.autograd.grad(told.gather(-1, targets)[explained].sum(), leaf)
    finally:
        for parameter in frozen:
            parameter.requires_grad_()
    if rules is not None and rules.unknown:
        raise NotApplicable(
            f"attn_lrp does not apply: {type(model).__name__} computes with {', '.join(sorted(rules.unknown))}, for "
            "which AttnLRP has no rule. Use gradient_x_input."
        )
    tokens = (slope * leaf).detach().float().sum(-1)[0].cpu().numpy()[: len(prompt)]
    scores = np.array([tokens[case.prompt.tokens_of(item)].sum() for item in range(len(case.items))], dtype=float)
    return Scored(scores, Cost(2, 2 * ids.numel(), time.perf_counter() - began))
