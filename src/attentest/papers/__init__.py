"""The papers: what each one printed, what it concluded, and how both are compared with runs; no torch."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

from attentest.errors import UnknownName

__all__ = ["PAPERS", "Paper", "paper"]


@dataclass(frozen=True)
class Paper:
    """One paper; its folder beside this file holds its figures (claims.csv) and how they are compared (claims.toml)."""

    name: str
    title: str
    citation: str
    year: int
    conclusion: str

    @property
    def folder(self) -> Traversable:
        """Its files, wherever the package is installed."""
        return resources.files("attentest.papers") / self.name


_TABLE = (
    Paper(
        "jain_wallace_2019",
        "Attention is not Explanation",
        "Jain & Wallace 2019, NAACL",
        2019,
        "Standard attention modules do not provide meaningful explanations and should not be treated as if they did.",
    ),
    Paper(
        "wiegreffe_pinter_2019",
        "Attention is not not Explanation",
        "Wiegreffe & Pinter 2019, EMNLP",
        2019,
        "Adversarial attention can be found for LSTM models in some tasks; an explanation need not be the only one.",
    ),
    Paper(
        "serrano_smith_2019",
        "Is Attention Interpretable?",
        "Serrano & Smith 2019, ACL",
        2019,
        "Attention may yet be interpretable in other ways, but as an importance ranking it fails to explain decisions.",
    ),
    Paper(
        "vashishth_2019",
        "Attention Interpretability Across NLP Tasks",
        "Vashishth et al. 2019, arXiv:1909.11218",
        2019,
        "Attention weights are interpretable when they are essential for the prediction and not merely a gating unit.",
    ),
    Paper(
        "tutek_snajder_2020",
        "Staying True to Your Word: (How) Can Attention Become Explanation?",
        "Tutek & Šnajder 2020, RepL4NLP",
        2020,
        "Without a word-level objective attention is not a faithful explanation; with one it becomes a better one.",
    ),
)
PAPERS: dict[str, Paper] = {paper.name: paper for paper in _TABLE}


def paper(name: str) -> Paper:
    """The paper of this name."""
    if name not in PAPERS:
        raise UnknownName("paper", name, PAPERS)
    return PAPERS[name]
