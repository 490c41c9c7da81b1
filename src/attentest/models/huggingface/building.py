"""From a Transformers model, its tokenizer and a vocabulary of words to a subject that has passed its self-test."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attentest.data.batches import Batch, Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import END, Vocabulary
from attentest.errors import AttentestError, CheckpointError, InputError
from attentest.models.finite import refuse_weights
from attentest.models.huggingface.attending import Pass
from attentest.models.huggingface.partial_forward.erased_texts import logits_of_many
from attentest.models.huggingface.pieces import Frame, Layout, Pieces, frame_of, pieces_of
from attentest.models.huggingface.places import seen
from attentest.models.huggingface.pretrained import Pretrained
from attentest.models.huggingface.safe_loading import tokenizing
from attentest.models.huggingface.site import parse_site

__all__ = ["TOLERANCE", "build_pretrained", "framed_pieces", "longest_allowed", "self_test"]

#: How far logits may lie apart, as a share of the largest, when own weights are put back.
TOLERANCE = 1e-5
#: The same between two ways to read the same texts: rounding in every layer.
APART = 1e-3


@contextlib.contextmanager
def parts_that_fit() -> Iterator[None]:
    """What libraries say of a configuration, words and weights that do not belong together, in one line."""
    try:
        yield
    except (AttentestError, MemoryError):
        raise
    except Exception as error:  # of whatever kind: a checkpoint may hold anything
        said = (str(error).strip().splitlines() or [""])[0][:200]
        raise CheckpointError(
            f"The checkpoint cannot be run ({type(error).__name__}: {said}): its configuration, words and weights do "
            "not fit together. Save model and tokenizer again with save_pretrained, into one folder."
        ) from error


@parts_that_fit()
def build_pretrained(
    model: Any,
    tokenizer: Any,
    vocabulary: Vocabulary,
    *,
    pair: bool = False,
    answers: Mapping[str, str] | Sequence[str] | None = None,
    prompt: str = "{text}",
    pieces: Pieces | None = None,
    site: str = "",
) -> Pretrained:
    """The model as a subject over the words of a vocabulary, tested.

    ``answers`` are the words by which a language model names the classes, in their order; without them its classes are
    all its tokens. ``prompt`` says what stands round the text, for language models. ``pieces`` are the words cut by
    ``framed_pieces``, where that was done before. A ``site`` that the model does not have is refused before the test.
    """
    _refuse_read_twice(model)
    model.eval()
    if pieces is None:
        pieces = framed_pieces(tokenizer, vocabulary, pair=pair, prompt=prompt)
    if getattr(model.config, "pad_token_id", None) is None and "ForSequenceClassification" in type(model).__name__:
        model.config.pad_token_id = int(tokenizer.pad_token_id)
    pieces = pieces.to(next(model.parameters()).device)
    start, coded, classes = None, None, int(getattr(model.config, "num_labels", 0))
    if getattr(model.config, "is_encoder_decoder", False):
        start = getattr(model.config, "decoder_start_token_id", None)
        if start is None:
            raise InputError(
                f"{type(model).__name__} does not say what its decoder begins with (decoder_start_token_id)."
            )
    if model.get_output_embeddings() is not None:
        classes = int(model.get_output_embeddings().weight.shape[0])
        if answers is not None:
            coded = _answers(tokenizer, list(answers.values() if isinstance(answers, Mapping) else answers))
            classes = len(coded)
    elif "ForSequenceClassification" not in type(model).__name__:
        raise InputError(
            f"{type(model).__name__} has no output for classes: load a model for sequence classification, or a "
            "language model with words for the classes (label_words)."
        )
    refuse_weights(model)
    sample = _sample(vocabulary, pair, pieces.cut)
    with torch.no_grad():
        before = _reference(model, tokenizer, vocabulary, sample, prompt, start)
        places = seen(model, _example(pieces, start, next(model.parameters()).device))
    parse_site(site, places, "all")
    subject = Pretrained(model, pieces, places, classes, "all", answers=coded, start=start)
    subject.eval()
    batch = sample.to(subject.device)
    subject.rows = _rows(subject, batch)
    subject.site = subject.at("").site
    if before is not None and coded is None and start is None:
        _compare_with_library(subject, before)
    subject.narrow = True
    try:
        self_test(subject, batch)
        subject.narrow = _same_alone(subject, batch)
    except InputError:
        subject.narrow = False
        self_test(subject, batch)
    subject.quick = subject.narrow and subject.rows == "first" and places.quick
    subject.quick = subject.quick and _same_alone(subject, batch)
    return subject


@parts_that_fit()
def framed_pieces(tokenizer: Any, vocabulary: Vocabulary, *, pair: bool = False, prompt: str = "{text}") -> Pieces:
    """The words of a vocabulary cut into pieces, and what stands round a text of them."""
    if (pad := tokenizer.pad_token_id) is None:
        raise InputError(
            "The tokenizer has no padding token, so texts of different lengths cannot be read together: set one, as "
            "tokenizer.pad_token = tokenizer.eos_token, and save it with the model."
        )
    return pieces_of(tokenizer, vocabulary.words, frame_of(tokenizer, pair=pair, prompt=prompt), int(pad))


@parts_that_fit()
def longest_allowed(config: Any, tokenizer: Any) -> int | None:
    """How many pieces a text may have, with its frame; None where nothing limits it."""
    given = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if given is not None and config.model_type.startswith(("roberta", "xlm-roberta", "camembert")):
        given -= config.pad_token_id + 1
    if config.model_type in ("t5", "mt5", "umt5"):
        given = None
    said = getattr(tokenizer, "model_max_length", None)
    limits = [int(limit) for limit in (given, said) if limit is not None and limit < 10**9]
    return min(limits, default=None)


def self_test(subject: Pretrained, batch: Batch, *, site: str = "") -> float:
    """The largest change of a logit when own weights are put back; refuses beyond the tolerance."""
    with torch.no_grad():
        reading = subject.at(site).read(batch) if site else subject.read(batch)
        again = reading.reread(reading.weights.double()[:, None])[:, 0]
        apart = float((again - reading.logits).abs().max())
    scale = max(1.0, float(reading.logits.abs().max()))
    limit = TOLERANCE * scale * (1 if reading.logits.dtype == torch.float32 else 1000)
    if not apart <= limit:
        raise InputError(
            f"{type(subject.model).__name__}: own attention weights put back change the output by {apart:.2g} at "
            f"{site or subject.sites[0]!r} (at most {limit:.2g} is rounding), so its attention cannot be audited."
        )
    return apart


def _same_alone(subject: Pretrained, batch: Batch) -> bool:
    """Whether one row of the last layer is enough where logits alone are asked for."""
    with torch.no_grad():
        whole, alone = subject.logits(batch), logits_of_many(subject, batch)
    return float((alone - whole).abs().max()) <= APART * max(1.0, float(whole.abs().max()))


def _refuse_read_twice(model: Any) -> None:
    """A classifier of two stacks gives its decoder the text again: two attentions see every word, embedded twice."""
    kind = type(model).__name__
    if getattr(model.config, "is_encoder_decoder", False) and kind.endswith("ForSequenceClassification"):
        raise InputError(
            f"{kind} reads every text twice, in its encoder and again in its decoder, so no one attention stands for "
            "its words. Use a classifier of one stack, such as BERT or RoBERTa, or an encoder-decoder as a language "
            "model, such as T5ForConditionalGeneration, with a word for each class (label_words)."
        )


@tokenizing()
def _answers(tokenizer: Any, words: Sequence[str]) -> Tensor:
    """One token for each word: the first of those it is cut into, behind another word."""
    lead = tokenizer("x", add_special_tokens=False)["input_ids"]
    coded = [tokenizer(f"x {word}", add_special_tokens=False)["input_ids"][len(lead) :] for word in words]
    firsts = [ids[0] if ids else -1 for ids in coded]
    if len(set(firsts)) < len(words) or -1 in firsts:
        raise InputError(f"label_words={', '.join(words)}: they must begin with different tokens. Choose other words.")
    return torch.tensor(firsts)


def _example(pieces: Pieces, start: int | None, device: torch.device) -> dict[str, Tensor]:
    """A few pieces, to see where the model attends; more of them than a decoder is given."""
    frame: Frame = pieces.frame
    some = pieces.table[END + 1 :, 0][:5].tolist() or [int(pieces.table[1, 0])]
    ids = torch.tensor([[*frame.before, *(some * 3), *frame.after]], device=device)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if start is not None:
        inputs["decoder_input_ids"] = ids.new_full((1, 1), start)
    return inputs


def _sample(vocabulary: Vocabulary, pair: bool, cut: Sequence[int]) -> Batch:
    """A few made-up texts of different lengths from the vocabulary, of words that are not cut short."""
    left_out = set(cut)
    short = [place for place in range(END + 1, len(vocabulary)) if place not in left_out]
    words = [vocabulary.words[place] for place in short] or ["x"]
    texts = [[words[(3 * text + place) % len(words)] for place in range(size)] for text, size in enumerate((2, 5, 9))]
    second = [text[::-1][:4] for text in texts] if pair else None
    split = Split.of([f"sample-{i}" for i in range(3)], texts, [0] * 3, second=second)
    return Encoded.of(split, vocabulary).batch(np.arange(3))


def _reference(
    model: Any, tokenizer: Any, vocabulary: Vocabulary, batch: Batch, prompt: str, start: int | None
) -> tuple[Batch, Tensor] | None:
    """What the model says of the sample by its own tokenizer and its own attention, before ours is put in."""
    if start is not None or prompt != "{text}":
        return None
    texts = [" ".join(vocabulary.words[t] for t in row[row > END].tolist()) for row in batch.text.tokens]
    seconds = None
    if batch.second is not None:
        seconds = [" ".join(vocabulary.words[t] for t in row[row > END].tolist()) for row in batch.second.tokens]
    device = next(model.parameters()).device
    rows = []
    for place, text in enumerate(texts):
        with tokenizing():
            coded = tokenizer(f" {text}", *([] if seconds is None else [f" {seconds[place]}"]), return_tensors="pt")
        rows.append(model(**coded.to(device)).logits)
    if rows[0].ndim != 2:
        return None
    return batch, torch.cat(rows)


def _compare_with_library(subject: Pretrained, before: tuple[Batch, Tensor]) -> None:
    """Words cut into pieces one by one, read by our attention, must give what the library gives for the text."""
    batch, wanted = before
    with torch.no_grad():
        ours = subject.logits(batch.to(subject.device))
    apart, scale = float((ours - wanted).abs().max()), max(1.0, float(wanted.abs().max()))
    if not apart <= APART * scale:
        raise InputError(
            f"{type(subject.model).__name__}: read word by word its output differs by {apart:.2g} from what it gives "
            "for the text. Check that the tokenizer is the model's own, and that it cuts at spaces."
        )


def _rows(subject: Pretrained, batch: Batch) -> str:
    """Which rows of the last layer the output depends on: the first slot's, the last real one's, or more."""
    if subject.start is not None:
        return "last"
    layout: Layout = subject.pieces.layout(batch)
    kept: list[Tensor] = []
    last = len(subject.places.stacks) - 1

    def keep(layer: int, given: Tensor, output: Any) -> None:
        if layer == last:
            kept.append(output[0] if isinstance(output, tuple) else output)

    with torch.enable_grad():
        leaf = subject.embed(batch).detach().requires_grad_()
        given = subject.assembled(leaf, batch, layout)
        logits = subject.passed(Pass(embeddings=given, on_layer=keep), layout)
        weight = torch.linspace(1, 2, logits.shape[-1]).to(logits)
        (slope,) = torch.autograd.grad((logits * weight).sum(), kept[0])
    heard = slope.abs().sum(-1) > 0
    here = torch.arange(heard.shape[1], device=heard.device)
    if torch.equal(heard, (here == 0).expand_as(heard)):
        return "first"
    if torch.equal(heard, here == layout.lengths[:, None] - 1):
        return "last"
    return "all"
