from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.translations import made_up_translations
from torch import Tensor

from attentest.data.batches import Batch, Encoded, step_keys
from attentest.data.vocabulary import END, PAD, START, Vocabulary
from attentest.errors import InputError
from attentest.explainers import EXPLAINERS
from attentest.models.architecture import Architecture
from attentest.models.capabilities import Attends, GeneratesInLayers
from attentest.models.network import build_network
from attentest.models.networks.beam import Advance, State, Written, beam_search
from attentest.models.networks.transformer import TransformerTranslator
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.decoders import DECODERS, Transformer, TransformerBase
from attentest.models.parts.encoders import BiGRU, NoEncoder
from attentest.registry import text_of
from attentest.training.checkpoints import load_network, save_network
from attentest.training.loop import Training, fit

SPLIT = made_up_translations(7)
VOCABULARY = Vocabulary.from_split(SPLIT)
ENCODED = Encoded.of(SPLIT, VOCABULARY)
SITES = ("cross 3.1", "cross 3.2", "cross 2.1", "cross 2.2", "cross 1.1", "cross 1.2")
SMALL = "transformer(layers=3, heads=2, hidden=12, feedforward=20, dropout=0.1)"


def architecture(attention: str = "dot") -> Architecture:
    return Architecture(NoEncoder(), ATTENTIONS.parse(attention), None, 12, decoder=DECODERS.parse(SMALL))


def transformer(attention: str = "dot", seed: int = 0) -> TransformerTranslator:
    """An untrained one whose weights differ from each other, and whose parts matter."""
    assert VOCABULARY.target is not None
    generator = torch.Generator().manual_seed(seed)
    made = build_network(architecture(attention), len(VOCABULARY), len(VOCABULARY.target), generator)
    assert isinstance(made, TransformerTranslator)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if any(part in name for part in ("query", "key", "target_embedding")):
                parameter.mul_(2)
    return made.eval()


def batch_of(*rows: int) -> Batch:
    return ENCODED.batch(np.array(rows or range(len(SPLIT))))


def read(model: TransformerTranslator, batch: Batch) -> Tensor:
    with torch.no_grad():
        return model.read(batch).logits


def test_sites_are_heads_with_the_last_layer_first() -> None:
    model = transformer()
    assert model.sites == SITES == architecture().sites
    assert model.at("").site == "cross 3.1"
    twin = model.at("cross 1.2")
    assert (twin.site, model.site) == ("cross 1.2", "cross 3.1")
    with pytest.raises(InputError, match=r"site='cross 9\.1'"):
        model.at("cross 9.1")
    assert isinstance(model, GeneratesInLayers)


