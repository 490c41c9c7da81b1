from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
import torch
from tests.conftest import classifier, made_up_split, whole

from attentest.challenges.challenge import Examination
from attentest.challenges.faithfulness.examine import MARKS, Erased, Faithfulness, bin_sizes, probability_left
from attentest.challenges.limits import ENUMERATED, Between, enumerated_limits, ranked, searched_orders
from attentest.errors import InputError
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.encoders import ENCODERS
from attentest.models.subject import DecodedReading

BINS = (0.01, 0.05, 0.1, 0.2, 0.5)
LOOKED = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 0.9)
EXPLAINERS = ("attention", "gradient", "leave_one_out")


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def examination(
    classes: int = 2, low: int = 1, high: int = 9, *, affine: bool = True, marks: bool = True, rows=None, seed: int = 0
) -> Examination:
    split = made_up_split(12, low, high)
    encoder = ENCODERS.parse("bilstm(hidden=6)")
    model, encoded = classifier(Architecture(encoder, embedding=8), split, classes)
    batch = whole(encoded) if rows is None else encoded.batch(np.array(rows))
    reading = model.read(batch)
    if not affine:
        given = (reading.logits, reading.weights, reading.mask, reading.states, reading.embeddings)
        reading = DecodedReading(*given, model.head)
    flags = None
    if marks:
        every = split.table["rationale"].to_pylist()
        flags = torch.zeros_like(batch.mask)
        flags[batch.mask] = torch.tensor([m for row in batch.rows.tolist() for m in every[row]])
    tokens = pa.concat_arrays(split.table["tokens"].take(pa.array(batch.rows.numpy())).chunks)
    return Examination(model, batch, reading, seed, tokens, flags)


def probability(examined: Examination, row: int, kept: list[int], mode: str) -> np.ndarray:
    """The literal way: write the shorter text (or its embeddings) and read it by itself."""
    model, batch = examined.subject, examined.batch[row : row + 1]
    real = examined.mask[row].nonzero()[:, 0].tolist()
    if mode == "delete":
        tokens = batch.text.tokens[0]
        left = [0, *(real[t] for t in kept), len(real) + 1]
        text = type(batch.text)(tokens[left][None], torch.tensor([len(left)]), torch.ones(1, len(left)).bool())
        text.mask[0, [0, -1]] = False
        shorter = type(batch)(text, batch.labels, batch.rows, batch.keys)
        return model.read(shorter).logits[0].double().softmax(-1).numpy()
    embeddings = model.embed(batch).clone()
    for t in set(range(len(real))) - set(kept):
        embeddings[0, real[t]] = model.baseline(mode)
    return model.read(batch, embeddings=embeddings).logits[0].double().softmax(-1).numpy()


def size(share: float, length: int) -> int:
    return min(max(1, math.ceil(share * length - 1e-9)), length - 1)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["delete", "mask"])
@pytest.mark.parametrize("classes", [2, 3])
def test_scores_equal_a_loop_that_erases_and_reads_text_by_text(classes, mode):
    examined = examination(classes)

    @functools.cache  # explainers agree on many of the sets
    def left(i: int, kept: tuple[int, ...]) -> np.ndarray:
        return probability(examined, i, list(kept), mode)

    for row in Faithfulness(EXPLAINERS, (mode,)).examine(examined).to_pylist():
        i, length = row["row"], int(examined.lengths[row["row"]])
        if length < 2:
            assert row["not_judged"] == "fewer than two tokens"
            assert row["comprehensiveness"] is None
            continue
        if row["explainer"] == MARKS:
            continue
        real = examined.mask[i]
        scores = examined.scores(row["explainer"])[i][real].tolist()
        order = sorted(range(length), key=lambda t: -scores[t])
        predicted = int(examined.reading.predicted[i])
        own = examined.probabilities[i, predicted].item()
        without, only = [], []
        for share in BINS:
            top = order[: size(share, length)]
            without.append(left(i, tuple(sorted(set(range(length)) - set(top))))[predicted])
            only.append(left(i, tuple(sorted(top)))[predicted])
        assert row["without"] == pytest.approx(without, abs=1e-5)
        assert row["only"] == pytest.approx(only, abs=1e-5)
        assert row["comprehensiveness"] == pytest.approx(own - np.mean(without), abs=1e-5)
        assert row["sufficiency"] == pytest.approx(own - np.mean(only), abs=1e-5)
        fraction = None
        for share in reversed(LOOKED):
            if left(i, tuple(sorted(order[size(share, length) :]))).argmax() != predicted:
                fraction = size(share, length) / length
        assert row["flip_fraction"] == (None if fraction is None else pytest.approx(fraction))
        assert row["flipped"] == (fraction is not None)
        assert row["until_flip"] == pytest.approx(1.0 if fraction is None else fraction)


