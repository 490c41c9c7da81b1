"""Small hierarchical models and texts of made-up sentences, and a slow twin that goes sentence by sentence."""

from __future__ import annotations

import numpy as np
import torch

from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.sentences import split_with_sentences
from attentest.data.vocabulary import Vocabulary
from attentest.models.architecture import Architecture
from attentest.models.network import build_network
from attentest.models.networks.hierarchical import Hierarchical
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.models.parts.heads import HEADS

ENCODER_TEXTS = ("bigru(hidden=4)", "bilstm(hidden=4)", "convolution(filters=2, widths=(1, 3))", "none")


def texts(count: int = 9, classes: int = 2, seed: int = 0, most: int = 5, longest: int = 6) -> Split:
    """Random texts of one to ``most`` sentences of one to ``longest`` words, among them one of a single word."""
    rng = np.random.default_rng(seed)
    sizes = [rng.integers(1, longest + 1, rng.integers(1, most + 1)).tolist() for _ in range(count)]
    sizes[0] = [1]
    tokens = [[f"word{i}" for i in rng.integers(0, 40, sum(size))] for size in sizes]
    rationale = [(rng.random(len(t)) < 0.2).tolist() for t in tokens]
    people = [[(rng.random(len(t)) < 0.3).tolist() for _ in range(3)] for t in tokens]
    labels = [i % classes for i in range(count)]
    ids = [f"made-up-{seed}-{i}" for i in range(count)]
    return Split.of(ids, tokens, labels, rationale=rationale, annotations=people, sentences=sizes)


def told(count: int, seed: int) -> Split:
    """Reviews of a few sentences, one of which holds the word that tells the label."""
    rng = np.random.default_rng(seed)
    tokens, labels = [], []
    for i in range(count):
        sentences = [[f"word{j}" for j in rng.integers(0, 30, rng.integers(2, 7))] for _ in range(rng.integers(2, 6))]
        sentences[int(rng.integers(0, len(sentences)))][0] = ("awful", "lovely")[i % 2]
        tokens.append([word for sentence in sentences for word in (*sentence, ".")])
        labels.append(i % 2)
    split, found = split_with_sentences(Split.of([f"{seed}-{i}" for i in range(count)], tokens, labels))
    assert found
    return split


def hierarchical(
    split: Split,
    encoder: str = "bigru(hidden=4)",
    attention: str = "additive",
    classes: int = 2,
    head: str | None = None,
    structure: str = "hierarchical",
) -> tuple[Hierarchical, Encoded]:
    """An untrained model whose attentions are peaked enough to be worth testing."""
    architecture = Architecture(
        ENCODERS.parse(encoder), ATTENTIONS.parse(attention), None if head is None else HEADS.parse(head), 6, structure
    )
    vocabulary = Vocabulary.from_split(split)
    model = build_network(architecture, len(vocabulary), classes, torch.Generator().manual_seed(0))
    with torch.no_grad():
        for parameter in model.attention_parameters():
            parameter.mul_(5)
        model.head.linear.weight.mul_(9)
        model.head.linear.bias.zero_()
    return model.eval(), Encoded.of(split, vocabulary)


def sentence_by_sentence(model: Hierarchical, sentences: list[torch.Tensor]) -> tuple[torch.Tensor, list, torch.Tensor]:
    """Logits, the word weights of every sentence, and the sentences' weights: one sentence after the other."""
    vectors, within = [], []
    for words in sentences:
        states = model.word_encoder(words[None], torch.tensor([len(words)]))
        weights = model.word_attention(states, torch.ones(1, len(words), dtype=torch.bool))
        vectors.append((weights[0, :, None] * states[0]).sum(0))
        within.append(weights[0])
    count = len(vectors)
    states = model.encoder(torch.stack(vectors)[None], torch.tensor([count]))
    weights = model.attention(states, torch.ones(1, count, dtype=torch.bool))
    return model.head((weights[0, :, None] * states[0]).sum(0)), within, weights[0]


def embedded(model: Hierarchical, encoded: Encoded, split: Split, row: int) -> list[torch.Tensor]:
    """The embeddings of each sentence of a text."""
    values, offsets = encoded.text
    words = model.embedding(torch.from_numpy(values[offsets[row] : offsets[row + 1]].astype(np.int64)))
    return list(words.split(split.table["sentences"].to_pylist()[row]))
