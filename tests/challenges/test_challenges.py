from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
import torch
from scipy import stats
from tests.conftest import classifier, made_up_split, whole

from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Examination, ragged
from attentest.challenges.parts_of_speech.tagger import MISSING, missing
from attentest.errors import InputError
from attentest.measures.human_agreement import Annotations
from attentest.models.capabilities import Layered, Selects
from attentest.models.huggingface.pretrained import Pretrained
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.encoders import ENCODERS
from attentest.models.subject import DecodedReading
from attentest.registry import text_of
from attentest.tasks import DEFAULT

#: What is not asked of classifiers trained here, and why.
WHY_NOT = (
    dict.fromkeys(("bleu", "layers_bleu", "alignment"), "this is for models that write texts")
    | {"layers": f"this is for {Layered.called}", "selection": f"this is for {Selects.called}"}
    | dict.fromkeys(("heads", "knockout", "joint_adversary"), f"this is for {Pretrained.called}")
    | ({"parts_of_speech": MISSING} if missing() else {})
)


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def examination(classes: int = 2, low: int = 1, high: int = 9, affine: bool = True, count: int = 12) -> Examination:
    split = made_up_split(count, low, high)
    model, encoded = classifier(Architecture(ENCODERS.parse("bilstm(hidden=6)"), embedding=8), split, classes)
    batch = whole(encoded)
    with torch.no_grad():
        reading = model.read(batch)
    if not affine:
        reading = DecodedReading(
            reading.logits, reading.weights, reading.mask, reading.states, reading.embeddings, model.head
        )
    marks = torch.zeros_like(batch.mask)
    marks[batch.mask] = torch.tensor([m for row in split.table["rationale"].to_pylist() for m in row])
    tokens = pa.concat_arrays(split.table["tokens"].chunks)
    people = Annotations(marks[:, None].repeat(1, 3, 1), torch.ones(count, 3, dtype=torch.bool))
    return Examination(model, batch, reading, 0, tokens, marks, annotations=people)


def rows(table: pa.Table) -> list[dict]:
    return table.to_pylist()


def softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max())
    return e / e.sum()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("name", list(CHALLENGES))
def test_every_challenge_answers_for_every_instance_or_says_why_not(name, classes, affine):
    examined = examination(classes, affine=affine)
    challenge = CHALLENGES.parse(name if name != "adversary" else "adversary(steps=20)")
    why_not = challenge.objection(examined.subject, has_rationale=True)
    assert why_not == WHY_NOT.get(name)
    if why_not is not None:
        return
    examined.companions = dict.fromkeys(challenge.companions, examined.subject)
    table = challenge.examine(examined)
    assert set(table["row"].to_pylist()) == set(range(12))
    assert "not_judged" in table.column_names
    # There is one text, so that nothing is asked of it, and no attention but that on words.
    for measure in (m for m in challenge.measures if not m.column.startswith(("query_", "on_words"))):
        assert measure.column in table.column_names
        assert set(measure.where) <= set(table.column_names)
    if name not in ("instances", "rationale", "certificates", "token_predictions", "parts_of_speech"):
        for row in rows(table):
            assert (row["not_judged"] is not None) >= (examined.lengths[row["row"]].item() < 2)


def test_agreement_equals_a_loop_with_scipy():
    examined = examination(low=1)
    table = CHALLENGES.parse("agreement").examine(examined)
    for row in rows(table):
        left, right = row["pair"].split("~")
        real = examined.mask[row["row"]]
        x, y = (examined.scores(name)[row["row"]][real].numpy() for name in (left, right))
        if len(x) < 2:
            assert row["not_judged"] == "fewer than two tokens"
            assert row["tau"] is None
            continue
        expected = stats.kendalltau(x, y)
        if math.isnan(expected.statistic):
            assert row["not_judged"] == "constant scores"
            continue
        assert row["tau"] == pytest.approx(expected.statistic, abs=1e-9)
        assert row["p_value"] == pytest.approx(expected.pvalue, abs=1e-9)
        assert row["significant"] == (expected.pvalue <= 0.05)
        assert row["spearman"] == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_permutation_of_short_texts_equals_enumerating_every_order(classes):
    examined = examination(classes, low=2, high=4)
    z = examined.reading.token_logits.double().numpy()
    for row in rows(CHALLENGES.parse("permutation").examine(examined)):
        real = examined.mask[row["row"]].numpy()
        alpha, tokens = examined.weights[row["row"]].numpy()[real], z[row["row"]][real]
        own = softmax(alpha @ tokens)
        changes, flips = [], []
        for order in itertools.permutations(range(len(alpha))):
            p = softmax(alpha[list(order)] @ tokens)
            changes.append(0.5 * np.abs(p - own).sum())
            flips.append(p.argmax() != own.argmax())
        assert row["enumerated"]
        assert row["draws"] == math.factorial(len(alpha))
        assert row["median_change"] == pytest.approx(np.median(changes), abs=1e-6)
        assert row["mean_change"] == pytest.approx(np.mean(changes), abs=1e-6)
        assert row["flips"] == pytest.approx(np.mean(flips), abs=1e-6)
        if classes == 2:
            assert row["largest_change"] == pytest.approx(max(changes), abs=1e-6)