@pytest.mark.slow
@pytest.mark.parametrize("affine", [True, False])
def test_limits_of_short_texts_are_those_of_all_orders(affine):
    examined = examination(low=2, high=5, affine=affine)
    done = 0
    for row in Faithfulness(("attention",)).examine(examined).to_pylist():
        i, length = row["row"], int(examined.lengths[row["row"]])
        if row["explainer"] == MARKS:
            continue
        predicted = int(examined.reading.predicted[i])
        own = examined.probabilities[i, predicted].item()
        chance = {
            kept: probability(examined, i, list(kept), "delete")[predicted]
            for n in range(1, length)
            for kept in itertools.combinations(range(length), n)
        }
        removed, left = [], []
        for order in itertools.permutations(range(length)):
            tops = [order[: size(share, length)] for share in BINS]
            removed.append(own - np.mean([chance[tuple(sorted(set(range(length)) - set(top)))] for top in tops]))
            left.append(own - np.mean([chance[tuple(sorted(top))] for top in tops]))
        assert row["enumerated"]
        assert not row["search_beaten"]
        for name, orders in (("comprehensiveness", removed), ("sufficiency", left)):
            assert row[f"least_{name}"] == pytest.approx(min(orders), abs=1e-5)
            assert row[f"most_{name}"] == pytest.approx(max(orders), abs=1e-5)
        if max(removed) - min(removed) > 0.01:
            done += 1
            share = (row["comprehensiveness"] - min(removed)) / (max(removed) - min(removed))
            assert row["normalised_comprehensiveness"] == pytest.approx(share, abs=1e-2)
    assert done > 3


@pytest.mark.parametrize("classes", [2, 3])
def test_normalised_scores_lie_between_the_limits_and_so_does_chance(classes):
    table = Faithfulness(EXPLAINERS, ("delete", "zero", "zero_attention")).examine(examination(classes, 2, 12))
    for row in table.to_pylist():
        for name in ("comprehensiveness", "sufficiency"):
            ours, chance = row[f"normalised_{name}"], row[f"random_normalised_{name}"]
            if row["not_judged"] is None and ours is not None:
                assert -1e-3 <= ours <= 1 + 1e-3
                assert -1e-3 <= chance <= 1 + 1e-3
                assert row[f"least_{name}"] <= row[name] + 1e-6 <= row[f"most_{name}"] + 2e-6


def test_a_search_with_more_candidates_finds_no_narrower_limits():
    examined = examination(low=8, high=12, marks=False)
    few, many = (Faithfulness(("attention",), candidates=count).examine(examined).to_pylist() for count in (1, 12))
    ranges = [
        np.mean([r["most_comprehensiveness"] - r["least_comprehensiveness"] for r in rows]) for rows in (few, many)
    ]
    assert ranges[1] >= ranges[0]


