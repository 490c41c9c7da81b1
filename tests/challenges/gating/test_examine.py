"""Gating against loops from its definition: what is swapped, what stays, and what is found of one that is no gate."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pyarrow as pa
import pytest
import torch
from tests.conftest import classifier, made_up_split, whole
from tests.support.hierarchy import hierarchical, texts
from tests.support.pairs import made_up_pairs, pair_model
from tests.support.translations import found, made_up_translations, translator

from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Examination
from attentest.challenges.gating.examine import other_query, swapped_states
from attentest.data.batches import Batch, Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.measures.divergence import jensen_shannon, total_variation
from attentest.models.architecture import Architecture
from attentest.models.parts.attention import ATTENTIONS, AdditiveNetwork
from attentest.models.parts.encoders import ENCODERS
from attentest.models.wrappers.guided import Guided

GATING = CHALLENGES.parse("gating")


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def single(attention: str = "additive", encoder: str = "bilstm(hidden=6)") -> Examination:
    split = made_up_split(10, low=1, high=9)
    model, encoded = classifier(Architecture(ENCODERS.parse(encoder), ATTENTIONS.parse(attention), None, 10), split)
    batch = whole(encoded)
    return Examination(model, batch, model.read(batch), 0, pa.concat_arrays(split.table["tokens"].chunks))


def pair(attention: str = "additive", query: str = "separate", head: str = "joint", count: int = 9) -> Examination:
    split = made_up_pairs(count, high=8)
    model, encoded = pair_model("bilstm(hidden=6)", attention, head, query, split=split)
    batch = whole(encoded)
    tokens = pa.concat_arrays(split.table["tokens"].chunks)
    return Examination(model, batch, model.read(batch), 0, tokens, texts=count, donors=encoded.batch)


def rows(examined: Examination, swapped: str) -> list[dict[str, object]]:
    return [row for row in GATING.examine(examined).to_pylist() if row["swapped"] == swapped]


class Context(AdditiveNetwork):
    """An attention that is no gate: each energy depends on the mean of all keys."""

    def weigh(self, keys, mask, query=None):
        mean = (keys * mask[..., None]).sum(-2, keepdim=True) / mask.sum(-1)[..., None, None]
        return super().weigh(keys * (1 + 5 * mean), mask, query)


@pytest.mark.parametrize("attention", ["additive", "dot", "uniform"])
def test_without_a_query_attention_is_a_gate(attention):
    found = rows(single(attention), "rest")
    judged = [row for row in found if row["not_judged"] is None]
    assert len(judged) >= 5
    assert all(row["gate"] and row["rest_jsd"] < 1e-9 and row["gate_jsd"] < 1e-9 for row in judged)
    assert {row["not_judged"] for row in found} == {None, "fewer than three tokens"}
    assert rows(single(attention), "query") == []


def test_weights_that_do_not_follow_the_states_are_no_gate():
    judged = [row for row in rows(single("random"), "rest") if row["not_judged"] is None]
    assert judged
    # Those kept keep their weights, but a token does not get the weight of the state it was given.
    assert all(row["rest_jsd"] < 1e-9 and row["gate_jsd"] > 1e-4 and not row["gate"] for row in judged)


def test_an_attention_that_looks_at_all_states_is_found_out_and_equals_a_loop():
    examined = single()
    model, batch = examined.subject, examined.batch
    built = Context(model.encoder.size, None)
    built.load_state_dict(model.attention.state_dict())
    model.attention = built
    examined = dataclasses.replace(examined, reading=model.read(batch))
    found, weights = rows(examined, "rest"), examined.weights
    kept, source = swapped_states(batch.keys, examined.mask, 0)
    judged = 0
    for i, row in enumerate(found):
        places = examined.mask[i].nonzero()[:, 0].tolist()
        if len(places) < 3:
            assert row["not_judged"] == "fewer than three tokens"
            continue
        judged += 1
        states = examined.reading.states[i].clone()
        for t in places:
            states[t] = examined.reading.states[i, source[i, t]]
        after = model.attention(states, examined.mask[i]).double()
        stay = [t for t in places if kept[i, t]]
        assert len(stay) == math.ceil(len(places) / 2)
        assert all(source[i, t] == t for t in stay)
        assert all(source[i, t] != t and int(source[i, t]) in places for t in set(places) - set(stay))
        p, q = weights[i, stay] / weights[i, stay].sum(), after[stay] / after[stay].sum()
        assert row["rest_jsd"] == pytest.approx(float(jensen_shannon(p, q)), abs=1e-9)
        change = [math.log(q[a] / q[b]) - math.log(p[a] / p[b]) for a in range(len(stay)) for b in range(len(stay))]
        assert row["rest_log_ratio"] == pytest.approx(max(change), abs=1e-4)
        expected = torch.tensor([float(weights[i, source[i, t]]) for t in places])
        assert row["gate_jsd"] == pytest.approx(
            float(jensen_shannon(expected / expected.sum(), after[places] / after[places].sum())), abs=1e-6
        )
    assert judged >= 5
    assert sum(bool(row["gate"]) for row in found) < judged


@pytest.mark.parametrize(("attention", "query", "head"), [
    ("additive", "separate", "joint"),
    ("dot", "shared", "softmax"),
    ("additive", "conditional", "joint_tanh"),
])  # fmt: skip
def test_another_query_equals_a_loop_over_pairs(attention, query, head):
    examined = pair(attention, query, head)
    model, batch, count = examined.subject, examined.batch, len(examined.batch)
    borrowed: list[np.ndarray] = []

    def donors(rows: np.ndarray) -> Batch:
        borrowed.append(rows)
        return examined.donors(rows)

    found = rows(dataclasses.replace(examined, donors=donors), "query")
    assert all(0 <= other < count and other != own for own, other in enumerate(borrowed[0].tolist()))
    for i, row in enumerate(found):
        if row["not_judged"] is not None:
            assert int(examined.mask[i].sum()) == 1
            continue
        own = batch[i : i + 1]
        asked = dataclasses.replace(own, second=batch.second[torch.tensor([int(borrowed[0][i])])])
        weights = model.read(asked).weights.double()
        assert row["query_jsd"] == pytest.approx(float(jensen_shannon(weights, examined.weights[i : i + 1])), abs=1e-6)
        changed = model.read(own).reread(weights[:, None])[0, 0].double()
        assert row["query_change"] == pytest.approx(
            float(total_variation(changed.softmax(-1), examined.probabilities[i])), abs=1e-5
        )
        assert row["query_flipped"] == bool(changed.argmax() != examined.reading.predicted[i])
    judged = [row for row in found if row["not_judged"] is None]
    assert max(row["query_jsd"] for row in judged) > 1e-4
    assert not any(row["gate"] for row in rows(examined, "rest") if row["gate"] is not None)


def test_an_attention_that_does_not_listen_to_the_query_is_a_gate_also_of_pairs():
    examined = pair("uniform")
    assert {row["gate"] for row in rows(examined, "rest")} == {None, True}
    assert {row["query_jsd"] for row in rows(examined, "query")} <= {None, 0.0}


def test_a_query_with_the_same_words_is_counted_not_judged():
    examined = pair()
    same = examined.batch.second
    twin = dataclasses.replace(examined, donors=lambda rows: dataclasses.replace(examined.batch, second=same))
    found = rows(twin, "query")
    assert {row["not_judged"] for row in found} <= {"fewer than two tokens", "the other query is the same"}
    assert all(row["query_jsd"] is None for row in found)
    assert all(row["gate"] is None for row in rows(twin, "rest"))


def test_where_there_is_no_other_text_no_query_is_judged():
    for examined in (dataclasses.replace(pair(), donors=None), pair(count=1)):
        reasons = {row["not_judged"] for row in rows(examined, "query")}
        assert reasons <= {"fewer than two tokens", "no other query to ask"}
        assert "no other query to ask" in reasons or examined.single.all()


def test_findings_do_not_depend_on_the_batch_around_a_text():
    examined = pair()
    together = GATING.examine(examined).to_pylist()
    for i in range(len(examined.batch)):
        alone = examined.batch[i : i + 1]
        part = dataclasses.replace(examined, batch=alone, reading=examined.subject.read(alone))
        for row in GATING.examine(part).to_pylist():
            (other,) = [r for r in together if (r["row"], r["swapped"]) == (row["row"], row["swapped"])]
            assert row["not_judged"] == other["not_judged"]
            for name in ("rest_jsd", "gate_jsd", "query_jsd", "query_change"):
                assert (
                    row[name] == pytest.approx(other[name], abs=1e-5) if other[name] is not None else row[name] is None
                )


def test_the_sentences_of_a_hierarchical_model_are_gated_too():
    split = texts(most=7)
    model, encoded = hierarchical(split)
    batch = whole(encoded)
    found = rows(Examination(model, batch, model.read(batch), 0, split.table["tokens"].chunk(0)), "rest")
    judged = [row for row in found if row["not_judged"] is None]
    assert judged
    assert all(row["gate"] for row in judged)


def test_a_model_without_an_attention_of_its_own_is_told_so():
    examined = single()
    reason = GATING.objection(Guided(examined.subject, examined.subject), has_rationale=False)
    assert reason == "this is for models whose attention can be given other states"


def test_at_the_words_of_a_hierarchical_model_other_words_have_a_say_through_their_sentences():
    split = texts(most=7)
    network, encoded = hierarchical(split)
    batch, subject = whole(encoded), network.at("word")
    reading = subject.read(batch)
    assert torch.allclose(subject.attend(batch, reading.states, batch), reading.weights)
    found = rows(Examination(subject, batch, reading, 0, split.table["tokens"].chunk(0)), "rest")
    assert any(row["gate"] is False and row["rest_jsd"] > 1e-6 for row in found)


def test_in_translation_another_query_is_another_step_of_the_same_sentence():
    tokens = [[f"w{i % 7}" for i in range(size)] for size in (3, 4, 2)]
    written = [["a"] * size for size in (2, 0, 5)]
    split = Split.of(["x", "y", "z"], tokens, [0, 0, 0], target=written)
    batch = whole(Encoded.of(split, Vocabulary.from_split(split)))
    examined = dataclasses.replace(single(), batch=batch)
    other = other_query(examined)
    of, step, taken = batch.target.of, batch.target.step, other.asked.target
    assert torch.equal(taken.of, of)
    assert other.none.tolist() == [of_ == 1 for of_ in of.tolist()]
    assert torch.equal((taken.step != step), of != 1)
    assert torch.equal(other.asked.keys, batch.keys)


@pytest.mark.parametrize("attention", ["additive", "dot"])
def test_a_translator_is_asked_anew_at_every_step(attention, tmp_path):
    split = made_up_translations(4)
    vocabulary = Vocabulary.from_split(split)
    findings = found("gating", split, translator(vocabulary, attention), vocabulary, tmp_path).table.to_pylist()
    asked = [row for row in findings if row["swapped"] == "query" and row["not_judged"] is None]
    assert asked
    assert max(row["query_jsd"] for row in asked) > 1e-6
    rest = [row for row in findings if row["swapped"] == "rest" and row["not_judged"] is None]
    assert all(row["rest_jsd"] < 1e-9 and row["gate_jsd"] < 1e-9 for row in rest)