def test_permutation_of_long_texts_lies_within_the_exact_extremes_and_depends_on_the_seed_only():
    examined = examination(low=6, high=12)
    first, again = (CHALLENGES.parse("permutation").examine(examined) for _ in range(2))
    assert first.equals(again)
    for row in rows(first):
        assert not row["enumerated"]
        assert row["draws"] == 100
        assert 0 <= row["median_change"] <= row["largest_change"] + 1e-9
        assert row["margin_lowest"] <= row["margin"] <= row["margin_highest"]
        assert row["margin_lowest"] <= row["margin_mean"] <= row["margin_highest"]


def test_permuting_uniform_attention_changes_nothing():
    examined = examination(low=2)
    flat = examined.mask.double() / examined.lengths[:, None]
    logits = examined.reading.reread(flat[:, None])[:, 0]
    reading = type(examined.reading)(
        logits, flat, examined.mask, examined.reading.states, examined.reading.embeddings, examined.reading.per_token
    )
    uniform = Examination(examined.subject, examined.batch, reading, 0, examined.tokens)
    for row in rows(CHALLENGES.parse("permutation").examine(uniform)):
        assert row["median_change"] == pytest.approx(0, abs=1e-7)
        assert row["flips"] == 0


@pytest.mark.parametrize("classes", [2, 3])
def test_uniform_equals_a_loop(classes):
    examined = examination(classes, low=2)
    z = examined.reading.token_logits.double().numpy()
    for row in rows(CHALLENGES.parse("uniform").examine(examined)):
        real = examined.mask[row["row"]].numpy()
        own = softmax(examined.reading.logits[row["row"]].double().numpy())
        flat = softmax(z[row["row"]][real].mean(0))
        assert row["change"] == pytest.approx(0.5 * np.abs(own - flat).sum(), abs=1e-6)
        assert row["flipped"] == (own.argmax() != flat.argmax())


@pytest.mark.parametrize("classes", [2, 3])
def test_what_the_search_finds_never_beats_the_certificate(classes):
    table = CHALLENGES.parse("adversary(epsilon=0.05, steps=150)").examine(examination(classes, low=2))
    for row in rows(table):
        assert row["lower"] <= row["upper"] + 1e-9
        assert row["upper"] <= row["unconstrained"] + 1e-9
        assert row["adversarial_change"] <= 0.05 + 1e-6
        if not row["search_failed"]:
            assert row["searched_divergence"] <= row["upper"] + 1e-9
            assert row["shortfall"] >= -1e-9
        if classes == 2:
            assert row["certified"]


def test_without_an_affine_head_the_adversary_is_searched_and_nothing_is_certified():
    for row in rows(CHALLENGES.parse("adversary(epsilon=0.05, steps=100)").examine(examination(affine=False, low=2))):
        assert row["upper"] is None
        assert not row["certified"]


def test_where_the_search_ends_beyond_epsilon_a_mixture_with_the_models_own_attention_lies_within():
    """One step leaves all five where they began; the model's own attention is no other one."""
    examined = examination(affine=False, low=3)
    found = rows(CHALLENGES.parse("adversary(epsilon=0.002, steps=1)").examine(examined))
    failed = [row for row in found if row["search_failed"]]
    assert failed
    for row in failed:
        own = examined.weights[row["row"]][examined.mask[row["row"]]].numpy()
        assert row["adversarial_change"] <= 0.002 + 1e-6
        assert row["lower"] == pytest.approx(jensen_shannon_of(own, np.array(row["adversarial_attention"])), abs=1e-6)
    assert np.mean([row["lower"] > 1e-6 for row in failed]) > 0.8


