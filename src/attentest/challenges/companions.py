"""Companions: other models that a challenge compares the subject with, described by what differs from it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from attentest.errors import InputError

__all__ = ["SUBJECT", "Against", "Companion"]


@dataclass(frozen=True)
class Against:
    """Trained to predict as the subject does and to attend elsewhere: TVD(ŷ, ŷ') − λ·divergence(α', α) is minimised."""

    weight: float
    divergence: str = "kl"
    #: The released code has half the TVD.
    halved: bool = False
    #: The split that chooses the epoch; the released code's choice is "test".
    select: str = "dev"

    def __post_init__(self) -> None:
        if not 0 <= self.weight < math.inf:
            raise InputError(f"The adversary's weight λ={self.weight} must be a number of at least zero.")
        if self.divergence not in ("kl", "jsd"):
            raise InputError(f"divergence={self.divergence!r} must be 'kl' or 'jsd'.")
        if self.select not in ("dev", "test"):
            raise InputError(f"select={self.select!r} must be 'dev' or 'test'.")


@dataclass(frozen=True)
class Companion:
    """The subject's run, but for what is named here. Without any difference it is the subject itself."""

    #: Added to the seed of the subject's run.
    seed: int = 0
    encoder: str | None = None
    attention: str | None = None
    #: Its attention is not its own: it is given this model's weights, in training and after.
    guide: Companion | None = None
    #: Trained against the subject, not on the labels.
    against: Against | None = None
    #: Begins from this model's weights, not from new ones.
    starts_from: Companion | None = None

    @property
    def needs(self) -> tuple[Companion, ...]:
        """Those that must be trained before it, and before those, in that order; each may come more than once."""
        direct = (SUBJECT if self.against is not None else None, self.guide, self.starts_from)
        return tuple(one for other in direct if other is not None for one in (*other.needs, other))

    def __str__(self) -> str:
        """What a person calls it."""
        words = [
            "" if self.encoder is None else self.encoder,
            "" if self.attention is None else f"{self.attention} attention",
            "" if self.guide is None else f"with the weights of ({self.guide})",
            "" if self.against is None else f"adversary, λ = {self.against.weight:g} ({self.against.divergence})",
            "" if self.starts_from is None else "warm start",
            f"seed +{self.seed}" if self.seed else "",
        ]
        return ", ".join(word for word in words if word) or "the model itself"


#: The model under examination, as a companion's guide.
SUBJECT = Companion()
