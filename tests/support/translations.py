"""Made-up translations with links, and untrained translators of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch

from attentest.challenges import CHALLENGES
from attentest.challenges.companions import Companion
from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.steps import stepped
from attentest.data.vocabulary import Vocabulary
from attentest.models.architecture import Architecture
from attentest.models.network import build_network
from attentest.models.networks.transformer import TransformerTranslator
from attentest.models.networks.translator import Translator
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.decoders import DECODERS
from attentest.models.parts.encoders import ENCODERS, NoEncoder
from attentest.runs.examination.examine import examine, examiner_of
from attentest.runs.examination.examiner import Texts
from attentest.store.findings import Findings, read_findings

SOURCE = ("a", "dog", "cat", "man", "runs", "sits", "here", "today")
TARGET = ("ein", "Hund", "Kater", "Mann", "rennt", "sitzt", "hier", "heute", ".")


def made_up_translations(count: int = 9, seed: int = 0, pieces: bool = False) -> Split:
    """Random pairs of random lengths, with some links; as subwords where asked."""
    rng = np.random.default_rng(seed)

    def texts(words: tuple[str, ...]) -> list[list[str]]:
        chosen = [[words[i] for i in rng.integers(0, len(words), rng.integers(1, 8))] for _ in range(count)]
        begins = rng.random(1000) < 0.7
        return [[("▁" if pieces and begins[i] else "") + w for i, w in enumerate(text)] for text in chosen]

    tokens, target = texts(SOURCE), texts(TARGET)
    links = [
        [f"{s}-{t}" for s in range(len(a)) for t in range(len(b)) if rng.random() < 0.25]
        for a, b in zip(tokens, target, strict=True)
    ]
    split = Split.of([f"{seed}-{i}" for i in range(count)], tokens, [0] * count, target=target)
    return Split(split.table.append_column("alignment", pa.array(links, pa.list_(pa.string()))))


def translator(vocabulary: Vocabulary, attention: str = "additive", seed: int = 0) -> Translator:
    """An untrained translator that sometimes ends a text."""
    assert vocabulary.target is not None
    architecture = Architecture(
        ENCODERS.parse("bigru(hidden=6)"),
        ATTENTIONS.parse(attention),
        None,
        8,
        decoder=DECODERS.parse("bahdanau(hidden=7, dropout=0.0)"),
    )
    generator = torch.Generator().manual_seed(seed)
    made = build_network(architecture, len(vocabulary), len(vocabulary.target), generator)
    assert isinstance(made, Translator)
    with torch.no_grad():
        for part in (made.attention, made.target_embedding, made.encoder):
            for parameter in part.parameters():
                parameter.mul_(3)
    return made.eval()


def transformer(vocabulary: Vocabulary, seed: int = 0, layers: int = 3) -> TransformerTranslator:
    """An untrained Transformer whose weights differ from each other."""
    assert vocabulary.target is not None
    form = DECODERS.parse(f"transformer(layers={layers}, heads=2, hidden=12, feedforward=20, dropout=0.1)")
    architecture = Architecture(NoEncoder(), ATTENTIONS.parse("dot"), None, 12, decoder=form)
    generator = torch.Generator().manual_seed(seed)
    made = build_network(architecture, len(vocabulary), len(vocabulary.target), generator)
    assert isinstance(made, TransformerTranslator)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if any(part in name for part in ("query", "key", "target_embedding")):
                parameter.mul_(2)
    return made.eval()


def found(
    text: str,
    split: Split,
    subject: Translator | TransformerTranslator,
    vocabulary: Vocabulary,
    folder: Path,
    *,
    seed: int = 0,
    companions: Mapping[Companion, Translator] | None = None,
) -> Findings:
    """The findings of one challenge over these translations."""
    examiner = examiner_of(
        subject,
        stepped(split, vocabulary),
        Encoded.of(split, vocabulary),
        {"it": CHALLENGES.parse(text)},
        seed=seed,
        companions=companions,
        written=Texts(split, vocabulary),
    )
    examine(examiner, folder)
    return read_findings(folder / "it.parquet")