def jensen_shannon_of(p, q):
    """By its definition, in nats."""
    middle = (p + q) / 2
    return sum(0.5 * x * np.log(x / m) for pair in (p, q) for x, m in zip(pair, middle, strict=True) if x > 0)


def test_the_adversary_does_not_depend_on_the_batch_around_an_instance():
    split = made_up_split(8, 2, 9)
    model, encoded = classifier(Architecture(ENCODERS.parse("bilstm(hidden=6)"), embedding=8), split)
    challenge = CHALLENGES.parse("adversary(steps=30)")

    def examine(chosen):
        batch = encoded.batch(np.array(chosen))
        tokens = pa.concat_arrays(split.table["tokens"].take(pa.array(chosen)).chunks)
        with torch.no_grad():
            return rows(challenge.examine(Examination(model, batch, model.read(batch), 0, tokens)))

    together = {row["row"]: row for row in examine(list(range(8)))}
    for alone in (examine([i])[0] for i in range(8)):
        whole_ = together[alone["row"]]
        assert alone["lower"] == pytest.approx(whole_["lower"], abs=1e-6)
        assert alone["searched_divergence"] == pytest.approx(whole_["searched_divergence"], abs=1e-4)


def test_rationale_needs_marks_and_says_so():
    challenge, subject = CHALLENGES.parse("rationale"), examination().subject
    assert challenge.objection(subject, has_rationale=False) == "the corpus has no rationales"
    assert challenge.objection(subject, has_rationale=True) is None


def test_a_ranking_that_puts_marked_tokens_first_has_average_precision_one():
    examined = examination(low=3)
    examined._scores["attention"] = examined.rationale.double() + 0.1 * examined.mask
    for row in rows(CHALLENGES.parse("rationale(explainers=('attention',))").examine(examined)):
        if row["not_judged"] is None:
            assert row["average_precision"] == pytest.approx(1.0)
        else:
            assert row["not_judged"] in ("no marked token", "every token marked")


def test_instances_keep_tokens_weights_and_per_token_logits():
    examined = examination(3)
    for row in rows(CHALLENGES.parse("instances").examine(examined)):
        assert len(row["tokens"]) == len(row["attention"]) == len(row["token_logits"]) == len(row["leave_one_out"])
        assert sum(row["attention"]) == pytest.approx(1.0, abs=1e-6)
        z = np.array(row["token_logits"])
        assert softmax(np.array(row["attention"]) @ z) == pytest.approx(np.array(row["probabilities"]), abs=1e-5)


def test_ragged_keeps_real_tokens_only():
    mask = torch.tensor([[False, True, True, False], [False, False, False, False]])
    values = torch.arange(8.0).view(2, 4)
    assert ragged(values, mask).to_pylist() == [[1.0, 2.0], []]
    assert ragged(values[..., None].repeat(1, 1, 2), mask).to_pylist() == [[[1.0, 1.0], [2.0, 2.0]], []]


@pytest.mark.parametrize("text", [*DEFAULT, "adversary(epsilon=0.05)", "permutation(draws=7)"])
def test_a_challenges_text_is_its_identity(text):
    assert text_of(CHALLENGES.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("permutaton", "Did you mean 'permutation'"),
        ("adversary(epsilon=2)", "between 0 and 1"),
        ("adversary(epsilom=1)", "Did you mean 'epsilon'"),
        ("adversary(epsilon='x')", "must be of type float"),
        ("permutation(draws=0)", "at least 1"),
        ("agreement(pairs=('attention',))", "two explainers"),
        ("adversary(__import__('os'))", "is not a challenge"),
        ("a b", "is not a challenge"),
    ],
)
def test_wrong_challenges_are_refused_in_one_line(text, said):
    with pytest.raises((InputError, Exception), match=said) as error:
        CHALLENGES.parse(text)
    assert "\n" not in str(error.value)
