"""DiffMask: the fewest words with which the model predicts as with all of them, learnt over the training texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch, Encoded
from attentest.errors import InputError, NotApplicable
from attentest.explainers.explainer import Attribution, Explainer
from attentest.explainers.shared import Shared
from attentest.explainers.trained.masker import LEARNT, Masker, Masking
from attentest.models.capabilities import Generates, Layered
from attentest.models.network import Network
from attentest.models.networks.classifier import is_shareable
from attentest.models.subject import BASELINES, Reading, Subject
from attentest.parameters import POSITIVE, SEEDS, Within
from attentest.training.adversarial import Recorded
from attentest.training.loop import Training, fit

__all__ = ["DiffMask"]

#: So many of its texts choose the epoch.
CHOOSING = 256


@dataclass(frozen=True)
class DiffMask(Explainer):
    """How probable it is that a word is kept, by gates that were trained to keep few and leave the prediction.

    The model stays as it is. For every word its embedding and its state give a hard-concrete gate, 0 or 1 with
    probabilities above zero; where it closes, a learnt embedding stands in the word's place (or a fixed one, `absent`,
    so that a challenge can take words out in the same way). Over the training texts
    the expected share of kept words is made small while KL(ŷ ‖ ŷ of the masked text) stays within `margin`, by a
    Lagrange multiplier. The words above one half are the selection. What is learnt is shared by all texts, so one text
    cannot be given words that happen to fool the model. De Cao et al. mask the states of every layer in turn; here the
    input alone is masked. Learnt once for a run, before the first text, from the training texts, and kept in the run's
    folder: `attentest explain` takes them from there.
    """

    name: ClassVar[str] = "diffmask"
    summary: ClassVar[str] = "probability that the word is kept by gates learnt to keep few and leave the prediction"
    reference: ClassVar[str] = "De Cao et al. 2020"
    cost: ClassVar[str] = "training: two forward and one backward pass per epoch and training text; then one forward"
    selects: ClassVar[bool] = True
    margin: Annotated[float, "KL in nats by which predictions may move, on average.", POSITIVE] = 0.1
    epochs: Annotated[int, "Passes over the training texts.", Within(1, 1000)] = 10
    rate: Annotated[float, "Adam's step size.", POSITIVE] = 0.003
    absent: Annotated[
        str, "What stands for a word left out: `learnt`, an embedding learnt with the gates, or `zero`, `mean`, `mask`."
    ] = LEARNT
    texts: Annotated[int, "At most so many training texts, drawn at random.", Within(2, 10**6)] = 2000
    seed: Annotated[int, "The seed of its first weights and its draws.", SEEDS] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.absent not in (LEARNT, *BASELINES):
            known = ", ".join((LEARNT, *BASELINES))
            raise InputError(f"Explainer 'diffmask': absent={self.absent!r} must be one of {known}.")

    def further_objection(self, subject: Subject) -> str | None:
        """Its gates are for words, each with one state."""
        in_layers = isinstance(subject, Network) and isinstance(subject, Layered) and not isinstance(subject, Generates)
        if in_layers or is_shareable(subject):
            return None
        return "this is for classifiers that read words with a query of their own, and for checkpoints"

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """Refused: a batch has no training texts."""
        raise NotApplicable("explainer 'diffmask' is trained on the training texts of a run: use it in a challenge.")

    def explain_sharing(self, shared: Shared) -> Attribution:
        """The gates' probabilities, for any class; they are learnt when the first batch asks."""
        if shared.training is None:
            raise NotApplicable("explainer 'diffmask' needs training texts, and there are none for this model.")
        masker = shared.training.learned((self, id(shared.subject)), lambda encoded: self._learnt(shared, encoded))
        return Attribution(masker.kept(shared.batch, shared.reading))

    def _learnt(self, shared: Shared, encoded: Encoded) -> Masker:
        subject = shared.subject
        assert isinstance(subject, Network)
        some = encoded.some(self.texts, self.seed, "diffmask/texts")
        masker = Masker(subject, shared.reading.states.shape[-1], self.seed, self.absent).to(subject.device)
        few = some.some(CHOOSING, self.seed, "diffmask/choosing")
        masking, chosen = (Masking(masker, Recorded.of(subject, of), self.margin) for of in (some, few))
        training = Training(epochs=self.epochs, learning_rate=self.rate, weight_decay=0.0, patience=0)
        frozen = [parameter for parameter in subject.parameters() if parameter.requires_grad]
        try:
            for parameter in frozen:
                parameter.requires_grad_(False)
            with torch.enable_grad():
                fit(masker, some, few, training, seed=self.seed, objective=masking, score=chosen.score)
        finally:
            for parameter in frozen:
                parameter.requires_grad_(True)
        return masker
