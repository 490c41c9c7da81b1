"""Checkpoints: safetensors for the weights, JSON for the rest, no pickles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from attentest.data.vocabulary import Vocabulary
from attentest.errors import AttentestError, CheckpointError
from attentest.models.architecture import Architecture
from attentest.models.network import Network, build_network
from attentest.store.atomic import replacing, write_text

__all__ = ["load_network", "load_vocabulary", "save_network", "save_vocabulary"]

_KEY = "attentest"


def save_network(path: Path, network: Network, architecture: Architecture) -> None:
    """The weights, with the architecture in the file's metadata (one key: several come in random order)."""
    about = {
        "architecture": architecture.to_record(),
        "words": network.words,
        "classes": network.classes,
    }
    tensors = {name: value.detach().cpu().contiguous() for name, value in network.state_dict().items()}
    with replacing(path) as temporary:
        save_file(tensors, temporary, metadata={_KEY: json.dumps(about, sort_keys=True)})


def load_network(path: Path, device: torch.device) -> tuple[Network, Architecture]:
    """The network as it was saved: the same outputs."""
    advice = "Give the folder of a run made by 'attentest train' or 'attentest audit'."
    if not path.is_file():
        raise CheckpointError(f"{path} does not exist. {advice}")
    try:
        with safe_open(path, framework="pt") as file:
            about: dict[str, Any] = json.loads((file.metadata() or {})[_KEY])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        architecture = Architecture.from_record(about["architecture"])
        network = build_network(architecture, about["words"], about["classes"], torch.Generator().manual_seed(0))
        network.load_state_dict(tensors)
    except KeyError as error:
        raise CheckpointError(f"{path} is a foreign checkpoint: attentest's metadata is missing. {advice}") from error
    except SafetensorError as error:
        raise CheckpointError(f"{path} is truncated or not a safetensors file ({error}). {advice}") from error
    except (AttentestError, OSError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise CheckpointError(f"{path} does not hold the model it describes ({reason}). {advice}") from error
    network.to(device)
    network.eval()
    return network, architecture


def save_vocabulary(path: Path, vocabulary: Vocabulary) -> None:
    """The words in order, as a JSON list; with those to write, two lists by name."""
    words: Any = vocabulary.words
    if vocabulary.target is not None:
        words = {"source": vocabulary.words, "target": vocabulary.target.words}
    write_text(path, json.dumps(words, ensure_ascii=False) + "\n")


def load_vocabulary(path: Path) -> Vocabulary:
    """The words in order."""
    try:
        words = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(words, dict) and set(words) == {"source", "target"}:
            return Vocabulary(_words(words["source"]), Vocabulary(_words(words["target"])))
        return Vocabulary(_words(words))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} is not a vocabulary ({error}). The run's folder is incomplete.") from error


def _words(words: Any) -> tuple[str, ...]:
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError("not a list of words")
    return tuple(words)
