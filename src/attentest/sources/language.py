"""A causal language model that is asked for the probability of given answers, many prompts at a time.

Prompts that begin alike share the work: keys and values of what they have in common are computed once. A pass goes
through its tokens some at a time, so that attention is never held for more than a few rows of one layer.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attentest.errors import InputError
from attentest.explainers.budget import in_slices, positions
from attentest.models.finite import refuse_weights
from attentest.models.huggingface.attending import Edit, Pass, under_way
from attentest.models.huggingface.building import longest_allowed
from attentest.models.huggingface.places import seen
from attentest.models.huggingface.recomputing import NUMBERS
from attentest.sources.batching import START, grouped

__all__ = ["Cost", "LanguageModel", "Prefix", "shared_length"]

#: Tokens that a pass goes through at once, at most.
CHUNK = 512
#: Prompts that go through together, at most.
MOST = 256


@dataclass
class Cost:
    """What was spent: prompts read, tokens computed for them, and seconds."""

    passes: int = 0
    tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Prefix:
    """Tokens that were read, and every layer's keys and values of them."""

    ids: tuple[int, ...]
    layers: tuple[tuple[Tensor, Tensor], ...]


@dataclass(eq=False)
class LanguageModel:
    """A causal model of the Transformers library, through whose attention interface every layer attends."""

    model: Any
    tokenizer: Any
    #: What was spent since it was made.
    cost: Cost = field(default_factory=Cost)

    def __post_init__(self) -> None:
        kind = type(self.model).__name__
        if getattr(self.model.config, "is_encoder_decoder", False) or self.model.get_output_embeddings() is None:
            raise InputError(
                f"{kind} does not continue a text: answers from sources are explained for causal language models "
                "(AutoModelForCausalLM)."
            )
        self.model.eval()
        refuse_weights(self.model)
        some = torch.arange(3, 11, device=self.device)[None] % self.model.config.get_text_config().vocab_size
        with torch.no_grad():
            self.places = seen(self.model, {"input_ids": some, "attention_mask": torch.ones_like(some)}).places
        layers = int(self.model.config.get_text_config().num_hidden_layers)
        if len(self.places) < layers:
            raise InputError(
                f"{kind}: {layers - len(self.places)} of its {layers} layers have no attention of the usual kind, so "
                "what they read from a source cannot be told. Use a model that attends in every layer."
            )
        self._takes = set(inspect.signature(self.model.forward).parameters)
        #: Whether what prompts have in common is computed once: not where layers forget what lies far behind.
        self.shares = not any(layer.is_sliding for layer in self._cache(()).layers)

    @property
    def device(self) -> torch.device:
        """Where the model takes its tokens; its layers may lie elsewhere."""
        table = self.model.get_input_embeddings()
        placed = getattr(getattr(table, "_hf_hook", None), "execution_device", None)
        return torch.device(table.weight.device if placed is None else placed)

    @property
    def heads(self) -> tuple[int, ...]:
        """How many heads each layer has."""
        return tuple(place.heads for place in self.places)

    @property
    def longest(self) -> int | None:
        """How many tokens a prompt and its answer may have; None: nothing limits it."""
        return longest_allowed(self.model.config, self.tokenizer)

    def check_length(self, tokens: int, what: str) -> None:
        """Refuse a prompt that the model has no positions for."""
        if self.longest is not None and tokens > self.longest:
            raise InputError(
                f"{what} has {tokens:,} tokens with its answer, and the model reads at most {self.longest:,}. "
                "Give fewer or shorter sources."
            )

    @torch.no_grad()
    def prefix(self, ids: Sequence[int], edits: Mapping[int, Edit] | None = None) -> Prefix:
        """Read tokens and keep their keys and values; ``edits`` may look at the attention on the way."""
        began, cache = time.perf_counter(), self._cache(())
        row = torch.tensor([list(ids)], device=self.device)
        with under_way(Pass(edits=edits or {})):
            self._through(row, cache, None, 0)
        self._spend(0, len(ids), began)
        return Prefix(tuple(ids), tuple((layer.keys, layer.values) for layer in cache.layers))

    @torch.no_grad()
    def log_probabilities(
        self,
        prompts: Sequence[Sequence[int]],
        answer: Sequence[int],
        *,
        prefix: Prefix | None = None,
        edits: Mapping[int, Edit] | None = None,
    ) -> Float[Tensor, "prompt token"]:
        """The log-probability of every token of the answer behind every prompt, under forced decoding.

        ``edits`` are for a single prompt, or for prompts that all go through in one batch.
        """
        shared = [shared_length(prefix.ids, prompt) if prefix and self.shares else 0 for prompt in prompts]
        # The last token of a prompt is always read: its output is the first token of the answer.
        shared = [min(each, len(prompt) - 1) for each, prompt in zip(shared, prompts, strict=True)]
        lengths = [len(prompt) + len(answer) for prompt in prompts]
        largest = min(MOST, max(1, positions(self.device) // max(lengths)))
        start = START.get(self.device.type, START["cuda"])
        groups = [list(range(len(prompts)))] if edits else grouped(shared, lengths, largest=largest, start=start)
        out = torch.zeros(len(prompts), len(answer), dtype=torch.float64)
        for group in groups:

            def work(part: slice, group: list[int] = group) -> None:
                rows = group[part]
                out[rows] = self._forced(
                    [prompts[n] for n in rows], answer, prefix, min(shared[n] for n in rows), edits or {}
                )

            in_slices(work, len(group), len(group))
        return out

    def _forced(
        self,
        prompts: list[Sequence[int]],
        answer: Sequence[int],
        prefix: Prefix | None,
        shared: int,
        edits: Mapping[int, Edit],
    ) -> Tensor:
        began = time.perf_counter()
        tails = [[*prompt[shared:], *answer[:-1]] for prompt in prompts]
        width = max(map(len, tails))
        # Padding stands behind: under a causal mask nothing sees it.
        ids = torch.tensor([tail + [0] * (width - len(tail)) for tail in tails], device=self.device)
        starts = torch.tensor([len(tail) - len(answer) for tail in tails], device=self.device)
        rows = starts[:, None] + torch.arange(len(answer), device=self.device)
        known = () if prefix is None or not shared else prefix.layers
        cache = self._cache(
            [tuple(kept[:, :, :shared].expand(len(ids), -1, -1, -1) for kept in pair) for pair in known]
        )
        with under_way(Pass(edits=edits)):
            out = self._through(ids, cache, rows, shared)
        coded = torch.tensor(list(answer), device=self.device)
        found = out.float().log_softmax(-1).gather(-1, coded.expand(len(ids), -1)[..., None])[..., 0]
        self._spend(len(prompts), ids.numel(), began)
        return found.double().cpu()

    def _through(self, ids: Tensor, cache: Any, rows: Tensor | None, before: int) -> Tensor:
        """The logits at some positions of every row; without any, what is read is only kept in the cache."""
        batch, width = ids.shape
        each = NUMBERS.get(self.device.type, NUMBERS["cpu"]) // (batch * max(self.heads) * (before + width))
        size, found = max(1, min(CHUNK, each)), None
        for start in range(0, width, size):
            part = ids[:, start : start + size]
            inputs: dict[str, Any] = {"input_ids": part, "past_key_values": cache, "use_cache": True}
            here = None if rows is None else (rows >= start) & (rows < start + part.shape[1])
            wanted = rows[here].unique() - start if rows is not None and here is not None and here.any() else None
            if "logits_to_keep" in self._takes:
                inputs["logits_to_keep"] = 1 if wanted is None else wanted
            logits = self.model(**inputs).logits.to(ids.device)
            if rows is None or here is None or wanted is None:
                continue
            found = logits.new_zeros(*rows.shape, logits.shape[-1]) if found is None else found
            place = rows - start
            if "logits_to_keep" in self._takes:
                place = torch.searchsorted(wanted, place.clamp(min=0))
            place = place.clamp(0, logits.shape[1] - 1)
            picked = logits.gather(1, place[..., None].expand(-1, -1, logits.shape[-1]))
            found = torch.where(here[..., None], picked, found)
        return ids.new_zeros(0) if found is None else found

    def _cache(self, layers: Sequence[tuple[Tensor, ...]]) -> Any:
        from transformers import DynamicCache

        return DynamicCache(ddp_cache_data=layers) if layers else DynamicCache(config=self.model.config)

    def _spend(self, passes: int, tokens: int, began: float) -> None:
        if self.device.type == "cuda":  # it computes while Python goes on
            torch.cuda.synchronize(self.device)
        self.cost.passes += passes
        self.cost.tokens += tokens
        self.cost.seconds += time.perf_counter() - began

    @torch.no_grad()
    def generate(self, ids: Sequence[int], longest: int = 32) -> tuple[int, ...]:
        """The model's own answer, the most probable token each time, up to the end of its turn or first paragraph."""
        from attentest.models.huggingface.checkpoint import quietly

        row = torch.tensor([list(ids)], device=self.device)
        with quietly():
            found = self.model.generate(
                row,
                attention_mask=torch.ones_like(row),
                do_sample=False,
                max_new_tokens=longest,
                pad_token_id=self.tokenizer.pad_token_id or 0,
                stop_strings=["\n"],
                tokenizer=self.tokenizer,
            )
        ends = self.model.generation_config.eos_token_id
        ends = set(ends if isinstance(ends, list) else [ends])
        answer = [int(token) for token in found[0, len(ids) :]]
        stop = next((place for place, token in enumerate(answer) if token in ends), len(answer))
        while stop and "\n" in self.tokenizer.decode(answer[stop - 1]):
            stop -= 1
        return tuple(answer[:stop])


def shared_length(first: Sequence[int], second: Sequence[int]) -> int:
    """How many tokens two prompts have in common at their beginning."""
    length = min(len(first), len(second))
    return next((place for place in range(length) if first[place] != second[place]), length)
