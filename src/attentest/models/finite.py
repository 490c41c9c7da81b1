"""A model with a weight that is not finite says nothing: it is refused before anything is asked of it."""

from __future__ import annotations

from torch import nn

from attentest.errors import CheckpointError

__all__ = ["INSTEAD", "refuse_weights"]

#: The next step.
INSTEAD = (
    "Give another model, or train it again with a lower learning rate (--learning-rate) or a gradient clip (--clip)."
)


def refuse_weights(model: nn.Module) -> None:
    """Refuse a model with a weight that is not finite, by the name of the first."""
    for name, weight in model.named_parameters():
        if weight.is_meta:  # kept elsewhere until a layer needs it (device_map)
            continue
        if broken := int((~weight.isfinite()).sum()):
            raise CheckpointError(
                f"{broken:,} of {weight.numel():,} weights in {name} are not finite (NaN or infinite), so the model "
                f"cannot be judged. {INSTEAD}"
            )
