"""A PyTorch module as a subject, by the name of the module in it that attends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attentest.data.batches import Batch
from attentest.errors import InputError, suggestion
from attentest.models.copies import copies
from attentest.models.custom.own_model import OwnModel, as_logits, call_of, declared, read_again, sample
from attentest.models.huggingface.attending import Pass, SeenEmbedding, attend, current, under_way
from attentest.models.huggingface.partial_forward.edits import holding, keeping
from attentest.models.huggingface.pieces import Layout
from attentest.models.huggingface.places import mix
from attentest.models.huggingface.pretrained import PretrainedReading
from attentest.models.huggingface.site import ROWS, Seen, Site, look, overwritten
from attentest.models.subject import Reading

__all__ = ["subject_of_module"]

#: Words that one pass over alternatives may hold.
WORDS = {"cpu": 16_384, "cuda": 262_144}


class SeenMultihead(nn.Module):
    """Mixed into ``nn.MultiheadAttention``: the pass under way may read and overwrite its weights."""

    attentest_place: int
    batch_first: bool
    num_heads: int

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """What the library computes, written out, where a pass is under way."""
        this: Any = self
        if current() is None:
            given = (query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal)
            found: tuple[Tensor, Tensor | None] = super().forward(*given)
            return found
        if not this.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        if this._qkv_same_embed_dim:
            sides = this.in_proj_weight.chunk(3)
        else:
            sides = (this.q_proj_weight, this.k_proj_weight, this.v_proj_weight)
        added = (None, None, None) if this.in_proj_bias is None else this.in_proj_bias.chunk(3)
        q, k, v = (
            nn.functional.linear(x, w, b).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for x, w, b in zip((query, key, value), sides, added, strict=True)
        )
        low = torch.finfo(q.dtype).min
        mask = q.new_zeros(len(q), 1, q.shape[2], k.shape[2])
        for part in (attn_mask, None if key_padding_mask is None else key_padding_mask[:, None, None]):
            if part is not None:
                shaped = part.unflatten(0, (len(q), -1)) if part.ndim == 3 else part
                mask = mask + (torch.zeros_like(mask).masked_fill(shaped, low) if part.dtype == torch.bool else shaped)
        output, _ = attend(self, q, k, v, mask.clamp(min=low), dropout=this.dropout if self.training else 0.0)
        made = this.out_proj(output.flatten(2))
        return (made if this.batch_first else made.transpose(0, 1)), None


class _Module(OwnModel):
    """A module whose attention is overwritten where it is made."""

    def __init__(self, module: nn.Module, call: Callable[..., Tensor], name: str, site: Site, **about: Any) -> None:
        super().__init__(**about)
        self.module, self.call, self.name, self.site = module, call, name, site
        self.called = f"module {name!r}"
        self.many = isinstance(module.get_submodule(name), SeenMultihead)

    @property
    def sites(self) -> tuple[str, ...]:
        """The named module."""
        return (self.name,)

    def at(self, site: str) -> _Module:
        """This one."""
        if site not in ("", self.name):
            raise InputError(f"site={site!r}: this subject attends at {self.name!r}; make another for another module.")
        return self

    def passed(self, this: Pass, batch: Batch) -> Float[Tensor, "batch class"]:
        """One pass of the module over the words of a batch."""
        with under_way(this):
            made = self.call(self.module, self.ids(batch), batch.mask[:, 1:-1])
        return as_logits(made, self.classes)

    def _layout(self, batch: Batch) -> Layout:
        """Every word is one slot; its position counts the start symbol."""
        ids, mask = self.ids(batch), batch.mask[:, 1:-1]
        here = torch.arange(1, ids.shape[1] + 1, device=ids.device)
        none = torch.zeros_like(ids)
        return Layout(ids, none, mask, here.where(mask, -1), none, batch.mask.shape[1])

    def read(
        self,
        batch: Batch,
        *,
        embeddings: Float[Tensor, "batch position embedding"] | None = None,
        detach_attention: bool = False,
    ) -> Reading:
        """One pass, the attention looked at on the way."""
        layout, found = self._layout(batch), list[Seen]()
        embedded = self.embed(batch) if embeddings is None and torch.is_grad_enabled() else embeddings

        def looked(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
            if (len(weights), weights.shape[-1]) != tuple(layout.ids.shape):
                raise InputError(
                    f"{self.name!r} weighs {weights.shape[-1]} things in each of {len(weights)} texts, and the texts "
                    f"are {list(layout.ids.shape)} words: it must weigh the words, all of them and nothing else."
                )
            found.append(look(self.site, layout, batch.mask, weights, values))
            return weights, found[0].values

        logits = self.passed(Pass({0: looked}, embeddings=_inner(embedded), detach=detach_attention), batch)
        if not found:
            raise InputError(f"{self.name!r} was not called when the model read a text: name a module that attends.")
        seen = found[0]
        held = Seen(*(part.detach() for part in seen))
        kept = None if embeddings is None else embeddings.detach()

        def above(weights: Tensor) -> Tensor:
            room = WORDS.get(weights.device.type, WORDS["cpu"]) // max(1, batch.mask.numel())
            return torch.cat(
                [self._again(batch, layout, held, part, kept) for part in weights.split(max(1, room), 1)], 1
            )

        shown = logits.new_zeros(*batch.mask.shape, 0) if embedded is None else embedded
        return PretrainedReading(logits, seen.weights, batch.mask, seen.states, shown, held.total, held.heads, above)

    def under_own_attention(
        self, batch: Batch, rows: Int[Tensor, " point"], embeddings: Float[Tensor, "point position embedding"]
    ) -> Float[Tensor, "point class"]:
        """The logits of texts at other embeddings, the named attention held at what it is for the text."""
        texts, which = rows.unique(return_inverse=True)
        kept = dict[int, Tensor]()
        with torch.no_grad():
            self.passed(Pass({0: keeping(kept, 0)}), copies(batch, texts))
        held = Pass({0: holding(kept[0], which)}, embeddings=_inner(embeddings))
        return self.passed(held, copies(batch, rows))

    def _again(self, batch: Batch, layout: Layout, seen: Seen, weights: Tensor, given: Tensor | None) -> Tensor:
        """The whole module under every alternative."""
        times = weights.shape[1]
        rows = torch.arange(len(batch), device=weights.device).repeat_interleave(times)
        wide, mass = layout[rows], seen.mass[rows]
        new = (weights * seen.total[:, None, None]).flatten(0, 1)

        def put(own: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
            return overwritten(self.site, wide, mass, new, own, allowed), values

        embeddings = None if given is None else _inner(given[rows])
        logits: Tensor = self.passed(Pass({0: put}, embeddings=embeddings), batch[rows]).unflatten(0, (-1, times))
        return logits


def _inner(embeddings: Tensor | None) -> Tensor | None:
    return None if embeddings is None else embeddings[:, 1:-1]


def subject_of_module(
    module: nn.Module,
    attention: str,
    *,
    words: Mapping[str, int],
    classes: int,
    row: str = "all",
    call: Callable[[nn.Module, Tensor, Tensor], Tensor] | None = None,
    embedding: str = "",
    unknown: str = "<unk>",
    pad: str = "<pad>",
) -> OwnModel:
    """A subject from a PyTorch module and the name of the module in it that attends.

    That is an ``nn.MultiheadAttention``, of which ``row`` says which query rows are read (all, first or last), or a
    module of yours that returns weights over the words, [batch, word], and nothing else. The model is called with the
    numbers of words and the mask (True where there is one), or, if it takes one argument, with the numbers alone, and
    returns logits, unless ``call`` says otherwise.
    """
    names = [name for name, _ in module.named_modules() if name]
    if attention not in names:
        raise InputError(f"{type(module).__name__} has no module {attention!r}. {suggestion(attention, names)}")
    tables = [name for name, part in module.named_modules() if isinstance(part, nn.Embedding)]
    if not embedding and not tables:
        raise InputError(f"{type(module).__name__} has no nn.Embedding: use subject_of_functions.")
    table = module.get_submodule(embedding or tables[0])
    if not isinstance(table, nn.Embedding):
        raise InputError(f"embedding={embedding!r} must be an nn.Embedding: it has {', '.join(tables)}.")
    if row not in ROWS:
        raise InputError(f"row={row!r} must be one of {', '.join(ROWS)}.")
    module.eval()
    about = declared(table, words, classes, unknown, pad)
    attends = module.get_submodule(attention)
    attends.attentest_place = 0  # type: ignore[assignment]
    if isinstance(attends, nn.MultiheadAttention):
        if attends.bias_k is not None or attends.add_zero_attn:
            raise InputError(
                f"{attention!r} weighs more than the words (add_bias_kv, add_zero_attn), so its attention cannot be "
                "overwritten. Train it without these, or use subject_of_functions."
            )
        mix(attends, SeenMultihead)
        attends.register_forward_pre_hook(_no_fast_path)
    elif not getattr(attends, "attentest_hooked", False):
        attends.register_forward_hook(_overwrite)
        attends.attentest_hooked = True  # type: ignore[assignment]
        row = "all"
    mix(table, SeenEmbedding)
    subject = _Module(module, call_of(module, call), attention, Site(0, None, row), **about).eval()
    batch = sample(subject).to(subject.device)
    _tried(subject, attends, batch)
    with torch.no_grad():
        read_again(subject, batch)
    return subject


def _tried(subject: _Module, attends: nn.Module, batch: Batch) -> None:
    """One pass of the model as it is, which must be called, attend and answer as is needed here."""
    ids, mask = subject.ids(batch), batch.mask[:, 1:-1]
    kind, size, made = type(subject.module).__name__, list(ids.shape), list[Any]()
    hook = attends.register_forward_hook(lambda module, given, output: made.append(output))
    try:
        with torch.no_grad():
            output = subject.call(subject.module, ids, mask)
    except Exception as error:
        raise InputError(
            f"{kind} cannot be called with words {size}{_said(error)}: its forward must take the words' numbers, or "
            "these and the mask, both [batch, word]. Else say how to call it: call=lambda model, words, mask: model(…)."
        ) from error
    finally:
        hook.remove()
    if not isinstance(output, Tensor):
        raise InputError(
            f"{kind} returns {_shapes(output)}, not logits [batch, class] alone: say where they are, as in "
            "call=lambda model, words, mask: model(words, mask)[0]."
        )
    as_logits(output, subject.classes)
    if len(made) != 1:
        raise InputError(
            f"{subject.name!r} was called {len(made)} times when the model read a text, and must be called once: name "
            "a module that attends once, or use subject_of_functions."
        )
    if not isinstance(attends, nn.MultiheadAttention):
        _refuse_no_weights(type(attends).__name__, made[0], size)


def _refuse_no_weights(kind: str, output: Any, size: list[int]) -> None:
    """What a module of the user's returns must be weights over the words, and nothing else."""
    texts, words = size
    if isinstance(output, Tensor) and list(output.shape) in (size, [texts, 1, words], [texts, words, 1]):
        return
    raise InputError(
        f"{kind} returns {_shapes(output)} for words {size}, and must return weights over the words, [batch, word], "
        "alone: other weights can be put in their place only where the weighted sum is made outside of it. Name the "
        "module that makes the weights, or use subject_of_functions."
    )


