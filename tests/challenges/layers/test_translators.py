"""Layers of a Transformer that translates, replaced after the words of the reference and while it writes itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.support.translations import found, made_up_translations, transformer, translator
from torch import Tensor

from attentest.challenges import CHALLENGES
from attentest.challenges.layers.examine import ENDS, ONE_KEY, Layers, sets_of
from attentest.challenges.layers_bleu.examine import LayersBleu
from attentest.data.batches import Batch, Encoded, step_keys
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.measures.chance import uniforms
from attentest.models.capabilities import Generates, GeneratesInLayers, Layered
from attentest.models.networks.beam import Advance, State, Written, beam_search
from attentest.models.networks.transformer import TransformerTranslator
from attentest.models.networks.transformer_weights import by_head
from attentest.models.replaced import REPLACEMENTS, Replacement
from attentest.store.findings import Findings
from attentest.store.summary import estimate

SPLIT = made_up_translations(7)
VOCABULARY = Vocabulary.from_split(SPLIT)
ENCODED = Encoded.of(SPLIT, VOCABULARY)
NUMBER = {
    (kind, layer): 3 * n + layer - 1 for n, kind in enumerate(("encoder", "decoder", "cross")) for layer in (1, 2, 3)
}


def batch_of(*rows: int) -> Batch:
    return ENCODED.batch(np.array(rows or range(len(SPLIT))))


def literal(how: str, chosen: Sequence[tuple[str, int]], keys: Tensor) -> object:
    """Text by text, head by head, query by query: weights among the keys that the query may see."""

    def reweigh(weights: Tensor, mask: Tensor, layer: int, kind: str) -> Tensor:
        if (kind, layer) not in chosen:
            return weights
        new, seen = weights.clone(), mask.expand_as(weights)
        for text in range(len(weights)):
            for query in range(weights.shape[2]):
                asked = by_head(step_keys(keys[text], torch.tensor(query)).view(1, 1), layer, weights.shape[1])
                for head in range(weights.shape[1]):
                    there = seen[text, head, query].nonzero()[:, 0].tolist()
                    drawn = uniforms(asked[0, head], 1, weights.shape[3], 5, f"x/{kind}")[0, 0]
                    own = {
                        "uniform": [1 / len(there)] * len(there),
                        "random": [float((1 - drawn[key]) / sum(1 - drawn[k] for k in there)) for key in there],
                        "permutation": weights[text, head, query][
                            sorted(there, key=lambda k: float(drawn[k]))
                        ].tolist(),
                    }[how]
                    new[text, head, query] = 0
                    for key, weight in zip(there, own, strict=True):
                        new[text, head, query, key] = weight
        return new

    return reweigh


@pytest.mark.parametrize("how", REPLACEMENTS)
@pytest.mark.parametrize("chosen", [[("encoder", 1)], [("decoder", 2), ("decoder", 3)], [("cross", 1), ("cross", 3)]])
def test_replaced_attention_is_that_of_a_loop_over_texts_heads_and_queries(
    how: str, chosen: list[tuple[str, int]]
) -> None:
    model, batch = transformer(VOCABULARY), batch_of(0, 3, 5)
    assert batch.target is not None
    with torch.no_grad():
        wanted = model.read(batch, reweigh=literal(how, chosen, batch.target.keys)).logits  # type: ignore[arg-type]
        own = model.read(batch).logits
    got = model.with_layers_replaced(batch, [NUMBER[one] for one in chosen], Replacement(how, 5, "x"))
    torch.testing.assert_close(got, wanted, atol=1e-5, rtol=1e-5)
    assert (got - own).abs().max() > 1e-3
    assert [(p.kind, p.layer) for p in model.attention_places] == list(NUMBER)


def test_with_nothing_replaced_it_says_what_it_says_and_one_row_reads_as_among_others() -> None:
    model, batch, replacement = transformer(VOCABULARY), batch_of(), Replacement("permutation", 0, "x")
    with torch.no_grad():
        torch.testing.assert_close(model.with_layers_replaced(batch, (), replacement), model.read(batch).logits)
    every = model.with_layers_replaced(batch, range(9), replacement)
    some = torch.tensor([3, 8, 20])
    torch.testing.assert_close(
        model.with_layers_replaced(batch[some], range(9), replacement), every[some], atol=1e-5, rtol=1e-5
    )


@pytest.mark.slow
@pytest.mark.parametrize("how", REPLACEMENTS)
def test_writing_step_by_step_draws_what_writing_all_at_once_draws(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch, replacement = transformer(VOCABULARY), batch_of(), Replacement(how, 2, "y")
    assert batch.target is not None
    target, sets = batch.target, [(), (0, 1), (3, 4, 5), (8,), (0, 4, 7)]
    wanted = [model.with_layers_replaced(batch, places, replacement) for places in sets]

    def forced(advance: Advance, begun: State, *, beam: int, longest: Tensor) -> Written:
        state, texts = begun, len(target.keys)
        for step in range(target.words.tokens.shape[1] - 1):
            logits, state = advance(state, target.words.tokens[:, step].repeat(len(sets)), step)
            here = target.step == step
            for number, one in enumerate(wanted):
                got = logits[number * texts + target.of[here]]
                torch.testing.assert_close(got, one[here], atol=1e-5, rtol=1e-5)
        return beam_search(advance, begun, beam=beam, longest=longest)

    monkeypatch.setattr("attentest.models.networks.transformer.beam_search", forced)
    assert len(model.translate_with_layers_replaced(target.text, target.keys, sets, replacement)) == len(sets)


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 2])
def test_sets_side_by_side_write_what_each_writes_alone_and_each_text_too(beam: int) -> None:
    model, replacement, target = transformer(VOCABULARY), Replacement("permutation", 0, "z"), batch_of().target
    assert target is not None
    sets = [(), (1,), (3, 4), (6, 7, 8)]
    together = model.translate_with_layers_replaced(target.text, target.keys, sets, replacement, beam=beam)
    own = model.translate(target.text, target.keys, beam=beam)
    assert [words(together[0], i) for i in range(7)] == [words(own, i) for i in range(7)]
    for places, one in zip(sets, together, strict=True):
        (alone,) = model.translate_with_layers_replaced(target.text, target.keys, [places], replacement, beam=beam)
        assert [words(one, i) for i in range(7)] == [words(alone, i) for i in range(7)]
        for row in (0, 4):
            part = batch_of(row).target
            assert part is not None
            (single,) = model.translate_with_layers_replaced(part.text, part.keys, [places], replacement, beam=beam)
            assert words(single, 0) == words(one, row)


def words(written: Written, row: int) -> list[int]:
    found: list[int] = written.words[row, : int(written.lengths[row])].tolist()
    return found


@pytest.fixture(scope="module")
def subject() -> TransformerTranslator:
    return transformer(VOCABULARY)


@pytest.fixture(scope="module")
def layers(subject: TransformerTranslator, tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return found("layers(draws=2)", SPLIT, subject, VOCABULARY, tmp_path_factory.mktemp("layers"))


def test_every_step_is_judged_with_more_and_more_layers_of_each_kind(
    subject: TransformerTranslator, layers: Findings
) -> None:
    rows = layers.table.to_pylist()
    steps = len(batch_of())
    assert len(rows) == steps * 3 * 5
    for kind in ("encoder", "decoder", "cross"):
        named = {row["replaced"] for row in rows if row["attention"] == kind}
        assert named == {"first 1", "first 2", "last 1", "last 2", "all"}
    for row in rows:
        first, alone = row["id"].endswith("@0"), row["not_judged"] == "fewer than two tokens"
        assert alone or (row["not_judged"] == ONE_KEY) == (first and row["attention"] == "decoder")
        assert (row["change"] is None) == (row["not_judged"] is not None)
        if row["change"] is not None:
            assert row["gained"] == pytest.approx(row["correct_after"] - row["correct"])
    measured = {measure.where["attention"] for measure in layers.measures}
    assert measured == {"encoder", "decoder", "cross"}
    for name in ("decoder.first 1.change", "encoder.all.change", "cross.all.gained", "cross.accuracy"):
        assert np.isfinite(estimate(layers, name).value)
    assert estimate(layers, "decoder.all.change").value > 1e-3


def test_findings_are_those_of_the_logits(subject: TransformerTranslator, layers: Findings) -> None:
    batch = batch_of()
    with torch.no_grad():
        own = subject.read(batch).logits.double()
    ids = [f"{SPLIT.ids[i]}@{s}" for i, s in zip(batch.target.of.tolist(), batch.target.step.tolist(), strict=True)]  # type: ignore[union-attr]
    for one in sets_of(subject):
        each = [
            subject.with_layers_replaced(batch, one.places, Replacement("permutation", 0, f"layers/{draw}")).double()
            for draw in range(2)
        ]
        change = torch.stack([(new.softmax(-1) - own.softmax(-1)).abs().sum(-1) / 2 for new in each]).mean(0)
        right = torch.stack([new.argmax(-1) == batch.labels for new in each]).double().mean(0)
        rows = {r["id"]: r for r in layers.rows({"attention": one.kind, "replaced": one.name}).to_pylist()}
        for place, name in enumerate(ids):
            if rows[name]["not_judged"] is None:
                assert rows[name]["change"] == pytest.approx(float(change[place]), abs=1e-5)
                assert rows[name]["correct_after"] == float(right[place])


def test_findings_do_not_depend_on_the_batch(subject: TransformerTranslator, layers: Findings, tmp_path: Path) -> None:
    some = type(SPLIT)(SPLIT.table.slice(2, 2))
    alone = found("layers(draws=2)", some, subject, VOCABULARY, tmp_path).table.to_pylist()
    among = {(row["id"], row["attention"], row["replaced"]): row for row in layers.table.to_pylist()}
    for row in alone:
        other = among[row["id"], row["attention"], row["replaced"]]
        assert row["not_judged"] == other["not_judged"]
        assert row["change"] == (None if other["change"] is None else pytest.approx(other["change"], abs=1e-6))


@pytest.mark.slow
def test_bleu_with_no_layer_replaced_is_that_of_bleu_and_with_all_even_cross_attention_too(
    subject: TransformerTranslator, tmp_path: Path
) -> None:
    plain = found("bleu(beam=1)", SPLIT, subject, VOCABULARY, tmp_path)
    even = found("layers_bleu(replacement='uniform')", SPLIT, subject, VOCABULARY, tmp_path)
    for weights, where in (("own", {"replaced": "none"}), ("uniform", {"attention": "cross", "replaced": "all"})):
        for column in ("hypothesis", "reference", "counts", "own_counts", "signature"):
            assert even.rows(where)[column].to_pylist() == plain.rows({"weights": weights})[column].to_pylist(), column
    assert estimate(even, "own.bleu").value == estimate(plain, "own.bleu").value
    assert estimate(even, "cross.all.change").value == estimate(plain, "uniform.change").value
    assert len(even.table) == len(SPLIT) * (1 + 3 * 5)
    names = {measure.name for measure in even.measures}
    assert names == {"own.bleu"} | {
        f"{kind}.{ends}.{what}"
        for kind in ("encoder", "decoder", "cross")
        for ends in ENDS
        for what in ("bleu", "change")
    }


@pytest.mark.slow
def test_more_draws_write_other_texts(subject: TransformerTranslator, tmp_path: Path) -> None:
    drawn = found("layers_bleu(draws=2)", SPLIT, subject, VOCABULARY, tmp_path)
    assert len(drawn.table) == len(SPLIT) * (1 + 2 * 3 * 5)
    rows = drawn.rows({"attention": "cross", "replaced": "all"}).to_pylist()
    texts = [[row["hypothesis"] for row in rows if row["draw"] == draw] for draw in (0, 1)]
    assert texts[0] != texts[1]
    assert set(drawn.rows({"replaced": "none"})["draw"].to_pylist()) == {0}


def test_what_does_not_apply_is_said_and_bad_parameters_are_refused() -> None:
    recurrent = translator(VOCABULARY)
    assert "Transformer decoder" in str(CHALLENGES.parse("layers").objection(recurrent, has_rationale=False))
    assert "Transformer decoder" in str(CHALLENGES.parse("layers_bleu").objection(recurrent, has_rationale=False))
    assert CHALLENGES.parse("heads").objection(transformer(VOCABULARY), has_rationale=False)
    assert Layers().objection(transformer(VOCABULARY), has_rationale=False) is None
    assert not isinstance(recurrent, Layered)
    assert isinstance(recurrent, Generates)
    assert not isinstance(recurrent, GeneratesInLayers)
    for fields in ({"replacement": "none"}, {"beam": 0}, {"draws": 0}, {"tokenize": "none of these"}):
        with pytest.raises(InputError, match=f"layers_bleu: {next(iter(fields))}="):
            LayersBleu(**fields)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="replacement='none'"):
        Replacement("none", 0, "")
