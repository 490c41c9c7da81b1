"""An architecture: every choice that makes a network, apart from its vocabulary and its classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from attentest.errors import InputError
from attentest.models.parts.attention import ATTENTIONS, Additive, Attention, Random, ScaledDot, Uniform
from attentest.models.parts.decoders import DECODERS, Decoder, Transformer
from attentest.models.parts.encoders import ENCODERS, BiGRU, BiLSTM, Encoder, NoEncoder
from attentest.models.parts.heads import HEADS, Head
from attentest.models.parts.selectors import SELECTORS, Selector
from attentest.registry import text_of

__all__ = ["ASPECT", "OWN", "QUERIES", "STRUCTURES", "Architecture"]

#: "flat": one attention over the words of a text; "hierarchical": one over the words of each sentence, one over these.
STRUCTURES = ("flat", "hierarchical")
#: How the second text of a pair becomes the query of the attention over the first: by embeddings and an encoder of its
#: own (Jain & Wallace), by those of the first text, or by an encoder of its own that goes on from where the first one
#: ended (Rocktäschel et al. 2016: conditional encoding, one table of embeddings); or as an aspect, the mean of its
#: words' embeddings, which also stands beside every word that the encoder reads (ATAE-LSTM, Wang et al. 2016).
ASPECT = "aspect"
QUERIES = ("separate", "shared", "conditional", ASPECT)
#: A single text asks with its own summary, as its encoder gives it (Tutek & Šnajder 2020, footnote 8).
OWN = "own"


@dataclass(frozen=True)
class Architecture:
    """The parts of a network, and how they are put together."""

    encoder: Encoder = field(default_factory=BiLSTM)
    attention: Attention = field(default_factory=Additive)
    #: None: one sigmoid for two classes, a softmax for more; for pairs of texts, joint.
    head: Head | None = None
    embedding: int = 300
    structure: str = "flat"
    #: "": one text, and no query but what attention learns. OWN: one text, its summary the query. Else one of QUERIES:
    #: there is a second text, and it is the query.
    query: str = ""
    #: What writes, where the network translates; None: it classifies.
    decoder: Decoder | None = None
    #: What selects the words that all else reads; None: it reads them all.
    selector: Selector | None = None

    def __post_init__(self) -> None:
        if self.structure not in STRUCTURES:
            raise InputError(f"structure={self.structure!r} must be one of {', '.join(STRUCTURES)}.")
        if self.query not in ("", OWN, *QUERIES):
            raise InputError(f"query={self.query!r} must be one of {', '.join(QUERIES)}; of single texts, {OWN}.")
        if self.structure != "flat" and self.query:
            reads = "learns its queries" if self.query == OWN else "reads one text, not a pair"
            raise InputError(f"structure={self.structure!r} {reads}. Use structure flat.")
        if self.decoder is not None and (self.structure != "flat" or self.query or self.head is not None):
            raise InputError(
                f"Decoder {self.decoder.name!r} writes texts with its own output: leave out structure, query and head."
            )
        if self.selector is not None and (self.structure != "flat" or self.query or self.decoder is not None):
            raise InputError(
                f"Selector {self.selector.name!r} selects words of single texts: leave out structure, query and "
                "decoder, and use a corpus of single texts, or leave out selector."
            )
        if self.query == "conditional" and not isinstance(self.encoder, BiLSTM | BiGRU):
            raise InputError(
                f"query='conditional' goes on from the last state of a recurrent encoder, which {self.encoder.name!r} "
                "is not. Use bilstm or bigru, or query separate."
            )
        if self.query == "conditional" and isinstance(self.encoder, BiLSTM) and not self.encoder.plain:
            raise InputError(
                f"query='conditional' goes on from the last state of one layer, and {text_of(self.encoder)!r} has more "
                "to it. Leave out layers and skip, or use query separate."
            )
        if self.head is not None and self.head.sees_query and not self.pairs:
            raise InputError(f"Head {self.head.name!r} sees a second text, and there is none: use sigmoid or softmax.")
        if isinstance(self.decoder, Transformer):
            self._check_transformer(self.decoder)

    def _check_transformer(self, decoder: Transformer) -> None:
        """It reads, attends and embeds by itself."""
        if not isinstance(self.encoder, NoEncoder):
            raise InputError(
                f"Decoder {decoder.name!r} reads with layers of its own, and {self.encoder.name!r} has no place in it: "
                "leave out encoder, or use none."
            )
        if self.attention not in (ScaledDot(), Uniform(), Random()):
            raise InputError(
                f"Decoder {decoder.name!r} attends by scaled products, and cannot by {text_of(self.attention)!r}: "
                "leave out attention, or use dot, uniform or random."
            )
        if self.embedding != decoder.hidden:
            raise InputError(
                f"Decoder {decoder.name!r}: embedding={self.embedding} must be the same as hidden={decoder.hidden}."
            )

    @property
    def pairs(self) -> bool:
        """Whether it reads pairs of texts."""
        return self.query in QUERIES

    @property
    def query_sees_text(self) -> bool:
        """Whether the query depends on the text that is weighed: then a shortened text has another one."""
        return self.query in (OWN, "conditional")

    @property
    def inputs(self) -> int:
        """Numbers that the encoder is given for every word: its embedding and, where there is one, the aspect."""
        return 2 * self.embedding if self.query == ASPECT else self.embedding

    @property
    def parts(self) -> tuple[Encoder | Attention | Head | Decoder | Selector, ...]:
        """What was chosen from the tables; a head that was not follows from the rest."""
        chosen = (self.encoder, self.attention, self.head, self.decoder, self.selector)
        return tuple(part for part in chosen if part is not None)

    @property
    def sites(self) -> tuple[str, ...]:
        """Where such a network attends; the last attention before the output comes first."""
        if self.decoder is not None:
            return self.decoder.sites
        return ("word",) if self.structure == "flat" else ("sentence", "word")

    def to_record(self) -> dict[str, Any]:
        """As plain values for run.json."""
        head = None if self.head is None else text_of(self.head)
        return {
            "encoder": text_of(self.encoder),
            "attention": text_of(self.attention),
            "head": head,
            "embedding": self.embedding,
            **({} if self.structure == "flat" else {"structure": self.structure}),
            **({"query": self.query} if self.query else {}),
            **({} if self.decoder is None else {"decoder": text_of(self.decoder)}),
            **({} if self.selector is None else {"selector": text_of(self.selector)}),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Architecture:
        """From the plain values of run.json."""
        head = record.get("head")
        return cls(
            ENCODERS.parse(record["encoder"]),
            ATTENTIONS.parse(record["attention"]),
            None if head is None else HEADS.parse(head),
            int(record["embedding"]),
            record.get("structure", "flat"),
            record.get("query", ""),
            DECODERS.parse(record["decoder"]) if record.get("decoder") else None,
            SELECTORS.parse(record["selector"]) if record.get("selector") else None,
        )