def _shapes(output: Any) -> str:
    """What came, by its shapes."""
    if isinstance(output, Tensor):
        return f"a tensor {list(output.shape)}"
    if isinstance(output, tuple | list) and output:
        return f"a {type(output).__name__} ({', '.join(_shapes(part) for part in output)})"
    return f"a {type(output).__name__}"


def _said(error: Exception) -> str:
    """The first line of an error, in brackets."""
    first = next(iter(str(error).strip().splitlines()), "")[:200]
    return f" ({type(error).__name__}{': ' if first else ''}{first})"


def _no_fast_path(module: nn.Module, given: Any) -> None:
    """Nothing: that there is a hook keeps nn.TransformerEncoderLayer from passing its attention over."""


def _overwrite(module: nn.Module, given: Any, output: Any) -> Any:
    """The weights that a module of the user's returns, with what the pass under way does to them."""
    this = current()
    if this is None or 0 not in this.edits:
        return output
    weights = output.detach() if this.detach else output
    shaped = weights.reshape(len(weights), 1, 1, -1)
    values = torch.ones(len(weights), 1, shaped.shape[-1], 1, device=weights.device, dtype=weights.dtype)
    every = torch.ones(1, 1, shaped.shape[-1], dtype=torch.bool, device=weights.device)
    new, seen = this.edits[0](shaped, values.requires_grad_(torch.is_grad_enabled()), every)
    # What is weighed stays unknown: it is in the graph, and nothing depends on it.
    return (new + 0.0 * seen.transpose(-1, -2)).reshape(output.shape)
