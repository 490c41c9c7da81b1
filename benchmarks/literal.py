"""The papers' algorithms as their authors wrote them down: loops over positions, draws and steps, packed LSTMs.

Written from the definitions, as a yardstick for speed and as an oracle; nothing here is used by the package.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy import stats
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attentest.data.batches import Batch
from attentest.models.networks.classifier import Classifier


class Packed:
    """The same classifier with a packed bidirectional LSTM, as the released code has it."""

    def __init__(self, model: Classifier) -> None:
        self.model = model
        right, left = model.encoder.rightward, model.encoder.leftward
        self.lstm = nn.LSTM(right.input_size, right.hidden_size, batch_first=True, bidirectional=True)
        with torch.no_grad():
            for name, value in right.named_parameters():
                getattr(self.lstm, name).copy_(value)
            for name, value in left.named_parameters():
                getattr(self.lstm, f"{name}_reverse").copy_(value)

    def states(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(
            self.model.embedding(tokens), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        return pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=tokens.shape[1])[0]

    def probabilities(self, tokens: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        states = self.states(tokens, lengths)
        weights = self.model.attention(states, mask)
        return self.model.head((weights[:, :, None] * states).sum(1)).softmax(-1)


@torch.no_grad()
def deletion(packed: Packed, batch: Batch) -> Tensor:
    """Delete position after position from a whole batch and run the model again."""
    tokens, lengths, mask = batch.text.tokens, batch.text.lengths, batch.mask
    whole = packed.probabilities(tokens, lengths, mask)
    out = torch.zeros(mask.shape)
    for t in range(1, tokens.shape[1] - 1):
        kept = [i for i in range(tokens.shape[1]) if i != t]
        shorter = torch.where(t < lengths, lengths - 1, lengths)
        p = packed.probabilities(tokens[:, kept], shorter.clamp(min=1), mask[:, kept])
        out[:, t] = 0.5 * (p - whole).abs().sum(-1)
    return out * mask


@torch.no_grad()
def permutation(packed: Packed, batch: Batch, draws: int = 100) -> Tensor:
    """Shuffle each instance's weights in a loop and decode, draw after draw."""
    rng = np.random.default_rng(0)
    states = packed.states(batch.text.tokens, batch.text.lengths)
    weights = packed.model.attention(states, batch.mask)
    whole = packed.model.head((weights[:, :, None] * states).sum(1)).softmax(-1)
    changes = []
    for _ in range(draws):
        shuffled = weights.clone()
        for row in range(len(batch)):
            real = batch.mask[row].nonzero()[:, 0]
            shuffled[row, real] = weights[row, real[torch.from_numpy(rng.permutation(len(real)))]]
        p = packed.model.head((shuffled[:, :, None] * states).sum(1)).softmax(-1)
        changes.append(0.5 * (p - whole).abs().sum(-1))
    return torch.stack(changes, 1).median(1).values


def adversary(packed: Packed, batch: Batch, epsilon: float = 0.01, k: int = 5, steps: int = 500) -> Tensor:
    """Jain & Wallace's relaxed search by autograd: k attentions, penalty 500, Adam at .01."""
    with torch.no_grad():
        states = packed.states(batch.text.tokens, batch.text.lengths)
        own = packed.model.attention(states, batch.mask)[:, None]
        whole = packed.model.head((own[:, 0, :, None] * states).sum(1)).softmax(-1)[:, None]
    generator = torch.Generator().manual_seed(0)
    logits = (3 * torch.randn(len(batch), k, states.shape[1], generator=generator)).requires_grad_()
    optimizer = torch.optim.Adam([logits], lr=0.01, amsgrad=True)

    def jsd(p: Tensor, q: Tensor) -> Tensor:
        m = (p + q) / 2
        return 0.5 * ((p * ((p + 1e-10) / (m + 1e-10)).log()).sum(-1) + (q * ((q + 1e-10) / (m + 1e-10)).log()).sum(-1))

    for _ in range(steps):
        weights = logits.masked_fill(~batch.mask[:, None], -torch.inf).softmax(-1)
        p = packed.model.head(weights @ states).softmax(-1)
        change = 0.5 * (p - whole).abs().sum(-1)
        apart = jsd(weights[:, :, None], weights[:, None]).sum((1, 2)) / (k * (k - 1)) / 2
        goal = jsd(weights, own).sum(1) + apart - 500 / k * (change - epsilon).relu().sum(1)
        optimizer.zero_grad()
        (-goal.sum()).backward()
        optimizer.step()
    with torch.no_grad():
        return torch.where(change <= epsilon, jsd(weights, own), 0.0).max(1).values


def kendall(x: Tensor, y: Tensor, mask: Tensor) -> np.ndarray:
    """SciPy, instance after instance."""
    return np.array(
        [stats.kendalltau(a[m].numpy(), b[m].numpy()).statistic for a, b, m in zip(x, y, mask, strict=True)]
    )


@torch.no_grad()
def encoded(packed: Packed, batch: Batch) -> tuple[Tensor, Tensor]:
    """States and weights of a batch of one text."""
    states = packed.states(batch.text.tokens, batch.text.lengths)
    return states[0, batch.mask[0]].double(), packed.model.attention(states, batch.mask)[0, batch.mask[0]].double()


def flip_set(packed: Packed, states: Tensor, own: Tensor, draws: int = 5) -> list[int]:
    """Serrano & Smith, one text: take one more item away and decode, until the decision flips.

    How many went (0: the decision never flips) by attention, by gradient, by gradient × attention, and at random.
    """
    head = packed.model.head.double()
    weights = (own / own.sum()).requires_grad_()
    likely = head(weights @ states).softmax(-1).max()
    (gradient,) = torch.autograd.grad(likely, weights)
    rng = np.random.default_rng(0)
    scores = [weights.detach(), gradient, gradient * weights.detach()]
    scores += [torch.from_numpy(rng.random(len(states))) for _ in range(draws)]
    removed = []
    with torch.no_grad():
        decision = head(weights @ states).argmax()
        for score in scores:
            left, count = weights.detach().clone(), 0
            for step, item in enumerate(score.argsort(descending=True)[:-1].tolist(), start=1):
                left[item] = 0
                if head((left / left.sum()) @ states).argmax() != decision:
                    count = step
                    break
            removed.append(count)
    packed.model.head.float()
    return removed
