"""From a program to a BERT classifier of the Transformers library, with a tokenizer that knows a world's words.

Every feature has two coordinates of the residual stream, one the negative of the other, so that the mean that layer
normalisation takes off is zero; its ε is so large that it divides by a constant, which its scale undoes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import sqrt
from typing import Any

import torch
from torch import Tensor

from attentest.calibration.compiled.features import place_features, word_features, words_of_world
from attentest.calibration.compiled.program import Head, Layer, Program
from attentest.data.worlds.world import World
from attentest.models.huggingface.safe_loading import library

__all__ = ["compiled", "tokenizer_for"]

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "x")
#: What layer normalisation adds to the variance: next to it no variance counts.
EPSILON = 1e12
#: The pooler's tanh is used where it is a line.
LINEAR = 0.02
#: What a unit's sum is multiplied by before GELU and divided by after it, so that GELU is a ramp.
STEEP = 20.0
#: The most pieces of a text.
PLACES = 512


def tokenizer_for(words: Iterable[str]) -> Any:
    """A tokenizer with one piece for each of these words."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from tokenizers.processors import TemplateProcessing

    table = {word: number for number, word in enumerate(dict.fromkeys([*SPECIAL, *words]))}
    made = Tokenizer(WordLevel(table, unk_token="[UNK]"))
    made.pre_tokenizer = WhitespaceSplit()
    ends = [(name, table[name]) for name in ("[CLS]", "[SEP]")]
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    return library().PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        model_max_length=PLACES,
    )


def compiled(program: Program, world: World) -> tuple[Any, Any]:
    """The model of a program in a world, and its tokenizer."""
    words = word_features(world)
    for word, more in program.words.items():
        words[word] |= more
    tokenizer = tokenizer_for(words_of_world(world))
    writer = _Writer(program, world, words)
    return writer.written(tokenizer.get_vocab()), tokenizer


class _Writer:
    def __init__(self, program: Program, world: World, words: Mapping[str, Mapping[str, float]]) -> None:
        self.program, self.words = program, words
        self.answers = [f"answer.{number}" for number in range(len(world.classes))]
        known = {name for about in (*words.values(), place_features(0)) for name in about}
        names = sorted(known | program.features | {*self.answers, "cls", "sep", "second"})
        heads = max(len(layer.heads) for layer in program.layers)
        self.half = -(-len(names) // heads) * heads
        self.place = {name: place for place, name in enumerate(names)}
        units = max([1, *(len(layer.units) for layer in program.layers)])
        self.config = library().BertConfig(
            vocab_size=len(SPECIAL) + len(words),
            hidden_size=2 * self.half,
            num_hidden_layers=len(program.layers),
            num_attention_heads=heads,
            intermediate_size=units,
            max_position_embeddings=PLACES,
            layer_norm_eps=EPSILON,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            pad_token_id=0,
            id2label=dict(enumerate(world.classes)),
            label2id={name: number for number, name in enumerate(world.classes)},
        )

    @torch.no_grad()
    def written(self, vocabulary: Mapping[str, int]) -> Any:
        """The model, with all its weights."""
        model = library().BertForSequenceClassification(self.config).eval()
        for name, value in model.named_parameters():
            value.fill_(sqrt(EPSILON) if name.endswith("LayerNorm.weight") else 0.0)
        embeddings = model.bert.embeddings
        for word, about in {**self.words, "[CLS]": {"cls": 1.0}, "[SEP]": {"sep": 1.0}}.items():
            self._put(embeddings.word_embeddings.weight[vocabulary[word]], about)
        for place in range(PLACES):
            self._put(embeddings.position_embeddings.weight[place], place_features(place))
        self._put(embeddings.token_type_embeddings.weight[1], {"second": 1.0})
        for layer, module in zip(self.program.layers, model.bert.encoder.layer, strict=True):
            self._layer(layer, module)
        for number, name in enumerate(self.answers):
            model.bert.pooler.dense.weight[number, self.place[name]] = LINEAR
            model.classifier.weight[number, number] = self.program.scale / LINEAR
        return model

    def _put(self, row: Tensor, about: Mapping[str, float]) -> None:
        for name, value in about.items():
            row[self.place[name]], row[self.half + self.place[name]] = value, -value

    def _layer(self, layer: Layer, module: Any) -> None:
        for number, head in enumerate(layer.heads):
            self._head(head, number, module.attention)
        into, out = module.intermediate.dense, module.output.dense
        for number, unit in enumerate(layer.units):
            for name, weight in unit.reads.items():
                into.weight[number, self.place[name]] = STEEP * weight
            into.bias[number] = STEEP * unit.bias
            self._put(out.weight[:, number], {name: weight / STEEP for name, weight in unit.writes.items()})

    def _head(self, head: Head, number: int, attention: Any) -> None:
        size = 2 * self.half // self.config.num_attention_heads
        first, own = number * size, attention.self
        if max(len(head.matches), len(head.moves)) > size:
            raise ValueError(f"a head of {size} dimensions has no room for {head}")
        for row, match in enumerate(head.matches, start=first):
            own.query.weight[row, self.place[match.query]] = match.strength * sqrt(size)
            own.key.weight[row, self.place[match.key]] = 1.0
        for row, move in enumerate(head.moves, start=first):
            own.value.weight[row, self.place[move.source]] = 1.0
            self._put(attention.output.dense.weight[:, row], {move.target: move.scale})
