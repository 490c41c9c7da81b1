"""The corpora attentest knows by name."""

from __future__ import annotations

from typing import ClassVar, Protocol

from attentest.data.corpora.adr import ADR
from attentest.data.corpora.ag_news import AGNews, AGNews4
from attentest.data.corpora.amazon import Amazon
from attentest.data.corpora.aspects import Aspects
from attentest.data.corpora.babi import Babi1, Babi2, Babi3
from attentest.data.corpora.cad_imdb import CADIMDB
from attentest.data.corpora.cad_snli import CadSNLI
from attentest.data.corpora.cnn import CNN
from attentest.data.corpora.dates import Dates
from attentest.data.corpora.deceptive_pronoun import DeceptivePronoun
from attentest.data.corpora.deceptive_sst_wiki import DeceptiveSSTWiki
from attentest.data.corpora.eraser_movies import EraserMovies
from attentest.data.corpora.esnli import ESNLI
from attentest.data.corpora.hatexplain import HateXplain
from attentest.data.corpora.imdb import IMDB
from attentest.data.corpora.mimic import MimicAnemia, MimicDiabetes
from attentest.data.corpora.multi30k import Multi30k, Multi30kAligned
from attentest.data.corpora.multinli import MultiNLI
from attentest.data.corpora.news_commentary import NewsCommentary
from attentest.data.corpora.newsgroups import Newsgroups
from attentest.data.corpora.reviews import Reviews
from attentest.data.corpora.snli import SNLI
from attentest.data.corpora.sst import SST
from attentest.data.corpora.sst5 import SST5
from attentest.data.corpora.stories import Stories1, Stories2, Stories3
from attentest.data.corpora.wmt_ende import WMTEnDe, WMTEnDeSample
from attentest.data.corpora.yahoo import Yahoo
from attentest.data.corpora.yelp import Yelp, YelpSample
from attentest.data.corpora.yelp_hat import YelpHAT
from attentest.data.corpus import Corpus
from attentest.data.worlds.composed import Conjunction, Negation, Order
from attentest.data.worlds.lookup import LookUp
from attentest.data.worlds.simple import AnyOf, Keyword, Majority
from attentest.registry import Named, Registry

__all__ = ["CORPORA", "CorpusSource"]


class CorpusSource(Named, Protocol):
    """A named corpus: its fields say how it is prepared, ``load`` prepares it."""

    summary: ClassVar[str]
    licence: ClassVar[str]
    citation: ClassVar[str]

    def load(self) -> Corpus:
        """The corpus with its splits."""
        ...


CORPORA: Registry[CorpusSource] = Registry(
    "corpus",
    {
        # built in
        "reviews": Reviews,
        "aspects": Aspects,
        "stories-1": Stories1,
        "stories-2": Stories2,
        "stories-3": Stories3,
        "dates": Dates,
        # worlds: built in, and able to intervene in their texts
        "world-keyword": Keyword,
        "world-majority": Majority,
        "world-any": AnyOf,
        "world-both": Conjunction,
        "world-negation": Negation,
        "world-order": Order,
        "world-lookup": LookUp,
        # single texts
        "sst": SST,
        "sst-5": SST5,
        "imdb": IMDB,
        "20news": Newsgroups,
        "ag_news": AGNews,
        "ag_news4": AGNews4,
        "adr": ADR,
        "mimic_diabetes": MimicDiabetes,
        "mimic_anemia": MimicAnemia,
        "yelp": Yelp,
        "yelp_sample": YelpSample,
        "yahoo": Yahoo,
        "amazon": Amazon,
        # single texts with marked words
        "eraser_movies": EraserMovies,
        "hatexplain": HateXplain,
        "yelp_hat": YelpHAT,
        "cad_imdb": CADIMDB,
        "deceptive_pronoun": DeceptivePronoun,
        "deceptive_sst_wiki": DeceptiveSSTWiki,
        # pairs
        "snli": SNLI,
        "multinli": MultiNLI,
        "esnli": ESNLI,
        "cad_snli": CadSNLI,
        # questions
        "babi-1": Babi1,
        "babi-2": Babi2,
        "babi-3": Babi3,
        "cnn": CNN,
        # translation
        "multi30k": Multi30k,
        "multi30k_aligned": Multi30kAligned,
        "news_commentary": NewsCommentary,
        "wmt_ende": WMTEnDe,
        "wmt_ende_sample": WMTEnDeSample,
    },
    plural="corpora",
)
