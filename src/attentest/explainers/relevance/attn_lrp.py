"""AttnLRP: relevance handed back through every layer of a transformer, attention and all, to its words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch, Sequences
from attentest.data.vocabulary import END, START, UNKNOWN
from attentest.errors import InputError, NotApplicable
from attentest.explainers.attention.of_transformer import OfTransformer
from attentest.explainers.explainer import Attribution
from attentest.explainers.gradient.slopes import differentiable
from attentest.explainers.relevance.lrp import contrast
from attentest.models.capabilities import required
from attentest.models.huggingface.attending import Pass
from attentest.models.huggingface.pieces import Layout
from attentest.models.huggingface.pretrained import Pretrained
from attentest.models.huggingface.rules import SHARES, Rules
from attentest.models.subject import Subject

__all__ = ["AttnLRP"]

#: What may be missing from the sum of a text's shares, as a part of their sizes: rounding in single precision is less.
CONSERVED = 1e-3


@dataclass(frozen=True)
class AttnLRP(OfTransformer):
    """Gradient × input with other slopes: the factors of a product get half each, norms' divisors are held fixed.

    For transformers: the output is handed back through all layers, by the rules of AttnLRP (Achtibat et al. 2024).
    A sum hands it back in proportion; of a product, as of queries and keys, of weights and values, or of the two
    branches of a gated layer, each factor gets half; the divisor of a norm gets nothing; an activation hands on all
    it is given; the softmax hands back by its own slope. What is handed out is the target's logit minus the other
    classes' (for two classes, the margin). Positive scores speak for the class, negative ones against it.

    Not all of it comes down to the words. Biases (`bias`), the embeddings of positions and of types of text and, in
    models such as T5, the word that the decoder begins with (`positions`), special tokens (`symbols`), a prompt or
    second text (`other_text`) and the constants that the softmax's rule leaves (`softmax`) keep their shares. The
    certificate has each of them as a share of the output, and they are often large, with opposite signs: the scores
    rank words, and are not shares of the prediction. With the words' scores they add up to the output, which is
    checked for every text.

    The rules see every operation that torch is asked for, so no part of a model is skipped silently: where one has
    no rule, or the sum fails, the model is refused. ε is 0, and no sum keeps anything for itself.
    """

    name: ClassVar[str] = "attn_lrp"
    summary: ClassVar[str] = "layer-wise relevance through every layer of a transformer, its attention included"
    reference: ClassVar[str] = "Achtibat et al. 2024, with ε = 0"
    cost: ClassVar[str] = "one forward and one backward pass"
    certifies: ClassVar[tuple[str, ...]] = (
        "conservation_gap",
        *(f"absorbed_{name}" for name in ("bias", "symbols", "positions", "softmax", "other_text")),
    )
    checked: ClassVar[str] = (
        "conservation: the shares of words, special tokens, positions and biases add up to the output"
    )
    signed: ClassVar[bool] = True
    one_stack: ClassVar[bool] = False
    output: Annotated[
        str,
        "What is handed out: `margin`, the target's logit minus the other classes', or `logit`, the target's alone, "
        "as in the paper.",
    ] = "margin"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.output not in ("margin", "logit"):
            raise InputError(
                f"attn_lrp: output={self.output!r} must be 'margin' (the class against the others) or 'logit'."
            )

    def further_objection(self, subject: Subject) -> str | None:
        """Needs a transformer whose every operation has a rule, which a text of one piece tells."""
        model = required(Pretrained, subject, self.name)
        tokens = torch.tensor([[START, UNKNOWN, END]], device=model.device)
        one = torch.zeros(1, dtype=torch.long, device=model.device)
        batch = Batch(Sequences(tokens, one + 3, tokens == UNKNOWN), one, one, one)
        return self._handed_out(model, batch, model.pieces.layout(batch), one)[1]

    def explain_some(
        self, model: Pretrained, batch: Batch, layout: Layout, target: Int[Tensor, " batch"]
    ) -> Attribution:
        """One pass there and back; the certificate has the shares of all that is no word."""
        found, reason = self._handed_out(model, batch, layout, target)
        if reason is not None:
            raise NotApplicable(f"{self.name} does not apply: {reason}. Use gradient_x_input.")
        return found

    def _handed_out(
        self, model: Pretrained, batch: Batch, layout: Layout, target: Tensor
    ) -> tuple[Attribution, str | None]:
        """The relevance of one pass, and why it cannot be trusted: a step without a rule, or a sum that fails."""
        rules = Rules(len(batch))
        with differentiable(model):
            leaf = model.assembled(model.embed(batch), batch, layout).detach().requires_grad_()
            output = self._of(model.passed(Pass(embeddings=leaf, rules=rules), layout), target)
            (slope,) = torch.autograd.grad(output.sum(), leaf)
        slots, output = (slope * leaf).detach().sum(-1).double(), output.detach().double()
        scores, none = layout.pooled(slots), torch.zeros_like(output)
        parts = {
            "symbols": slots.where(layout.special, 0.0).sum(-1),
            "other_text": slots.where(layout.other, 0.0).sum(-1),
            **{what: rules.absorbed.get(what, none) for what in SHARES},
        }
        rest = scores.sum(-1) + torch.stack(list(parts.values())).sum(0) - output
        certificate = {name: part / output for name, part in parts.items()} | {"conservation_gap": rest.abs()}
        every = torch.stack([slots.abs().sum(-1), *(part.abs() for part in parts.values())]).sum(0)
        reason, kind = None, type(model.model).__name__
        if rules.unknown:
            reason = f"{kind} computes with {', '.join(sorted(rules.unknown))}, for which AttnLRP has no rule"
        elif not (rest.abs() <= max(CONSERVED, 30 * torch.finfo(leaf.dtype).eps) * every).all():
            reason = f"what {kind} hands back to words, positions and biases does not add up to its output"
        return Attribution(scores, certificate), reason

    def _of(self, logits: Tensor, target: Tensor) -> Float[Tensor, " batch"]:
        if self.output == "margin":
            return contrast(logits, logits.detach(), target)
        return logits.gather(-1, target[:, None])[:, 0]
