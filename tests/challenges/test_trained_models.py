"""Wiegreffe & Pinter's four tests, with companions made by hand, against plain loops."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
import torch
from tests.conftest import classifier, made_up_split, whole

from attentest.challenges import CHALLENGES
from attentest.challenges.adversarial_training.examine import AdversarialTraining
from attentest.challenges.challenge import Challenge, Examination
from attentest.challenges.companions import SUBJECT, Against, Companion
from attentest.challenges.guide.examine import Guide
from attentest.challenges.seed_variance.examine import SeedVariance
from attentest.challenges.trained_uniform.examine import TrainedUniform
from attentest.errors import InputError
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.models.wrappers.guided import Guided
from attentest.registry import text_of
from attentest.store.findings import Findings
from attentest.store.summary import estimate
from attentest.tasks import DEFAULT

FOUR = (
    TrainedUniform(),
    SeedVariance(seeds=4),
    Guide(hidden=5),
    AdversarialTraining(weights=(0.0, 0.01, 1.0), seeds=2),
)
SINGLE = "fewer than two tokens"


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def models(challenge: Challenge, classes: int, low: int):
    """The subject and its companions, untrained, each from another seed; guides guide."""
    split = made_up_split(24, low, 9, classes=classes)
    known: dict[Companion, object] = {}

    def of(companion: Companion):
        if companion not in known:
            encoder = ENCODERS.parse(companion.encoder or "bilstm(hidden=6)")
            architecture = Architecture(encoder, ATTENTIONS.parse(companion.attention or "additive"), embedding=8)
            model, _ = classifier(architecture, split, classes, seed=len(known))
            known[companion] = model if companion.guide is None else Guided(model, of(companion.guide))
        return known[companion]

    of(SUBJECT)
    for companion in challenge.companions:
        of(companion)
    _, encoded = classifier(Architecture(embedding=8), split, classes)
    return split, encoded, known


def examined(challenge: Challenge, classes: int = 2, low: int = 1, rows: list[int] | None = None) -> Examination:
    split, encoded, known = models(challenge, classes, low)
    batch = whole(encoded) if rows is None else encoded.batch(np.array(rows))
    tokens = pa.concat_arrays(split.table["tokens"].take(pa.array(batch.rows.numpy())).chunks)
    subject = known[SUBJECT]
    return Examination(subject, batch, subject.read(batch), 0, tokens, companions=known)


def says(examination: Examination, companion: Companion, i: int):
    """Prediction, weights of real tokens and the predicted class of one text, from that text alone."""
    reading = examination.companions[companion].read(examination.batch[i : i + 1])
    z = [float(v) for v in reading.logits[0]]
    e = [math.exp(v - max(z)) for v in z]
    weights = reading.weights[0][examination.mask[i]].double()
    return [v / sum(e) for v in e], (weights / weights.sum()).tolist(), z.index(max(z))


def tvd(p, q):
    return sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2


def jsd(p, q):
    out = 0.0
    for a, b in zip(p, q, strict=True):
        m = (a + b) / 2
        out += sum(c * math.log(c / m) for c in (a, b) if c > 0) / 2
    return out


def near(value):
    return pytest.approx(value, abs=2e-6)


def judged_rows(challenge: Challenge, examination: Examination):
    """Rows of texts with two tokens or more; the others must be empty."""
    for row in challenge.examine(examination).to_pylist():
        i = row["row"]
        assert row["label"] == int(examination.batch.labels[i])
        if int(examination.lengths[i]) < 2:
            assert row["not_judged"] == SINGLE
            kept = {"row", "label", "not_judged", "weight", "max_attention"}
            assert all(value is None for name, value in row.items() if name not in kept)
            continue
        assert row["not_judged"] is None
        assert all(value is not None for name, value in row.items() if name != "not_judged")
        yield i, row


@pytest.mark.parametrize("classes", [2, 4])
def test_trained_uniform_equals_a_loop(classes):
    examination = examined(FOUR[0], classes)
    for i, row in judged_rows(FOUR[0], examination):
        p, alpha, own = says(examination, SUBJECT, i)
        q, flat, other = says(examination, Companion(attention="uniform"), i)
        assert flat == near([1 / len(alpha)] * len(alpha))
        assert row["change"] == near(tvd(p, q))
        assert row["attention_jsd"] == near(jsd(alpha, [1 / len(alpha)] * len(alpha)))
        assert (row["correct"], row["correct_uniform"]) == (own == row["label"], other == row["label"])
        assert row["predicted_uniform"] == other
        assert row["lost"] == (own == row["label"]) - (other == row["label"])


@pytest.mark.parametrize("classes", [2, 4])
def test_seed_variance_equals_a_loop(classes):
    examination = examined(FOUR[1], classes)
    for i, row in judged_rows(FOUR[1], examination):
        p, alpha, own = says(examination, SUBJECT, i)
        others = [says(examination, Companion(seed=k), i) for k in (1, 2, 3)]
        assert row["attention_jsd_by_seed"] == near([jsd(alpha, beta) for _, beta, _ in others])
        assert row["prediction_tvd_by_seed"] == near([tvd(p, q) for q, _, _ in others])
        assert row["attention_jsd"] == near(sum(row["attention_jsd_by_seed"]) / 3)
        assert row["prediction_tvd"] == near(sum(row["prediction_tvd_by_seed"]) / 3)
        assert row["predicted_by_seed"] == [c for _, _, c in others]
        assert row["correct"] == (own == row["label"])
        assert row["correct_others"] == near(sum(c == row["label"] for _, _, c in others) / 3)
        moved = [beta.index(max(beta)) != alpha.index(max(alpha)) for _, beta, _ in others]
        assert row["top_changed"] == near(sum(moved) / 3)
        assert row["top_changed_by_seed"] == [float(one) for one in moved]
        assert row["max_attention"] == near(max(alpha))


@pytest.mark.parametrize("classes", [2, 4])
def test_guide_equals_a_loop(classes):
    examination = examined(FOUR[2], classes)
    seen = set()
    for i, row in judged_rows(FOUR[2], examination):
        _, alpha, own = says(examination, SUBJECT, i)
        assert row["correct"] == (own == row["label"])
        by = {name: says(examination, companion, i) for name, companion in FOUR[2].guided.items()}
        assert by["model"][1] == near(alpha)
        assert by["adversary"][1] == near(says(examination, FOUR[2].guided["adversary"].guide, i)[1])
        for name, (_, _, predicted) in by.items():
            assert row[f"predicted_{name}"] == predicted
            assert row[f"correct_{name}"] == (predicted == row["label"])
        right = {name: int(predicted == row["label"]) for name, (_, _, predicted) in by.items()}
        assert row["gained"] == right["model"] - right["uniform"]
        assert row["over_own"] == right["model"] - right["own"]
        assert row["over_adversary"] == right["model"] - right["adversary"]
        seen.add(row["over_own"])
    assert len(seen) > 1


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 4])
def test_adversarial_training_equals_a_loop(classes):
    examination = examined(FOUR[3], classes)
    seen = []
    for i, row in judged_rows(FOUR[3], examination):
        p, alpha, own = says(examination, SUBJECT, i)
        weight = float(row["weight"])
        others = [says(examination, Companion(seed=k, against=Against(weight)), i) for k in (1, 2)]
        assert row["tvd_by_seed"] == near([tvd(p, q) for q, _, _ in others])
        assert row["jsd_by_seed"] == near([jsd(alpha, beta) for _, beta, _ in others])
        assert (row["tvd"], row["jsd"]) == near((sum(row["tvd_by_seed"]) / 2, sum(row["jsd_by_seed"]) / 2))
        assert row["predicted_by_seed"] == [c for _, _, c in others]
        assert row["correct"] == (own == row["label"])
        assert row["correct_adversary"] == near(sum(c == row["label"] for _, _, c in others) / 2)
        assert row["max_attention"] == near(max(alpha))
        seen.append((row["weight"], i))
    assert len(set(seen)) == len(seen) == 3 * int((examination.lengths >= 2).sum())


@pytest.mark.parametrize("challenge", FOUR, ids=lambda challenge: challenge.name)
def test_what_is_found_does_not_depend_on_the_batch_around_a_text(challenge):
    together: dict[int, list[dict]] = {}
    for row in challenge.examine(examined(challenge, 3)).to_pylist():
        together.setdefault(row["row"], []).append(row)
    for i in (0, 5, 7, 23):
        alone = challenge.examine(examined(challenge, 3, rows=[i])).to_pylist()
        for one, beside in zip(alone, together[i], strict=True):
            numbers = {k: v for k, v in beside.items() if isinstance(v, float | list)}
            assert one == {**beside, **{k: near(v) for k, v in numbers.items()}}


@pytest.mark.parametrize("challenge", FOUR, ids=lambda challenge: challenge.name)
def test_a_model_beside_itself_shows_no_difference(challenge):
    examination = examined(challenge)
    examination.companions = dict.fromkeys(examination.companions, examination.subject)
    zero = {"change", "lost", "gained", "over_own", "over_adversary", "prediction_tvd", "top_changed", "tvd", "jsd"}
    if challenge.name == "seed_variance":
        zero |= {"attention_jsd"}
    for _, row in judged_rows(challenge, examination):
        for name in zero & row.keys():
            assert row[name] == near(0)


@pytest.mark.parametrize("challenge", FOUR, ids=lambda challenge: challenge.name)
def test_every_measure_has_an_estimate(challenge):
    examination = examined(challenge)
    table = challenge.examine(examination)
    found = Findings(text_of(challenge), challenge.measures, table)
    labels = examination.batch.labels.numpy()
    right = (examination.reading.predicted.numpy() == labels)[~examination.single].mean()
    for measure in challenge.measures:
        value = estimate(found, measure.name)
        assert value.low <= value.value <= value.high
        assert value.judged == int((~examination.single).sum())
    assert estimate(found, "accuracy").value == pytest.approx(right)


def test_the_companions_are_those_of_the_paper():
    assert TrainedUniform().companions == (Companion(attention="uniform"),)
    assert SeedVariance().companions == tuple(Companion(seed=k) for k in range(1, 8))
    words = "average(hidden=128, activation='tanh')"
    assert Guide(weight=0.5).companions == (
        Companion(encoder=words, attention="uniform"),
        Companion(encoder=words),
        Companion(encoder=words, guide=SUBJECT),
        Companion(encoder=words, guide=Companion(seed=1, against=Against(0.5))),
    )
    assert ENCODERS.parse(words).activation == "tanh"


def test_an_adversary_begins_anew_or_where_that_of_the_weight_before_ended():
    first, second = (Companion(seed=1, against=Against(weight)) for weight in (0.0, 0.1))
    assert AdversarialTraining((0.0, 0.1)).companions == (first, second)
    warm = AdversarialTraining((0.0, 0.1), start="previous").companions
    assert warm == (first, Companion(seed=1, against=Against(0.1), starts_from=first))
    both = AdversarialTraining((0.0, 0.1), seeds=2, start="previous").companions
    assert [one.seed for one in both] == [1, 2, 1, 2]
    assert both[3].starts_from == both[1]
    released = AdversarialTraining((0.1,), "jsd", halved=True, select="test").companions[0].against
    assert released == Against(0.1, "jsd", halved=True, select="test")


def test_the_adversary_of_the_guide_is_one_of_the_curve():
    assert Guide().guided["adversary"].guide in AdversarialTraining().companions


def test_the_curve_has_three_measures_for_every_weight_and_one_way_to_write_it():
    challenge = CHALLENGES.parse("adversarial_training(weights=(0, 0.25))")
    assert text_of(challenge) == "adversarial_training(weights=(0.0, 0.25))"
    names = [measure.name for measure in challenge.measures]
    assert names == ["accuracy", *(f"{w}.{what}" for w in ("0", "0.25") for what in ("tvd", "jsd", "accuracy"))]
    assert {m.where["weight"] for m in challenge.measures} == {"0", "0.25"}


@pytest.mark.parametrize("name", [challenge.name for challenge in FOUR])
def test_they_are_asked_for_by_name_and_by_no_audit_of_itself(name):
    assert CHALLENGES.parse(name).name == name
    assert name not in DEFAULT


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("seed_variance(seeds=1)", "seeds=1 must be at least 2"),
        ("guide(hidden=0)", "hidden=0 must be at least 1"),
        ("guide(weight=-1.0)", "weight=-1.0 must be at least 0"),
        ("guide(divergence='tvd')", "divergence='tvd' must be"),
        ("adversarial_training(weights=())", "must name at least one"),
        ("adversarial_training(weights=(0.1, 0.1))", "must name each λ once"),
        ("adversarial_training(weights=(-0.1,))", "weights=(-0.1,) must be at least 0"),
        ("adversarial_training(seeds=0)", "seeds=0 must be at least 1"),
        ("adversarial_training(start='warm')", "start='warm' must be one of fresh, previous"),
        ("adversarial_training(select='train')", "select='train' must be"),
    ],
)
def test_wrong_parameters_are_refused_in_one_line(text, words):
    with pytest.raises(InputError) as error:
        CHALLENGES.parse(text)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