@pytest.mark.parametrize("attention", ["dot", "uniform", "random"])
@pytest.mark.parametrize("site", SITES)
def test_own_weights_put_back_reproduce_the_output_and_others_change_it(site: str, attention: str) -> None:
    model, batch = transformer(attention).at(site), batch_of()
    with torch.no_grad():
        reading = model.read(batch)
        torch.testing.assert_close(reading.weights.sum(-1), torch.ones(len(batch)))
        assert (reading.weights[~batch.mask] == 0).all()
        other = reading.weights.flip(0).clone().masked_fill(~batch.mask, 0) + batch.mask.float()
        other /= other.sum(-1, keepdim=True)
        first = torch.nn.functional.one_hot(batch.mask.long().argmax(-1), batch.mask.shape[1]).float()
        logits = reading.reread(torch.stack([reading.weights, other, first], dim=1))
        torch.testing.assert_close(logits[:, 0], reading.logits, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(reading.reread(first[:, None])[:, 0], logits[:, 2], atol=1e-5, rtol=1e-5)
    several = batch.mask.sum(-1) > 1
    assert ((logits[:, 2] - reading.logits).abs().amax(-1) > 1e-4)[several].float().mean() > 0.9


@pytest.mark.parametrize("site", SITES)
def test_rereading_is_writing_with_these_weights_in_one_head_at_one_step(site: str) -> None:
    """The slow twin: every step by itself, everything computed again with one head's weights replaced."""
    model, batch = transformer().at(site), batch_of(0, 2, 5)
    assert batch.target is not None
    layer, head = (int(number) for number in site.removeprefix("cross ").split("."))
    with torch.no_grad():
        reading = model.read(batch)
        weights = batch.mask / batch.mask.sum(-1, keepdim=True)
        got = reading.reread(weights[:, None])[:, 0]
        for row in range(len(batch)):
            sentence, step = int(batch.target.of[row]), int(batch.target.step[row])

            def replaced(
                own: Tensor,
                mask: Tensor,
                at: int,
                kind: str,
                row: int = row,
                sentence: int = sentence,
                step: int = step,
            ) -> Tensor:
                if (kind, at) != ("cross", layer):
                    return own
                own = own.clone()
                own[sentence, head - 1, step] = weights[row]
                return own

            torch.testing.assert_close(got[row], model.read(batch, reweigh=replaced).logits[row], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("attention", ["dot", "random"])
def test_one_step_at_a_time_equals_all_at_once(attention: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = transformer(attention), batch_of()
    assert batch.target is not None
    target, whole = batch.target, read(model, batch)

    def forced(advance: Advance, begun: State, *, beam: int, longest: Tensor) -> Written:
        state = begun
        for step in range(target.words.tokens.shape[1] - 1):
            logits, state = advance(state, target.words.tokens[:, step], step)
            here = target.step == step
            torch.testing.assert_close(logits[target.of[here]], whole[here], atol=1e-5, rtol=1e-5)
        return beam_search(advance, begun, beam=beam, longest=longest)

    monkeypatch.setattr("attentest.models.networks.transformer.beam_search", forced)
    model.translate(target.text, target.keys, beam=1)


@pytest.mark.slow
def test_beam_search_finds_what_reading_says_is_likely() -> None:
    model, batch = transformer(), batch_of()
    assert batch.target is not None
    target = batch.target
    assert VOCABULARY.target is not None
    greedy = model.translate(target.text, target.keys, beam=1)
    wide = model.translate(target.text, target.keys, beam=4)
    assert (wide.scores >= greedy.scores - 0.3).all()
    words = [row[:length] for row, length in zip(wide.words.tolist(), wide.lengths.tolist(), strict=True)]
    ended = [len(row) < 2 * int(n) + 10 for row, n in zip(words, target.text.lengths, strict=True)]
    table = SPLIT.table.set_column(
        SPLIT.table.schema.get_field_index("target"), "target", [[VOCABULARY.target.decode(row) for row in words]]
    )
    again = Encoded.of(type(SPLIT)(table), VOCABULARY)
    for row in range(len(SPLIT)):
        one = again.batch(np.array([row]))
        likely = read(model, one)
        likely[:, [PAD, START]] = -torch.inf
        found = likely.double().log_softmax(-1).gather(1, one.labels[:, None])[:, 0]
        if ended[row]:
            assert float(found.mean()) == pytest.approx(float(wide.scores[row]), abs=1e-5)
    assert {START, PAD}.isdisjoint(wide.words.flatten().tolist())
    with pytest.raises(InputError, match="beam=0"):
        model.translate(target.text, target.keys, beam=0)


@pytest.mark.slow
def test_a_text_alone_writes_what_it_writes_among_others_whatever_the_weights() -> None:
    model, batch = transformer(), batch_of()
    assert batch.target is not None
    seen: set[tuple[int, int]] = set()

    def chance(own: Tensor, mask: Tensor, keys: Tensor, step: int) -> Tensor:
        assert own.shape == mask.shape == (len(keys), mask.shape[1])
        seen.update((int(key), step) for key in keys)
        drawn = step_keys(keys, torch.full_like(keys, step))[:, None] % (mask.long().cumsum(-1) + 7) * mask + mask
        return drawn / drawn.sum(-1, keepdim=True)

    target = batch.target
    among = {w: model.translate(target.text, target.keys, beam=2, weigh=w) for w in (None, chance, lambda own, *_: own)}
    plain, changed, back = among.values()
    torch.testing.assert_close(back.scores, plain.scores)
    assert plain.words.tolist() != changed.words.tolist()
    # Every head of every layer has chance of its own.
    first = {key for key, step in seen if step == 0}
    assert len(first) == len(SPLIT) * 6
    for row in range(len(SPLIT)):
        alone = batch_of(row).target
        assert alone is not None
        for weigh, found in among.items():
            one = model.translate(alone.text, alone.keys, beam=2, weigh=weigh)
            assert float(one.scores[0]) == pytest.approx(float(found.scores[row]), abs=1e-5)


def test_later_words_do_not_matter() -> None:
    model, batch = transformer(), batch_of(*range(len(SPLIT)))
    assert batch.target is not None
    words, before = batch.target.words, read(model, batch)
    for step in range(1, words.tokens.shape[1] - 1):
        tokens = words.tokens.clone()
        tokens[:, step + 1 :] = 5
        other = replace(batch, target=replace(batch.target, words=replace(words, tokens=tokens)))
        early = batch.target.step <= step
        torch.testing.assert_close(read(model, other)[early], before[early])
    tokens = words.tokens.clone()
    tokens[:, 1] = torch.where(tokens[:, 1] == 4, 5, 4)
    other = replace(batch, target=replace(batch.target, words=replace(words, tokens=tokens)))
    late = batch.target.step > 0
    assert (read(model, other)[late] - before[late]).abs().amax(-1).min() > 1e-4


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.permutations(range(len(SPLIT))), st.integers(1, len(SPLIT)), st.sampled_from(["dot", "uniform", "random"]))
def test_neither_padding_nor_the_rest_of_the_batch_matters(order: list[int], count: int, attention: str) -> None:
    model = transformer(attention)
    batch, some = batch_of(), batch_of(*order[:count])
    with torch.no_grad():
        whole, part = model.read(batch), model.read(some)
    place = {int(row): i for i, row in enumerate(batch.rows)}
    at = torch.tensor([place[int(row)] for row in some.rows])
    torch.testing.assert_close(part.logits, whole.logits[at], atol=1e-5, rtol=1e-5)
    width = part.weights.shape[1]
    torch.testing.assert_close(part.weights, whole.weights[at, :width], atol=1e-6, rtol=1e-5)


def test_rows_may_be_any_steps_in_any_order() -> None:
    model, batch = transformer(), batch_of()
    rows = torch.tensor([11, 3, 3, 0, len(batch) - 1])
    torch.testing.assert_close(read(model, batch[rows]), read(model, batch)[rows], atol=1e-5, rtol=1e-5)


def test_deleting_is_reading_the_shortened_text() -> None:
    model, batch = transformer(), batch_of(1, 4)
    with torch.no_grad():
        without = model.delete_each(batch)
    assert batch.target is not None
    for row in range(len(batch)):
        sentence = int(batch.rows[row] >= int(ENCODED.first_steps[4])) * 3 + 1
        words = SPLIT.table["tokens"][sentence].as_py()
        for place in range(len(words)):
            tokens = SPLIT.table["tokens"].to_pylist()
            tokens[sentence] = words[:place] + words[place + 1 :]
            table = SPLIT.table.set_column(1, "tokens", [tokens])
            shorter = Encoded.of(type(SPLIT)(table), VOCABULARY).batch(np.array([sentence]))
            step = int(batch.target.step[row])
            torch.testing.assert_close(without[row, place + 1], read(model, shorter)[step], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("site", ["cross 3.1", "cross 1.2"])
def test_gradients_reach_embeddings_and_states_of_each_row_alone(site: str) -> None:
    model, batch = transformer().at(site), batch_of(0, 3)
    with torch.no_grad():
        given = model.embed(batch)
        reading = model.read(batch)
        torch.testing.assert_close(model.read(batch, embeddings=given).logits, reading.logits, atol=1e-5, rtol=1e-5)
    traced = model.read(batch)
    torch.testing.assert_close(traced.logits, reading.logits, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(traced.states, reading.states, atol=1e-5, rtol=1e-5)
    for at in (traced.embeddings, traced.states):
        (gradient,) = torch.autograd.grad(traced.logits[2, 5], at, retain_graph=True)
        assert gradient[2].abs().max() > 0
        gradient[2] = 0
        assert (gradient == 0).all()
    for text in ("gradient", "gradient(path='full')", "gradient_state", "gradient_x_input", "leave_one_out"):
        scores = EXPLAINERS.parse(text).explain(model, batch, reading).scores
        assert scores.shape == batch.mask.shape
        assert torch.isfinite(scores).all()
    # With attention held fixed, the gradient at the states is that of a sum with these weights.
    held = model.read(batch, detach_attention=True)
    (gradient,) = torch.autograd.grad(held.logits[:, 5].sum(), held.states)
    ratio = gradient.norm(dim=-1) / held.weights.clamp(min=1e-30)
    first = ratio.masked_fill(~batch.mask, 0).amax(-1, keepdim=True)
    torch.testing.assert_close(ratio[batch.mask], first.expand_as(ratio)[batch.mask], rtol=1e-3, atol=1e-4)


def test_all_weights_of_one_kind_can_be_replaced_at_once() -> None:
    model, batch = transformer(), batch_of()
    before, seen = read(model, batch), []
    for kind in ("encoder", "decoder", "cross"):

        def replaced(own: Tensor, mask: Tensor, layer: int, at: str, kind: str = kind) -> Tensor:
            seen.append((at, layer))
            torch.testing.assert_close(own.sum(-1), torch.ones_like(own[..., 0]))
            assert (own.masked_select(~mask.expand_as(own)) == 0).all()
            wide = mask.expand_as(own).float()
            return own if at != kind else wide / wide.sum(-1, keepdim=True)

        with torch.no_grad():
            other = model.read(batch, reweigh=replaced).logits
        assert (other - before).abs().max() > 1e-3
        if kind == "cross":
            uniform = transformer("uniform")
            torch.testing.assert_close(other, read(uniform, batch), atol=1e-5, rtol=1e-5)
    assert set(seen) == {(kind, layer) for kind in ("encoder", "decoder", "cross") for layer in (1, 2, 3)}


def test_random_attention_draws_for_every_head_and_step() -> None:
    model, batch = transformer("random"), batch_of()
    with torch.no_grad():
        drawn = torch.stack([model.at(site).read(batch).weights for site in SITES])
    long = batch.mask.sum(-1) > 2
    assert len(drawn[:, long].flatten(0, 1).unique(dim=0)) == len(SITES) * int(long.sum())
    assert not any(
        "cross.query" in name or "cross.key" in name for name, p in model.named_parameters() if p.requires_grad
    )


@pytest.mark.slow
def test_parts_are_layers_that_can_be_drawn_anew() -> None:
    model, batch = transformer(), batch_of()
    assert model.parts[:4] == ("decoder_3", "decoder_2", "decoder_1", "encoder_3")
    for part in model.parts:
        twin = model.randomised((part,), seed=1)
        assert (read(twin, batch) - read(model, batch)).abs().max() > 1e-3
        torch.testing.assert_close(read(twin, batch), read(model.randomised((part,), seed=1), batch))
    chosen = {id(parameter) for parameter in model.attention_parameters()}
    assert {name.split(".")[1] for name, p in model.named_parameters() if id(p) in chosen} == {"cross"}
    assert len(chosen) == 3 * 4


@pytest.mark.parametrize("attention", ["dot", "random"])
def test_a_saved_one_is_loaded_with_the_same_output(attention: str, tmp_path: Path) -> None:
    model = transformer(attention)
    save_network(tmp_path / "model", model, model.architecture)
    again, described = load_network(tmp_path / "model", torch.device("cpu"))
    assert described == model.architecture
    assert isinstance(again, TransformerTranslator)
    torch.testing.assert_close(read(again, batch_of()), read(model, batch_of()))


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["dot", "uniform", "random"])
def test_the_loop_trains_it(attention: str) -> None:
    model = transformer(attention, seed=3)
    training = Training(epochs=12, batch_size=4, learning_rate=1e-2, warmup=8, smoothing=0.1, patience=0)
    epochs = fit(model, ENCODED, ENCODED, training, seed=0)
    assert epochs[-1].loss < 0.8 * epochs[0].loss
    batch = batch_of()
    assert (read(model, batch).argmax(-1) == batch.labels)[batch.labels != END].float().mean() > 0.2


def test_attention_cannot_be_given_other_states() -> None:
    assert not isinstance(transformer(), Attends)


def test_sizes_have_names() -> None:
    assert DECODERS.parse("transformer") == Transformer(4, 4, 256, 1024, 0.3)
    base = DECODERS.parse("transformer_base(dropout=0.2)")
    assert base == TransformerBase(6, 8, 512, 2048, 0.2)
    assert DECODERS.parse(text_of(base)) == base


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("transformer(heads=3)", "hidden=256 must be even, and a multiple of heads=3"),
        ("transformer(hidden=5, heads=5)", "must be even"),
        ("transformer(layers=0)", "layers=0 must be at least 1"),
        ("transformer(dropout=1.0)", "dropout=1.0"),
    ],
)
def test_impossible_sizes_are_refused(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        DECODERS.parse(text)


def test_it_takes_no_encoder_no_other_attention_and_embeddings_of_its_size() -> None:
    usual = architecture()
    with pytest.raises(InputError, match="leave out encoder"):
        replace(usual, encoder=BiGRU())
    with pytest.raises(InputError, match="leave out attention"):
        replace(usual, attention=ATTENTIONS.parse("additive"))
    with pytest.raises(InputError, match="embedding=300 must be the same as hidden=12"):
        replace(usual, embedding=300)
    assert Architecture.from_record(usual.to_record()) == usual
