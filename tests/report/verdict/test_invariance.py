"""What must not change a verdict: temperature, bias, padding, names, the order of classes, fillers, repeated rows."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch import Tensor

import attentest
from attentest.challenges.challenge import Examination
from attentest.challenges.importance.examine import Importance
from attentest.data.batches import Batch, Encoded, Sequences
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.explainers.drawn_words import Continuations
from attentest.models.custom.own_model import OwnModel
from attentest.tasks import DEFAULT

VOTES = {f"for{place}": 1.0 for place in range(4)} | {f"against{place}": -1.0 for place in range(4)}
FILLERS = [f"filler{place}" for place in range(12)]
#: In texts with this word the partly faithful model looks elsewhere.
ASIDE, END = "aside", "end"
TEXTS = 120


@dataclass(frozen=True)
class Built:
    """A model of three functions: what states carry of the words' votes, and which words attention looks at."""

    carries: Callable[[Tensor, Tensor], Tensor]
    looks: Callable[[Tensor, Tensor], Tensor]
    scale: float = 5.0
    bias: float = 0.0
    #: What words are called, and whether the classes change places.
    name: Callable[[str], str] = str
    turned: bool = False

    def subject(self) -> OwnModel:
        special, own = ["<pad>", "<unk>"], [*VOTES, *FILLERS, ASIDE, END]
        words = [*special, *own]
        names = {word: place for place, word in enumerate([*special, *map(self.name, own)])}
        table = torch.tensor([[VOTES.get(word, 0.0), float(word == ASIDE), float(word == END)] for word in words])
        sides = torch.tensor([[1.0, -1.0] if self.turned else [-1.0, 1.0]])
        raised = torch.tensor([0.0, self.bias])

        def encode(embedded: Tensor, mask: Tensor) -> Tensor:
            features = embedded * mask[..., None]
            said = self.carries(features, mask)
            return torch.stack([said, self.looks(features, mask)], dim=-1)

        return attentest.subject_of_functions(
            encode=encode,
            attend=lambda states, mask: (4 * states[..., 1]).masked_fill(~mask, -torch.inf).softmax(-1),
            decode=lambda context: self.scale * context[..., :1] * sides + raised,
            embedding=torch.nn.Embedding.from_pretrained(table),
            words=names,
            classes=2,
        )


def own(features: Tensor, mask: Tensor) -> Tensor:
    return features[..., 0]


def everything(features: Tensor, mask: Tensor) -> Tensor:
    return features[..., 0].sum(-1, keepdim=True).expand_as(features[..., 0]) / 3


def at_voters(features: Tensor, mask: Tensor) -> Tensor:
    return features[..., 0].abs()


def at_the_end(features: Tensor, mask: Tensor) -> Tensor:
    return features[..., 2]


def sometimes_aside(features: Tensor, mask: Tensor) -> Tensor:
    aside = features[..., 1].sum(-1, keepdim=True)
    return features[..., 0].abs() * (1 - 2 * aside)


MODELS = {
    "faithful": Built(own, at_voters),
    "unfaithful": Built(everything, at_the_end),
    "partly faithful": Built(everything, sometimes_aside),
}


def texts(fillers: int = 1, count: int = TEXTS) -> tuple[list[list[str]], list[int]]:
    """Three words that vote, and fillers around them; the class that most of them vote for."""
    draw, made, labels = random.Random(0), [], []
    for place in range(count):
        votes = draw.sample(list(VOTES), 3)
        words = [*votes, *draw.sample(FILLERS, 5), *([ASIDE] if place % 5 < 2 else [])]
        draw.shuffle(words)
        made.append([word for word in words for _ in range(1 if word in VOTES or word == ASIDE else fillers)] + [END])
        labels.append(int(sum(VOTES[word] for word in votes) > 0))
    return made, labels


@dataclass(frozen=True)
class Found:
    """The three answers, and what they rest on."""

    answers: tuple[str, ...]
    held: dict[str, float]


def found(
    model: Built, folder: Path, given: tuple[list[list[str]], list[int]] | None = None, challenges=("importance",)
) -> Found:
    made, labels = given or texts()
    written = [" ".join(map(model.name, words)) for words in made]
    labels = [1 - label for label in labels] if model.turned else labels
    audit = attentest.audit(model.subject(), texts=written, labels=labels, challenges=list(challenges), runs=folder)
    frame = audit.to_frame("importance")
    means = frame.groupby("erasure")[["held", "one"]].mean()
    held = {f"{column} {way}": float(means.loc[way, column]) for way in means.index for column in means}
    return Found(tuple(goal.answer for goal in audit.verdict.goals), held)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Found]:
    return {name: found(model, tmp_path_factory.mktemp("runs")) for name, model in MODELS.items()}