def test_the_search_comes_near_the_exact_limits():
    examined = examination(low=5, high=ENUMERATED)
    sizes = bin_sizes(examined.lengths, BINS)

    def chance(keep):
        return probability_left(examined, "delete", keep)

    exact = enumerated_limits(chance, examined.mask, sizes)
    orders = searched_orders(chance, (examined.weights,), examined.mask, sizes, ENUMERATED)
    ranks = ranked(orders, torch.zeros_like(orders[:, 0]), examined.mask)
    tops = ranks[:, :, None] < sizes[:, None, :, None]
    for order, (remove, most) in enumerate([(True, False), (True, True), (False, False), (False, True)]):
        sets = tops[:, order] & examined.mask[:, None]
        found = chance(examined.mask[:, None] & ~sets if remove else sets).mean(-1)
        bound = (exact.without if remove else exact.only)[0 if most else 1]
        gap = bound - found if most else found - bound
        assert (gap > -1e-5).all()
        assert float(gap.mean()) < 0.03


@pytest.mark.slow
def test_a_constant_explainer_does_as_well_as_chance():
    examined = examination(low=10, high=14, marks=False)
    examined._scores["attention"] = examined.mask.double()
    rows = [
        row
        for seed in range(12)
        for row in Faithfulness(("attention",), draws=8)
        .examine(Examination(**{**examined.__dict__, "seed": seed}))
        .to_pylist()
    ]
    gaps = [row["comprehensiveness"] - row["random_comprehensiveness"] for row in rows]
    assert abs(np.mean(gaps)) < 4 * np.std(gaps) / math.sqrt(len(gaps))


def test_the_order_of_deletion_effects_beats_chance_and_its_reverse_does_not():
    examined = examination(low=6, high=12, marks=False)
    each = examined.mask[:, None] & ~torch.eye(examined.mask.shape[1], dtype=torch.bool)
    drop = -probability_left(examined, "delete", each).nan_to_num()
    for sign in (1, -1):
        examined._scores["attention"] = sign * drop
        rows = Faithfulness(("attention",)).examine(examined).to_pylist()
        ours, chance = (
            np.mean([row[name] for row in rows]) for name in ("comprehensiveness", "random_comprehensiveness")
        )
        assert (ours > chance) == (sign > 0)


@pytest.mark.slow
def test_what_is_found_does_not_depend_on_the_batch_around_an_instance():
    together = examination(low=2)
    challenge = Faithfulness(EXPLAINERS)
    found = {(row["row"], row["explainer"]): row for row in challenge.examine(together).to_pylist()}
    for i in (0, 3, 7):
        for row in challenge.examine(examination(low=2, rows=[i])).to_pylist():
            other = found[row["row"], row["explainer"]]
            for name, value in row.items():
                if isinstance(value, float):
                    assert value == pytest.approx(other[name], abs=2e-3), name


def test_marked_tokens_stand_among_the_explainers_where_there_are_marks():
    examined = examination(low=2)
    rows = [row for row in Faithfulness(("attention",)).examine(examined).to_pylist() if row["explainer"] == MARKS]
    assert len(rows) == 12
    for row in rows:
        assert (row["not_judged"] == "no marked token") == (not examined.rationale[row["row"]].any())
    bare = Faithfulness(("attention",)).examine(examination(marks=False))
    assert set(bare["explainer"].to_pylist()) == {"attention"}


def test_scores_that_are_not_numbers_are_not_judged():
    examined = examination(low=2, marks=False)
    scores = examined.scores("attention").clone()
    scores[0, 1] = math.nan
    examined._scores["attention"] = scores
    rows = Faithfulness(("attention",)).examine(examined).to_pylist()
    assert rows[0]["not_judged"] == "scores are not numbers"
    assert rows[0]["without"] is None
    assert rows[1]["not_judged"] is None


def test_several_ways_of_erasing_have_rows_and_measures_of_their_own():
    challenge = Faithfulness(("attention", "gradient"), ("delete", "mask"))
    table = challenge.examine(examination(marks=False))
    assert table.num_rows == 2 * 2 * 12
    assert {(m.where["explainer"], m.where["erasure"]) for m in challenge.measures} >= {
        ("attention", "delete"),
        ("gradient", "mask"),
    }
    assert len({measure.name for measure in challenge.measures}) == len(challenge.measures)
    for measure in challenge.measures:
        assert measure.column in table.column_names
        assert (measure.where["erasure"] in measure.name) == (measure.where["erasure"] in measure.words)


