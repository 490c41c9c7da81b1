"""Training that goes on where it was killed: everything an epoch leaves behind, in one safetensors file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from attentest.store.atomic import replacing

__all__ = ["Resume"]

_KEY = "attentest"


@dataclass
class Resume:
    """Where training keeps its state, and how often; a state of another training, or a broken one, is not used."""

    path: Path
    #: What decides the training; a file with another key belongs to another one.
    key: str
    #: Seconds that pass at least between two checkpoints; 0: after every epoch.
    every: float = 20.0
    say: Callable[[str], None] = lambda line: None
    _saved: float = field(default_factory=time.monotonic)

    def save(
        self,
        model: nn.Module,
        best: Mapping[str, Tensor],
        optimizer: torch.optim.Optimizer,
        generator: torch.Generator,
        epochs: list[dict[str, Any]],
    ) -> None:
        """After an epoch: keep everything, if enough time has passed since the last checkpoint."""
        if time.monotonic() - self._saved < self.every:
            return
        tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
        tensors |= {f"best.{name}": value for name, value in best.items()}
        for index, state in optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{name}": torch.as_tensor(value) for name, value in state.items()}
        tensors["generator"] = generator.get_state()
        # Cloned: tied tensors must not share memory in the file.
        kept = {name: value.detach().cpu().clone().contiguous() for name, value in tensors.items()}
        about = json.dumps({"key": self.key, "epochs": epochs, "sha256": _seal(self.key, epochs, kept)}, sort_keys=True)
        with replacing(self.path) as temporary:
            save_file(kept, temporary, metadata={_KEY: about})
        self._saved = time.monotonic()

    def load(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, generator: torch.Generator
    ) -> tuple[list[dict[str, Any]], dict[str, Tensor]]:
        """Put back what was kept: the epochs so far and the best weights; nothing and nothing when there is none."""
        if not self.path.is_file():
            return [], {}
        try:
            with safe_open(self.path, framework="pt") as file:
                about = json.loads((file.metadata() or {})[_KEY])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            if about["key"] != self.key:
                return [], {}
            if about.get("sha256") != _seal(self.key, about["epochs"], tensors):
                raise ValueError("it was altered after it was written")
            state: dict[int, dict[str, Tensor]] = {}
            for name, value in _under("optimizer.", tensors).items():
                index, _, what = name.partition(".")
                state.setdefault(int(index), {})[what] = value
            groups = optimizer.state_dict()["param_groups"]
            best = _under("best.", tensors)
            model.load_state_dict(_under("model.", tensors))
            optimizer.load_state_dict({"state": state, "param_groups": groups})
            generator.set_state(tensors["generator"])
        except (SafetensorError, KeyError, ValueError, TypeError, RuntimeError, OSError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            self.say(f"{self.path} cannot be used ({reason}); training from the beginning.")
            return [], {}
        self.say(f"Going on after epoch {len(about['epochs'])}.")
        return list(about["epochs"]), {name: value.to(_device(model)) for name, value in best.items()}

    def forget(self) -> None:
        """Training has ended: the finished model takes the place of the checkpoint."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)


def _seal(key: str, epochs: list[dict[str, Any]], tensors: Mapping[str, Tensor]) -> str:
    """The sha256 of all that a state holds."""
    total = hashlib.sha256(json.dumps([key, epochs], sort_keys=True).encode())
    for name, value in sorted(tensors.items()):
        total.update(f"\n{name} {value.dtype} {tuple(value.shape)}\n".encode())
        total.update(value.contiguous().view(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device
