from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
import torch
from scipy import stats
from tests.conftest import classifier, made_up_split, whole

from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Examination
from attentest.challenges.randomisation.examine import EVERYTHING, Randomisation
from attentest.data.vocabulary import PAD
from attentest.errors import InputError, UnknownName
from attentest.explainers import EXPLAINERS
from attentest.explainers.explainer import Attribution, Explainer
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.models.subject import Subject
from attentest.tasks import DEFAULT


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def made(classes: int = 2, attention: str = "additive", encoder: str = "bilstm(hidden=5)", low: int = 1):
    split = made_up_split(10, low, 9)
    parts = Architecture(ENCODERS.parse(encoder), ATTENTIONS.parse(attention), None, 6)
    return split, *classifier(parts, split, classes)


def examined(split, model, encoded, rows: list[int] | None = None, seed: int = 0) -> Examination:
    batch = whole(encoded) if rows is None else encoded.batch(np.array(rows))
    tokens = split.table["tokens"].take(pa.array(batch.rows.numpy()))
    return Examination(model, batch, model.read(batch), seed, pa.concat_arrays(tokens.chunks))


@pytest.mark.slow
@pytest.mark.parametrize("cascade", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_randomisation_equals_a_loop_with_scipy(cascade, classes):
    challenge = Randomisation(("attention", "gradient", "lrp"), cascade, draws=2)
    examination = examined(*made(classes))
    subject, batch = examination.subject, examination.batch
    random = {
        "head": ("head",),
        "attention": ("head", "attention") if cascade else ("attention",),
        "encoder": ("head", "attention", "encoder") if cascade else ("encoder",),
        "embedding": ("embedding",),
        EVERYTHING: ("head", "attention", "encoder", "embedding"),
    }
    if cascade:
        del random["embedding"]
    table = challenge.examine(examination).to_pylist()
    assert len(table) == 10 * 3 * len(random)
    assert {row["layer"]: row["step"] for row in table} == {layer: n for n, layer in enumerate(random, start=1)}
    for row in table[:: 7 if classes == 2 else 11]:
        at, real = row["row"], batch.mask[row["row"]]
        if real.sum() < 2:
            assert row["not_judged"] == "fewer than two tokens"
            assert row["spearman"] is None
            continue
        method = EXPLAINERS.parse(row["explainer"])
        own = method.scores(subject, batch, examination.reading)[at][real].double()
        signed, absolute = [], []
        for draw in range(2):
            twin = subject.randomised(random[row["layer"]], draw)
            target = examination.reading.predicted
            other = method.scores(twin, batch, twin.read(batch), target)[at][real].double()
            signed.append(stats.spearmanr(own, other).statistic)
            absolute.append(stats.spearmanr(own.abs(), other.abs()).statistic)
        assert row["spearman"] == pytest.approx(np.mean(signed), abs=1e-9)
        assert row["spearman_absolute"] == pytest.approx(np.mean(absolute), abs=1e-9)


@dataclass(frozen=True)
class Place(Explainer):
    """Looks at the text only: the place of a token."""

    name: ClassVar[str] = "place"
    summary: ClassVar[str] = ""
    reference: ClassVar[str] = ""
    cost: ClassVar[str] = ""

    def explain(self, subject, batch, reading, target=None):
        return Attribution(torch.arange(batch.mask.shape[1]).double() * batch.mask)


def test_an_explainer_that_does_not_look_at_the_model_survives_its_destruction(monkeypatch):
    monkeypatch.setitem(EXPLAINERS.own, "place", Place)
    table = Randomisation(("place", "gradient"), draws=1).examine(examined(*made(low=3))).to_pylist()
    assert all(row["spearman"] == pytest.approx(1.0) for row in table if row["explainer"] == "place")
    last = [row["spearman"] for row in table if row["explainer"] == "gradient" and row["layer"] == EVERYTHING]
    assert abs(np.mean(last)) < 0.5


@pytest.mark.slow
def test_randomisation_does_not_depend_on_the_batch_but_on_the_seed():
    made_up = made(low=2)
    challenge = Randomisation(("attention", "lrp"), draws=2)
    together = challenge.examine(examined(*made_up)).to_pylist()
    alone = challenge.examine(examined(*made_up, [3])).to_pylist()
    for row in alone:
        (same,) = [r for r in together if all(r[k] == row[k] for k in ("row", "explainer", "layer"))]
        assert row["spearman"] == pytest.approx(same["spearman"], abs=1e-6)
    other = challenge.examine(examined(*made_up, seed=1)).to_pylist()
    assert [r["spearman"] for r in other] != [r["spearman"] for r in together]


def test_random_parts_are_drawn_once_and_the_others_are_shared():
    _, model, encoded = made()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    first, again = (model.randomised(("head", "encoder"), 5) for _ in range(2))
    assert first.head is again.head
    assert first.encoder is again.encoder
    assert first.attention is model.attention
    assert first.embedding is model.embedding
    assert first.head is not model.head
    assert model.randomised(("head",), 6).head is not first.head
    assert model.randomised(("encoder",), 5).encoder is first.encoder  # whatever else is random
    challenge, drawn = Randomisation(("attention",), draws=2), []
    for rows in ([0, 1], [2, 3], [4, 5]):
        challenge.examine(examined(made_up_split(10, 1, 9), model, encoded, rows))
        drawn.append(len(model._drawn))
    assert len(set(drawn)) == 1
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert not any("drawn" in name for name in model.state_dict())


def test_random_weights_depend_on_seed_and_part_alone_also_among_threads():
    alone = {}
    for seed in range(4):
        _, model, _ = made()
        alone[seed] = model.randomised(model.parts, seed).state_dict()
    _, model, _ = made()
    state = torch.get_rng_state()
    with ThreadPoolExecutor(4) as pool:
        twins = list(pool.map(lambda seed: (seed, model.randomised(model.parts, seed)), [0, 1, 2, 3] * 4))
    assert torch.equal(state, torch.get_rng_state())
    for seed, twin in twins:
        for name, value in twin.state_dict().items():
            assert torch.equal(value, alone[seed][name])
    assert all(torch.all(twin.embedding.weight[PAD] == 0) for _, twin in twins)


def test_attention_without_weights_is_not_a_part_that_can_be_random():
    split, model, encoded = made(attention="uniform")
    assert model.parts == ("head", "encoder", "embedding")
    layers = {
        row["layer"]
        for row in Randomisation(("gradient",), draws=1).examine(examined(split, model, encoded)).to_pylist()
    }
    assert layers == {"head", "encoder", EVERYTHING}
    with pytest.raises(InputError, match="'attention' cannot be randomised"):
        model.randomised(("attention",), 0)


def test_constant_scores_are_counted_not_judged():
    split, model, encoded = made(attention="uniform", low=2)
    table = Randomisation(("attention",), draws=1).examine(examined(split, model, encoded)).to_pylist()
    assert {row["not_judged"] for row in table} == {"constant scores"}


def test_a_subject_whose_parts_are_unknown_is_passed_over():
    class Other(Subject):
        classes = 2
        device = torch.device("cpu")

        def embed(self, batch):
            raise AssertionError

        baseline = read = delete_each = embed

    assert "parts can be drawn anew" in Randomisation().objection(Other(), has_rationale=False)
    assert Randomisation().objection(made()[1], has_rationale=False) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("draws=0", "must be at least 1"),
        ("explainers=()", "at least one"),
        ("explainers=('oracle',)", "looks at no model"),
        ("explainers=('atention',)", "Did you mean 'attention'"),
    ],
)
def test_wrong_parameters_are_refused_in_one_line(text, said):
    with pytest.raises((InputError, UnknownName), match=said) as error:
        CHALLENGES.parse(f"randomisation({text})")
    assert "\n" not in str(error.value)


def test_randomisation_is_on_request():
    assert "randomisation" in CHALLENGES
    assert "randomisation" not in DEFAULT
