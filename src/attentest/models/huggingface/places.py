"""Where a Transformers model attends: its attentions in the order in which they are called, and their layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from attentest.errors import InputError
from attentest.models.huggingface.attending import (
    NAME,
    Pass,
    SeenActivation,
    SeenEmbedding,
    SeenLayer,
    SeenLinear,
    register,
    under_way,
)
from attentest.models.huggingface.quick_layer import QuickLayer, is_quick
from attentest.models.products import forget

__all__ = ["Place", "Places", "mix", "seen"]


@dataclass(frozen=True)
class Place:
    """One attention."""

    #: "" where there is one kind; else "encoder", "decoder" (its own words) or "cross" (from decoder to encoder).
    kind: str
    #: Its layer's number within its kind, from 1.
    number: int
    heads: int
    #: The layer it is in, counted over the whole model in the order of calls.
    layer: int
    #: The name of the module that is given the attention's output; "" where it cannot be told.
    projection: str = ""

    @property
    def name(self) -> str:
        """As in ``layer 6`` or ``cross layer 2``."""
        return f"{self.kind} layer {self.number}".strip()


@dataclass(frozen=True)
class Places:
    """All attentions of a model in the order of calls; a layer is an element of its outermost list of layers."""

    places: tuple[Place, ...]
    #: The stack (encoder, decoder) of every layer, by the name of its list.
    stacks: tuple[str, ...]
    #: Whether all layers can be computed in few operations.
    quick: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention there are."""
        return tuple(dict.fromkeys(place.kind for place in self.places))


def seen(model: Any, inputs: dict[str, Tensor]) -> Places:
    """Put the attention function into the model, find its places on one example, and let passes see its layers."""
    register()
    kind = type(model).__name__
    if not model._can_set_attn_implementation():
        raise InputError(
            f"{kind} computes its attention by code of its own, not through Transformers' attention interface, so it "
            "cannot be overwritten there (DeBERTa mixes positions into it). Use a BERT- or GPT-like model."
        )
    model.set_attn_implementation(NAME)
    called: list[tuple[nn.Module, int, int]] = []
    outputs: list[Tensor] = []
    projections: dict[int, str] = {}
    names = {module: name for name, module in model.named_modules()}

    def note(module: nn.Module, query: Tensor, key: Tensor) -> None:
        called.append((module, query.shape[1], key.shape[2]))

    def project(module: nn.Module, given: tuple[Any, ...]) -> None:
        if outputs and given and isinstance(given[0], Tensor) and given[0].data_ptr() == outputs[-1].data_ptr():
            projections.setdefault(len(outputs) - 1, names[module])

    maps = [module for module in names if getattr(getattr(module, "weight", None), "ndim", 0) == 2]
    hooks = [module.register_forward_pre_hook(project) for module in maps if not isinstance(module, nn.Embedding)]
    with under_way(Pass(on_attention=note, on_output=lambda place, output: outputs.append(output))):
        model(**inputs)
    for hook in hooks:
        hook.remove()
    if not called:
        raise InputError(f"{kind} never asked Transformers' attention interface for its attention: it cannot be read.")
    layers: dict[str, nn.Module] = {}
    decoder = model.get_decoder() if getattr(model.config, "is_encoder_decoder", False) else None
    in_decoder = {id(module) for module in decoder.modules()} if decoder is not None else set()
    places: list[Place] = []
    for number, (module, heads, keys) in enumerate(called):
        name, layer = _layer(model, names[module], kind)
        layers.setdefault(name, layer)
        what = ""
        if decoder is not None:
            crosses = keys == inputs["input_ids"].shape[1]
            what = "encoder" if id(module) not in in_decoder else "cross" if crosses else "decoder"
        same = sum(place.kind == what for place in places)
        places.append(Place(what, same + 1, heads, list(layers).index(name), projections.get(number, "")))
        module.attentest_place = number  # type: ignore[assignment]
    for number, layer in enumerate(layers.values()):
        layer.attentest_layer = number  # type: ignore[assignment]
        mix(layer, QuickLayer if is_quick(layer) else SeenLayer)
        forget(layer)
    for module in names:
        if _is_activation(module):
            mix(module, SeenActivation)
        if type(module) is nn.Linear:
            mix(module, SeenLinear)
    mix((model.get_encoder() if decoder is not None else model).get_input_embeddings(), SeenEmbedding)
    quick = all(isinstance(layer, QuickLayer) for layer in layers.values())
    return Places(tuple(places), tuple(name.rpartition(".")[0] for name in layers), quick)


def _layer(model: Any, name: str, kind: str) -> tuple[str, nn.Module]:
    """The element of the outermost list of modules that holds the module of this name."""
    parts = name.split(".")
    for end in range(1, len(parts)):
        if isinstance(model.get_submodule(".".join(parts[:end])), nn.ModuleList):
            path = ".".join(parts[: end + 1])
            return path, model.get_submodule(path)
    raise InputError(f"{kind}: the attention {name!r} is in no list of layers, so its layer cannot be told.")


def _is_activation(module: nn.Module) -> bool:
    """Whether this is a function of each number by itself; torch's own are known by the functions they call."""
    own = type(module)
    named = own.__name__.lower().endswith(("gelu", "silu", "swish", "relu"))
    return own.__module__ == "transformers.activations" or (named and own.__module__.startswith("transformers."))


def mix(module: nn.Module, seen_class: type[nn.Module]) -> None:
    """Let a module's class begin with ours; it keeps its name and is found by isinstance as before."""
    if not isinstance(module, seen_class):
        own = type(module)
        module.__class__ = type(own.__name__, (seen_class, own), {"__module__": own.__module__})