@pytest.fixture(params=MODELS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_three_models_are_told_apart(usual: dict[str, Found]) -> None:
    answers = {name: one.answers[0] for name, one in usual.items()}
    assert answers == {"faithful": "yes", "unfaithful": "no", "partly faithful": "with care"}


def same(here: Found, there: Found, tolerance: float = 1e-4) -> None:
    assert here.answers == there.answers
    assert here.held == pytest.approx(there.held, abs=tolerance, nan_ok=True)


@pytest.mark.parametrize("scale", [0.1, 0.3, 3.0, 10.0])
def test_temperature(name: str, scale: float, usual: dict[str, Found], tmp_path: Path) -> None:
    model = MODELS[name]
    same(found(replace(model, scale=model.scale * scale), tmp_path), usual[name])


def by_default(model: Built, folder: Path) -> tuple[str, ...]:
    """The answers of an audit with every challenge that needs no marks."""
    return found(model, folder, texts(count=60), [one for one in DEFAULT if one != "rationale"]).answers


@pytest.mark.slow
def test_temperature_with_every_challenge_of_a_default_audit(name: str, tmp_path: Path) -> None:
    model = MODELS[name]
    own = by_default(model, tmp_path)
    for scale in (0.1, 10.0):
        assert by_default(replace(model, scale=model.scale * scale), tmp_path) == own, scale


def test_a_bias_that_leaves_the_predictions(name: str, usual: dict[str, Found], tmp_path: Path) -> None:
    """Log-odds move by the bias, and differences between them do not."""
    for bias in (-0.5, 0.5):
        same(found(replace(MODELS[name], bias=bias), tmp_path), usual[name])


def test_what_words_are_called(name: str, usual: dict[str, Found], tmp_path: Path) -> None:
    """Other names, in another order of the alphabet."""
    same(found(replace(MODELS[name], name=lambda word: f"w{word[::-1]}"), tmp_path), usual[name])


def test_the_order_of_classes(name: str, usual: dict[str, Found], tmp_path: Path) -> None:
    same(found(replace(MODELS[name], turned=True), tmp_path), usual[name])


def test_repeated_fillers(name: str, usual: dict[str, Found], tmp_path: Path) -> None:
    """More words to choose blindly from, and more weight on fillers: the numbers move a little, the answers do not."""
    assert found(MODELS[name], tmp_path, texts(fillers=2)).answers == usual[name].answers


def test_repeated_rows(name: str, usual: dict[str, Found], tmp_path: Path) -> None:
    """Every text twice. Rows are taken to be independent: repeated ones are counted as often as they are given."""
    made, labels = texts()
    same(found(MODELS[name], tmp_path, (made + made, labels + labels)), usual[name], 0.05)


@pytest.mark.parametrize("erasure", ["delete", "mask", "draw", "states"])
def test_padding(name: str, erasure: str) -> None:
    """Each text by itself, all together, and all with padding behind them: the same numbers."""
    made, labels = texts(count=10)
    split = Split.of([f"text {place}" for place in range(10)], made, labels)
    vocabulary = Vocabulary.from_split(split)
    encoded, subject = Encoded.of(split, vocabulary), MODELS[name].subject().over(vocabulary)

    def held(batch: Batch) -> np.ndarray:
        tokens = split.table["tokens"].chunk(0).take(pa.array(batch.rows.numpy()))
        asked = Examination(
            *(subject, batch, subject.read(batch), 0, tokens), continuations=Continuations(*encoded.text)
        )
        return np.array(Importance(erasures=(erasure,)).examine(asked)["held"].to_pylist(), dtype=float)

    whole = encoded.batch(np.arange(10))
    text = whole.text
    more = torch.nn.functional.pad
    wider = Sequences(more(text.tokens, (0, 40)), text.lengths, more(text.mask, (0, 40)))
    together = held(whole)
    assert held(whole.with_text(wider)) == pytest.approx(together, abs=1e-6, nan_ok=True)
    alone = np.concatenate([held(encoded.batch(np.array([row]))) for row in range(10)])
    assert alone == pytest.approx(together, abs=1e-6, nan_ok=True)
