"""The one training loop: Adam, class balance, best epoch on dev, early stop, gradient clip."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
import torch

from attentest.data.batches import Batch, Encoded, bucketed, shuffled
from attentest.devices import ran_out
from attentest.errors import Diverged, InputError
from attentest.models.capabilities import Generates
from attentest.models.network import Network
from attentest.models.subject import Reading, Subject
from attentest.progress import SILENT, Progress
from attentest.statistics.performance import accuracy, f1_macro, roc_auc
from attentest.training.objectives import CrossEntropy, Objective, class_balance
from attentest.training.resume import Resume

__all__ = ["Epoch", "Training", "fit", "on_dev", "predict", "readings", "task_objective"]

SCORES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "accuracy": lambda labels, p: accuracy(labels, p.argmax(-1)),
    "f1": lambda labels, p: f1_macro(labels, p.argmax(-1)),
    "roc_auc": lambda labels, p: roc_auc(labels, p[:, 1]),
}


@dataclass(frozen=True)
class Training:
    """How a model is trained; the defaults are Jain & Wallace's released ones."""

    epochs: Annotated[int, "Largest number of passes over the training texts."] = 8
    batch_size: Annotated[int, "Texts in one step."] = 32
    learning_rate: Annotated[float, "Adam's step size."] = 1e-3
    amsgrad: Annotated[bool, "Adam's AMSGrad variant."] = True
    weight_decay: Annotated[float, "ℓ2 penalty."] = 1e-5
    decay_attention: Annotated[
        bool, "Whether the penalty covers attention too, as in the paper; the released code spares it."
    ] = False
    balance_classes: Annotated[bool, "Whether classes are weighted to count the same."] = True
    clip: Annotated[float, "Largest norm of the gradient; 0: not clipped."] = 0.0
    patience: Annotated[int, "Epochs without a better dev score before training stops; 0: never."] = 3
    select: Annotated[
        str,
        "The dev score that chooses the epoch: `accuracy`, `f1`, `roc_auc`, or `auto`, ROC-AUC for two classes "
        "and accuracy for more; of translations, always the likelihood.",
    ] = "auto"
    smoothing: Annotated[
        float, "Share of a word's probability that is spread over all words, where texts are written."
    ] = 0.0
    warmup: Annotated[
        int, "Steps over which the learning rate rises, to fall by the root of the steps afterwards; 0: it stays."
    ] = 0

    def __post_init__(self) -> None:
        for field, lowest in (("epochs", 1), ("batch_size", 1), ("patience", 0), ("warmup", 0)):
            if getattr(self, field) < lowest:
                raise InputError(f"{field}={getattr(self, field)} must be at least {lowest}.")
        if not 0 < self.learning_rate < math.inf:
            raise InputError(f"learning_rate={self.learning_rate} must be a number above zero.")
        if not 0 <= self.smoothing < 1:
            raise InputError(f"smoothing={self.smoothing} must be at least 0 and below 1.")
        if self.select not in ("auto", *SCORES):
            raise InputError(f"select={self.select!r} must be one of auto, {', '.join(SCORES)}.")

    def score(self, subject: Subject) -> str:
        """The score that chooses the epoch of this model."""
        if isinstance(subject, Generates):
            return "likelihood"
        if self.select != "auto":
            return self.select
        return "roc_auc" if subject.classes == 2 else "accuracy"

    def rate(self, step: int) -> float:
        """The share of the learning rate at a step, counted from 0."""
        return min((step + 1) / self.warmup, (self.warmup / (step + 1)) ** 0.5) if self.warmup else 1.0

    def is_over(self, epochs: list[Epoch]) -> bool:
        """Whether the dev score has not improved for long enough."""
        return bool(self.patience and epochs) and len(epochs) - best_epoch(epochs).number >= self.patience


@dataclass(frozen=True)
class Epoch:
    """What one epoch reached."""

    number: int
    loss: float
    score: float
    accuracy: float
    seconds: float

    def to_record(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def fit(
    model: Network,
    train: Encoded,
    dev: Encoded,
    training: Training,
    *,
    seed: int,
    objective: Objective | None = None,
    score: Callable[[Subject, Encoded], float] | None = None,
    resume: Resume | None = None,
    progress: Progress = SILENT,
) -> list[Epoch]:
    """Train in place and leave the model at its best epoch on dev; with ``resume``, go on where it was killed.

    ``score`` chooses the epoch, the highest on dev, in the place of the training's own score.
    """
    generator = torch.Generator().manual_seed(seed)
    if objective is None:
        objective = task_objective(model, train, training)
    optimizer = torch.optim.Adam(
        _groups(model, training), lr=training.learning_rate, amsgrad=training.amsgrad, fused=True
    )
    kept, best = ([], {}) if resume is None else resume.load(model, optimizer, generator)
    epochs = [Epoch(**epoch) for epoch in kept]
    steps = -(-len(train) // training.batch_size)
    with progress.stage("Training", steps * training.epochs) as tick, _own_chance(model):
        tick(steps * len(epochs))
        for number in range(len(epochs) + 1, training.epochs + 1):
            if training.is_over(epochs):
                break
            # The loss stays on its device: asking for its value every step would make a GPU wait.
            started, total = time.perf_counter(), torch.zeros((), dtype=torch.float64, device=model.device)
            model.train()
            torch.manual_seed(seed * 1_000_003 + number)  # for dropout, the same when training goes on after a stop
            for step, batch in enumerate(shuffled(train, training.batch_size, generator)):
                batch = batch.to(model.device)  # noqa: PLW2901
                optimizer.zero_grad(set_to_none=True)
                loss = objective(model(batch), batch)
                loss.backward()
                for group in optimizer.param_groups:
                    group["lr"] = training.learning_rate * training.rate((number - 1) * steps + step)
                if training.clip:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), training.clip)
                optimizer.step()
                total += loss.detach()
                tick(1, **({} if step % 25 else {"epoch": number, "loss": float(loss.detach()) / len(batch)}))
            _refuse_diverged(model, number, float(total), training)
            reached, right = on_dev(model, dev, training)
            if score is not None:
                reached = score(model, dev)
            if not epochs or reached > max(epoch.score for epoch in epochs):
                best = {name: value.detach().clone() for name, value in model.state_dict().items()}
            seconds = time.perf_counter() - started
            epochs.append(Epoch(number, float(total) / len(train), reached, right, seconds))
            tick(0, epoch=number, loss=epochs[-1].loss, dev=reached)
            if resume is not None and number < training.epochs:
                resume.save(model, best, optimizer, generator, [epoch.to_record() for epoch in epochs])
    model.load_state_dict(best)
    model.eval()
    return epochs