def test_every_set_of_every_explainer_is_read_in_one_call(monkeypatch):
    import attentest.challenges.faithfulness.examine as module

    calls = []
    plain = module.erased
    monkeypatch.setattr(module, "erased", lambda *given: calls.append(given[3].shape[1]) or plain(*given))
    Faithfulness(EXPLAINERS).examine(examination(low=8))
    assert max(calls) == (len(EXPLAINERS) + 1 + 2 + 3) * (len(LOOKED) + len(BINS))


def test_bins_hold_their_share_rounded_up_and_never_the_whole_text():
    found = bin_sizes(torch.tensor([1, 2, 3, 10, 30]), (0.01, 0.1, 0.5, 0.9))
    assert found.tolist() == [[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 2, 2], [1, 1, 5, 9], [1, 3, 15, 27]]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"erasures": ("burn",)}, "must be one of delete"),
        ({"bins": (0.5, 0.1)}, "must rise"),
        ({"bins": (0.0, 0.1)}, "must lie between 0 and 1"),
        ({"flip_bins": (1.0,)}, "must lie between 0 and 1"),
        ({"bins": (0.2, 0.1)}, "must rise from above 0"),
        ({"bins": ()}, "at least one"),
        ({"explainers": ()}, "at least one"),
        ({"draws": 0}, "at least 1"),
        ({"candidates": 0}, "at least 1"),
    ],
)
def test_wrong_parameters_are_refused_in_one_line(given, said):
    with pytest.raises(InputError, match=said) as error:
        Faithfulness(**given)
    assert "\n" not in str(error.value)


def test_the_soonest_flip_is_that_of_all_orders():
    rows = Faithfulness(EXPLAINERS).examine(examination(5, low=6, high=14)).to_pylist()
    judged = [row for row in rows if row["not_judged"] is None]
    for row in judged:
        assert row["best_until_flip"] <= min(row["until_flip"], row["random_until_flip"])
    assert any(row["best_until_flip"] < 1 for row in judged)
    # An explainer's order (the first), the two searched ones, a random one: here the explainer's flips soonest.
    drops, until = torch.zeros(1, 4), torch.tensor([[0.2, 0.5, 1.0, 0.75]])
    between = Between(drops, *torch.zeros(3, 1))
    found = Erased(drops[..., None], drops[..., None], between, between, until < 1, until)
    assert found.beside(1)["best_until_flip"].tolist() == pytest.approx([0.2])


@pytest.mark.parametrize(
    ("name", "signed", "of_tokens", "of_states"),
    [
        ("attention", False, False, True),
        ("gradient", False, False, False),
        ("gradient_norm", False, False, False),
        ("gradient_norm(norm='sum')", True, False, False),
        ("lrp", True, False, False),
        ("leave_one_out", False, True, False),
        ("occlusion", True, True, False),
        ("state_erasure", False, False, True),
    ],
)
def test_rows_say_whether_scores_have_a_sign_and_are_made_of_erasing(name, signed, of_tokens, of_states):
    rows = Faithfulness((name,), ("delete", "zero_attention")).examine(examination()).to_pylist()
    said = {(row["explainer"], row["erasure"]): (row["signed"], row["made_of_erasure"]) for row in rows}
    assert said[name, "delete"] == (signed, of_tokens)
    assert said[name, "zero_attention"] == (signed, of_states)
    assert said[MARKS, "delete"] == (False, False)


def test_columns_are_written_as_the_store_expects():
    table = Faithfulness(("attention",)).examine(examination())
    assert table.schema.field("without").type == pa.list_(pa.float64())
    assert table.schema.field("flipped").type == pa.bool_()
    assert table.schema.field("not_judged").type == pa.string()
