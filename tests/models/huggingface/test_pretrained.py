"""Transformers models of every family: read, overwritten, and tested against the library's own attention."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import made_up_split, whole
from tests.support.pretrained import BART, FAMILIES, LANGUAGE, T5, tiny, tokenizer_of

from attentest.data.batches import Batch, Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import END, UNKNOWN, Vocabulary
from attentest.errors import InputError
from attentest.models.copies import copies
from attentest.models.huggingface.building import build_pretrained, longest_allowed, self_test
from attentest.models.huggingface.pieces import MOST, Layout, frame_of, pieces_of
from attentest.models.huggingface.pretrained import Pretrained, PretrainedReading
from attentest.models.huggingface.site import ROWS, Site, look, overwritten
from attentest.models.shared_work.deletion import encoded_without_each

TOKENIZER = tokenizer_of()
SPLIT = made_up_split(6, 1, 9)
VOCABULARY = Vocabulary.from_split(SPLIT)
BATCH = whole(Encoded.of(SPLIT, VOCABULARY))


def subject_of(family: str, **choices: object) -> Pretrained:
    answers = ["word1", "word2"] if family in LANGUAGE else None
    return build_pretrained(tiny(family, size=len(TOKENIZER)), TOKENIZER, VOCABULARY, answers=answers, **choices)


def read(subject: Pretrained, batch: Batch = BATCH) -> PretrainedReading:
    with torch.no_grad():
        reading = subject.read(batch)
    assert isinstance(reading, PretrainedReading)
    return reading


def random_weights(count: int, seed: int = 0) -> torch.Tensor:
    drawn = torch.rand(len(BATCH), count, BATCH.mask.shape[1], generator=torch.Generator().manual_seed(seed))
    drawn = drawn.double() * BATCH.mask[:, None]
    return drawn / drawn.sum(-1, keepdim=True)


@pytest.fixture(params=[*FAMILIES, *LANGUAGE])
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_own_weights_put_back_reproduce_the_output_at_every_site(family: str) -> None:
    subject = subject_of(family)
    for site in (*subject.sites, *(f"{name} row all" for name in subject.sites[:1])):
        reading = read(subject.at(site))
        torch.testing.assert_close(reading.weights.sum(-1), torch.ones(len(BATCH)))
        assert (reading.weights[~BATCH.mask] == 0).all()
        again = reading.reread(reading.weights[:, None])[:, 0]
        torch.testing.assert_close(again, reading.logits, atol=1e-5, rtol=1e-5)


@pytest.mark.slow
def test_reading_is_what_the_library_shows(family: str) -> None:
    """Weights of every head against the library's own eager attention, words' pieces added up by hand."""
    answers = ["word1", "word2"] if family in LANGUAGE else None
    model = tiny(family, size=len(TOKENIZER))
    eager = copy.deepcopy(model)
    eager.set_attn_implementation("eager")
    subject = build_pretrained(model, TOKENIZER, VOCABULARY, answers=answers)
    for row, words in enumerate(SPLIT.table["tokens"].to_pylist()):
        coded = TOKENIZER(words, is_split_into_words=True, return_tensors="pt")
        inputs = {"input_ids": coded["input_ids"], "attention_mask": coded["attention_mask"]}
        if subject.start is not None:
            inputs["decoder_input_ids"] = torch.zeros(1, 1, dtype=torch.long)
        with torch.no_grad():
            out = eager(**inputs, output_attentions=True)
        for name in (name for name in subject.sites if "head" not in name):
            place = subject.places.places[subject.at(name).site.place]
            kind = {"": "attentions", "encoder": "encoder_attentions", "cross": "cross_attentions"}[place.kind]
            weights = out[kind][place.number - 1][0]
            rows = subject.at(name).site.rows
            chosen = weights.mean(1) if rows == "all" else weights[:, 0 if rows == "first" else -1]
            owner = coded.word_ids()
            summed = torch.stack([chosen[:, [o == word for o in owner]].sum(-1) for word in range(len(words))], dim=1)
            heads = summed / summed.sum(-1, keepdim=True)
            shown = read(subject.at(name))
            real = BATCH.mask[row]
            torch.testing.assert_close(shown.heads[row][:, real], heads, atol=1e-5, rtol=1e-4)
            mean = summed.mean(0) / summed.mean(0).sum()
            torch.testing.assert_close(shown.weights[row][real], mean, atol=1e-5, rtol=1e-4)
            torch.testing.assert_close(shown.total[row], summed.mean(0).sum(), atol=1e-5, rtol=1e-4)


def test_rereading_is_a_whole_pass_with_the_row_overwritten(family: str) -> None:
    """The slow twin: nothing is skipped, and the row of the one head is written literally."""
    subject = subject_of(family)
    layout = subject.pieces.layout(BATCH)
    for name in (name for name in subject.sites if "head 2" in name):
        here = subject.at(name)
        reading, new = read(here), random_weights(2)
        rows = here.site.chosen_rows(layout, 1 if "cross" in name else layout.mask.shape[1])
        found = reading.reread(new)
        if here.site.rows == "all":
            continue
        for alternative in range(2):

            def edit(weights, values, allowed, alternative=alternative, here=here, rows=rows, new=new):
                out = weights.clone()
                for text in range(len(weights)):
                    query = int(rows[text].nonzero())
                    own = weights[text, here.site.head, query]
                    total = own[layout.owner[text] >= 0].sum()
                    for slot, word in enumerate(layout.owner[text].tolist()):
                        if word >= 0:
                            of_word = own[layout.owner[text] == word].sum()
                            out[text, here.site.head, query, slot] = (
                                own[slot] / of_word * new[text, alternative, word] * total
                            )
                return out, values

            with torch.no_grad():
                literal = subject.logits(BATCH, {here.site.place: edit})
            torch.testing.assert_close(found[:, alternative], literal, atol=1e-5, rtol=1e-4)


def test_one_row_alone_gives_what_all_rows_give(family: str) -> None:
    subject, new = subject_of(family), random_weights(3)
    assert subject.narrow
    fast = read(subject).reread(new)
    subject.narrow = False
    torch.testing.assert_close(read(subject).reread(new), fast, atol=1e-5, rtol=1e-4)
    assert (fast - read(subject).logits[:, None]).abs().max() > 1e-4


def test_texts_are_read_alike_whatever_stands_beside_them(family: str) -> None:
    subject = subject_of(family)
    together = read(subject)
    for row in range(0, len(BATCH), 2):
        alone = read(subject, copies(BATCH, torch.tensor([row])))
        width = alone.weights.shape[1]
        torch.testing.assert_close(alone.logits[0], together.logits[row], atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(alone.weights[0], together.weights[row, :width], atol=1e-5, rtol=1e-4)


def test_embeddings_in_and_deletion(family: str) -> None:
    subject = subject_of(family)
    plain = read(subject)
    with torch.enable_grad():
        traced = subject.read(BATCH)
        torch.testing.assert_close(traced.logits, plain.logits, atol=1e-5, rtol=1e-4)
        for at in (traced.embeddings, traced.states):
            (slope,) = torch.autograd.grad(traced.logits[:, 0].sum(), at, retain_graph=True)
            assert slope[BATCH.mask].abs().sum() > 0
            assert torch.isfinite(slope).all()
    with torch.no_grad():
        found, wanted = subject.delete_each(BATCH), encoded_without_each(subject, BATCH)
    several = BATCH.mask & (BATCH.mask.sum(-1) > 1)[:, None]
    torch.testing.assert_close(found[several], wanted[several], atol=1e-5, rtol=1e-4)


def test_weights_have_a_slope(family: str) -> None:
    """∂logit/∂α by a rereading, against a difference."""
    subject = subject_of(family)
    reading, new = read(subject), random_weights(1)
    with torch.enable_grad():
        leaf = new.clone().requires_grad_()
        (slope,) = torch.autograd.grad(reading.reread(leaf)[..., 0].sum(), leaf)
    step = random_weights(1, seed=3) - new
    with torch.no_grad():
        ahead, behind = (reading.reread(new + sign * 0.01 * step)[:, 0, 0].double() for sign in (1, -1))
    torch.testing.assert_close((slope * step).sum(-1)[:, 0], (ahead - behind) / 0.02, atol=2e-4, rtol=2e-2)


@pytest.mark.parametrize("family", ["bert", "roberta", "llama"])
def test_pairs_of_texts(family: str) -> None:
    tokens = SPLIT.table["tokens"].to_pylist()
    split = Split.of(SPLIT.ids, tokens, [0] * len(SPLIT), second=[text[:4] for text in tokens[::-1]])
    batch = whole(Encoded.of(split, VOCABULARY))
    tokenizer = tokenizer_of(types=family == "bert")
    subject = build_pretrained(tiny(family, size=len(TOKENIZER)), tokenizer, VOCABULARY, pair=True)
    reading = read(subject, batch)
    torch.testing.assert_close(reading.reread(reading.weights[:, None])[:, 0], reading.logits, atol=1e-5, rtol=1e-5)
    layout = subject.pieces.layout(batch)
    for row, (first, second) in enumerate(zip(tokens, split.table["second"].to_pylist(), strict=True)):
        coded = tokenizer(first, second, is_split_into_words=True)
        assert layout.ids[row][layout.mask[row]].tolist() == coded["input_ids"]
        if family == "bert":
            assert layout.types[row][layout.mask[row]].tolist() == coded["token_type_ids"]


@pytest.mark.slow
def test_threads_do_not_disturb_each_other() -> None:
    subject, new = subject_of("bert"), random_weights(2)

    def work(site: str) -> torch.Tensor:
        with torch.no_grad():
            return subject.at(site).read(BATCH).reread(new)

    wanted = [work(site) for site in subject.sites]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, subject.sites * 5))
    for place, logits in enumerate(found):
        torch.testing.assert_close(logits, wanted[place % len(subject.sites)])


def test_a_language_model_answers_by_all_its_tokens_or_in_a_prompt() -> None:
    model = tiny("gpt2-lm", size=len(TOKENIZER))
    subject = build_pretrained(model, TOKENIZER, VOCABULARY)
    assert read(subject).logits.shape == (len(BATCH), len(TOKENIZER))
    asked = build_pretrained(
        model, tokenizer_of(ends=False), VOCABULARY, answers=["word1", "word2"], prompt="x {text} x"
    )
    layout = asked.pieces.layout(BATCH)
    x = TOKENIZER.convert_tokens_to_ids("x")
    assert (layout.ids[:, 0] == x).all()
    assert (layout.ids[torch.arange(len(BATCH)), layout.lengths - 1] == x).all()
    assert self_test(asked, BATCH) < 1e-5


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_attention_of_its_own_is_refused() -> None:
    import transformers

    config = transformers.DebertaV2Config(
        vocab_size=len(TOKENIZER), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    with pytest.raises(InputError, match=r"DebertaV2.*attention interface"):
        build_pretrained(transformers.DebertaV2ForSequenceClassification(config), TOKENIZER, VOCABULARY)


@pytest.mark.parametrize("kind", ["T5", "MT5", "Bart", "MBart", "BigBirdPegasus"])
def test_classifiers_that_read_a_text_twice_are_refused_before_they_are_touched(kind: str) -> None:
    import transformers

    made = getattr(transformers, f"{kind}ForSequenceClassification")
    model = made(made.config_class(vocab_size=len(TOKENIZER), num_labels=2, **(T5 if "T5" in kind else BART)))
    before, own = model.config._attn_implementation, {type(module) for module in model.modules()}
    with pytest.raises(InputError, match=f"^{kind}ForSequenceClassification reads every text twice") as caught:
        build_pretrained(model, TOKENIZER, VOCABULARY)
    assert "\n" not in str(caught.value)
    assert model.config._attn_implementation == before
    assert {type(module) for module in model.modules()} == own


def test_what_cannot_be_read_is_refused_in_one_line() -> None:
    import transformers

    model, bare = tiny("gpt2", size=len(TOKENIZER)), tokenizer_of()
    bare.pad_token = None
    with pytest.raises(InputError, match="no padding token"):
        build_pretrained(model, bare, VOCABULARY)
    config = transformers.BertConfig(
        vocab_size=len(TOKENIZER), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    with pytest.raises(InputError, match="BertModel has no output for classes"):
        build_pretrained(transformers.BertModel(config), TOKENIZER, VOCABULARY)
    subject = subject_of("bert")
    with pytest.raises(InputError, match="site='layer 9' is none of this model's"):
        subject.at("layer 9")
    with pytest.raises(InputError, match="label_words"):
        build_pretrained(tiny("gpt2-lm", size=len(TOKENIZER)), TOKENIZER, VOCABULARY, answers=["word1", "word1"])


def test_positions_that_a_model_has() -> None:
    assert longest_allowed(tiny("bert").config, TOKENIZER) == 512
    assert longest_allowed(tiny("roberta").config, TOKENIZER) == 512 - 1
    assert longest_allowed(tiny("t5").config, TOKENIZER) is None


def test_words_are_cut_as_in_the_text() -> None:
    subject = subject_of("bert")
    layout = subject.pieces.layout(BATCH)
    for row, words in enumerate(SPLIT.table["tokens"].to_pylist()):
        assert layout.ids[row][layout.mask[row]].tolist() == TOKENIZER(" ".join(words))["input_ids"]
    assert np.unique(layout.owner[0].numpy()).tolist() == [-1, *range(1, len(SPLIT.table["tokens"][0]) + 1)]


@st.composite
def attentions(draw: st.DrawFn):
    """A layout of words and frame, weights of heads and rows over its slots (some of them nothing), and new ones."""
    seed = draw(st.integers(0, 2**31))
    texts, heads, words = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    chance = torch.Generator().manual_seed(seed)
    owner = torch.tensor([-1, *sorted([*range(words), *draw(st.lists(st.integers(0, words - 1), max_size=3))]), -1])
    slots, ids = len(owner), torch.zeros(texts, len(owner), dtype=torch.long)
    layout = Layout(ids, ids, ids == 0, owner.expand(texts, -1), ids, words)
    allowed = torch.ones(texts, slots, slots, dtype=torch.bool)
    if draw(st.booleans()):
        allowed = allowed.tril()
    sharp = draw(st.sampled_from([0.5, 5.0, 200.0]))
    scores = sharp * torch.randn(texts, heads, slots, slots, generator=chance)
    weights = scores.masked_fill(~allowed[:, None], -torch.inf).softmax(-1)
    new = torch.rand(texts, words, generator=chance) * (torch.rand(texts, words, generator=chance) < 0.6)
    new[:, draw(st.integers(0, words - 1))] += 0.1
    site = Site(0, draw(st.sampled_from([None, 0])), draw(st.sampled_from(ROWS)))
    return site, layout, weights, new / new.sum(-1, keepdim=True), allowed


@pytest.mark.slow
@settings(deadline=None)
@given(attentions())
def test_every_row_stays_a_distribution(made) -> None:
    """Rows keep what their words had, whatever is asked for; own weights put back change nothing."""
    site, layout, weights, new, allowed = made
    seen = look(site, layout, torch.ones_like(new, dtype=torch.bool), weights, torch.zeros(*weights.shape[:3], 2))
    leaf = new.clone().requires_grad_()
    put = overwritten(site, layout, seen.mass, leaf * seen.total[:, None], weights, allowed)
    (slope,) = torch.autograd.grad((put * torch.linspace(0, 1, put.shape[-1])).sum(), leaf)
    assert torch.isfinite(slope).all()
    put = put.detach()
    torch.testing.assert_close(put.sum(-1), weights.sum(-1))
    torch.testing.assert_close(layout.pooled(put).sum(-1), layout.pooled(weights).sum(-1))
    assert put.min() >= 0
    assert put.max() <= 1 + 1e-5
    assert (put.masked_fill(allowed[:, None], 0.0) == 0).all()
    assert torch.equal(put[..., layout.owner[0] < 0], weights[..., layout.owner[0] < 0])
    same = overwritten(site, layout, seen.mass, seen.weights * seen.total[:, None], weights, allowed)
    torch.testing.assert_close(same, weights)
    none = overwritten(site, layout, seen.mass, torch.zeros_like(new), weights, allowed)
    chosen = site.heads(weights.shape[1])[None, :, None] & site.chosen_rows(layout, weights.shape[2])[:, None]
    assert (layout.pooled(none)[chosen] == 0).all()
    if site.head is not None and site.rows != "all" and bool((seen.total > 1e-6).all()):
        again = look(site, layout, torch.ones_like(new, dtype=torch.bool), put, torch.zeros(*weights.shape[:3], 2))
        row = site.chosen_rows(layout, weights.shape[2])
        reachable = (new > 0) <= (layout.pooled(allowed[row].float()) > 0)
        literal = reachable.all(-1)
        torch.testing.assert_close(again.weights[literal], new[literal], atol=1e-5, rtol=1e-4)


def test_an_unknown_piece_of_number_zero_and_words_of_very_many_pieces() -> None:
    tokenizer = tokenizer_of()
    tokenizer.unk_token = "<pad>"
    frame = frame_of(tokenizer, pair=False)
    pieces = pieces_of(tokenizer, ("", "", "", "", "word1", "word" * 9, "w"), frame, 0)
    assert pieces.table[UNKNOWN, 0] == tokenizer.unk_token_id == 0
    assert pieces.cut == (END + 2,)
    assert int(pieces.counts[END + 2]) == MOST == pieces.most


def test_a_layer_of_berts_kind_keeps_no_more_for_the_way_back_than_is_reckoned_with() -> None:
    subject, kept = subject_of("bert"), dict[int, torch.Tensor]()

    def keep(found: torch.Tensor) -> torch.Tensor:
        kept[found.untyped_storage().data_ptr()] = found
        return found

    weights = {weight.untyped_storage().data_ptr() for weight in subject.parameters()}
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda found: found):
        subject.read(BATCH, embeddings=subject.embed(BATCH).detach().requires_grad_())
    numbers = sum(found.untyped_storage().nbytes() // 4 for place, found in kept.items() if place not in weights)
    slots = subject.pieces.layout(BATCH).ids
    assert numbers <= slots.numel() * subject.numbers_per_piece(slots.shape[1])