def task_objective(model: Network, train: Encoded, training: Training) -> CrossEntropy:
    """The cross-entropy of the answers, classes weighted as the training says."""
    balanced = training.balance_classes and not isinstance(model, Generates)
    weights = class_balance(torch.from_numpy(train.labels), model.classes) if balanced else None
    return CrossEntropy(weights, training.smoothing)


def _refuse_diverged(model: Network, number: int, loss: float, training: Training) -> None:
    """Stop a training whose loss or weights are no longer finite: nothing that follows would mean anything."""
    if math.isfinite(loss) and all(bool(weight.isfinite().all()) for weight in model.parameters()):
        return
    broken = "weights" if math.isfinite(loss) else "loss"
    clip = f"a clip below {training.clip:g}" if training.clip else "a gradient clip"
    raise Diverged(
        f"Training diverged in epoch {number}: its {broken} must be finite, and no longer is. Train again with a "
        f"learning rate below {training.learning_rate:g} (--learning-rate) or with {clip} (--clip)."
    )


def best_epoch(epochs: list[Epoch]) -> Epoch:
    """The first epoch that reached the best dev score."""
    return max(epochs, key=lambda epoch: (epoch.score, -epoch.number))


def _groups(model: Network, training: Training) -> list[dict[str, Any]]:
    """Weight decay on everything, or on everything but attention."""
    spared = set() if training.decay_attention else {id(p) for p in model.attention_parameters()}
    learned = [p for p in model.parameters() if p.requires_grad]
    decayed = [p for p in learned if id(p) not in spared]
    free = [p for p in learned if id(p) in spared]
    groups: list[dict[str, Any]] = [{"params": decayed, "weight_decay": training.weight_decay}]
    return [*groups, {"params": free, "weight_decay": 0.0}] if free else groups


@contextlib.contextmanager
def _own_chance(model: Network) -> Iterator[None]:
    """Torch's generators as they were, afterwards."""
    devices = [model.device] if model.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        yield


@torch.no_grad()
def on_dev(model: Network, dev: Encoded, training: Training) -> tuple[float, float]:
    """The score that chooses the epoch, and the share of right predictions."""
    if not isinstance(model, Generates):
        probabilities = predict(model, dev)
        right = accuracy(dev.labels, probabilities.argmax(-1))
        return SCORES[training.score(model)](dev.labels, probabilities), right
    model.eval()
    total = torch.zeros(2, dtype=torch.float64, device=model.device)
    for batch, reading in readings(model, dev):
        likely = reading.logits.log_softmax(-1).gather(1, batch.labels[:, None]).double().sum()
        total += torch.stack([likely, (reading.predicted == batch.labels).double().sum()])
    likelihood, right = (total / max(1, int(dev.steps.sum()))).tolist()
    return likelihood, right


@torch.no_grad()
def predict(model: Network, encoded: Encoded) -> np.ndarray:
    """The predicted distribution of every instance, in the split's order."""
    model.eval()
    out = np.zeros((len(encoded), model.classes))
    for batch, reading in readings(model, encoded):
        out[batch.rows.cpu().numpy()] = reading.probabilities.double().cpu().numpy()
    return out


def readings(subject: Subject, encoded: Encoded) -> Iterator[tuple[Batch, Reading]]:
    """What a subject says of a whole split, batch by batch on its device; in halves where memory runs out."""
    most = 4096 if subject.device.type == "cpu" else 131_072
    for batches in bucketed(encoded, tokens=most):
        waiting = list(batches)[::-1]
        while waiting:
            batch = waiting.pop()
            if batch.texts == 1 or batch.text.tokens.numel() <= most:
                there = batch.to(subject.device)
                try:
                    reading = subject.read(there)
                except RuntimeError as error:
                    if batch.texts == 1 or not ran_out(error):
                        raise
                    most = -(-len(batch) // 2) * batch.text.tokens.shape[1]
                else:
                    yield there, reading
                    continue
                # Beyond the except block, so that the failed call's tensors are free by now.
                if torch.cuda.is_available():
                    torch.cuda.empty_cache()
            waiting.extend(batch.halves()[::-1])
