"""Methods against what they are defined by: the library's own attention, gradients, and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import Lasso
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.support.chat import CHATTING, chat_model, chat_tokenizer

from attentest.errors import InputError, NotApplicable
from attentest.sources.attended import ROLES, TOP
from attentest.sources.case import Case, open_case
from attentest.sources.language import LanguageModel
from attentest.sources.methods import METHODS
from attentest.sources.methods.ablation import drawn_subsets, surrogate
from attentest.sources.prompt import Prompter
from attentest.sources.question import Question

ASKED = Question(
    "In which city does Anna keep her boat?",
    ("Anna keeps her boat in Lisbon.", "Paul paints it green.", "Maria keeps her car in Oslo."),
    "It is in Lisbon.",
    "Lisbon",
)


def case_of(family: str = "llama", unit: str = "source", question: Question = ASKED) -> Case:
    prompter = Prompter(chat_tokenizer())
    return open_case(LanguageModel(chat_model(family), prompter.tokenizer), prompter, question, unit=unit)


def maps_of(family: str, case: Case) -> tuple[torch.Tensor, list[int]]:
    """All attention of the library's own eager pass, [layer, head, query, key], and the rows that are explained."""
    own = chat_model(family)
    own.set_attn_implementation("eager")
    with torch.no_grad():
        found = own(torch.tensor([[*case.prompt.ids, *case.answer.ids[:-1]]]), output_attentions=True, use_cache=False)
    rows = [len(case.prompt.ids) - 1 + place for place in np.flatnonzero(case.answer.explained)]
    return torch.cat(found.attentions), rows


@pytest.mark.parametrize("family", ["llama", "gpt2", "qwen3"])
@pytest.mark.parametrize("unit", ["source", "word"])
def test_attention_is_the_librarys_rows(family: str, unit: str) -> None:
    case = case_of(family, unit)
    maps, rows = maps_of(family, case)
    mean = maps[:, :, rows].mean(2).numpy()
    for item in range(len(case.items)):
        own = mean[..., case.prompt.tokens_of(item)]
        np.testing.assert_allclose(case.attended.summed[..., item], own.sum(-1), atol=1e-5)
        largest = np.sort(own, -1)[..., -TOP:].mean(-1)
        np.testing.assert_allclose(case.attended.top[..., item], largest, atol=1e-5)
    total = case.attended.summed.sum(-1) + case.attended.rest.sum(-1)
    np.testing.assert_allclose(total, 1, atol=1e-5)
    np.testing.assert_allclose(case.attended.rest[..., ROLES.index("sink")], mean[..., 0], atol=1e-5)
    rolled = torch.eye(maps.shape[-1])
    for layer in maps:
        rolled = (layer.mean(0) + torch.eye(maps.shape[-1])) / 2 @ rolled
    wanted = [float(rolled[rows][:, case.prompt.tokens_of(item)].sum(-1).mean()) for item in range(len(case.items))]
    np.testing.assert_allclose(case.attended.rollout, wanted, atol=1e-5)


def test_value_weighted_attention_is_weights_times_lengths() -> None:
    case = case_of("gpt2")
    maps, rows = maps_of("gpt2", case)
    own = chat_model("gpt2")
    ids = torch.tensor([[*case.prompt.ids, *case.answer.ids[:-1]]])
    with torch.no_grad():
        kept = own(ids, use_cache=True).past_key_values
    for layer, (_, values, *_) in enumerate(kept):
        weighed = maps[layer][:, rows].mean(1) * values[0].norm(dim=-1)
        wanted = [weighed[:, case.prompt.tokens_of(item)].sum(-1).numpy() for item in range(3)]
        np.testing.assert_allclose(case.attended.value_weighted[layer], np.stack(wanted, -1), rtol=1e-4)


@pytest.mark.parametrize("family", CHATTING)
def test_gradient_is_autograds_on_the_librarys_own_model(family: str) -> None:
    case = case_of(family)
    own = chat_model(family)
    own.set_attn_implementation("eager")
    ids = torch.tensor([[*case.prompt.ids, *case.answer.ids[:-1]]])
    leaf = own.get_input_embeddings()(ids).detach().requires_grad_()
    # Gemma scales what it is given as embeddings only inside its own table.
    logits = own(inputs_embeds=leaf, use_cache=False).logits[0, len(case.prompt.ids) - 1 :].log_softmax(-1)
    told = [logits[place, case.answer.ids[place]] for place in np.flatnonzero(case.answer.explained)]
    (slope,) = torch.autograd.grad(torch.stack(told).sum(), leaf)
    tokens = (slope * leaf).sum(-1)[0].detach().numpy()
    wanted = [tokens[case.prompt.tokens_of(item)].sum() for item in range(3)]
    scale = float(np.abs(tokens).max())
    found = METHODS.parse("gradient_x_input").score(case)
    np.testing.assert_allclose(found.scores, wanted, atol=1e-3 * scale, rtol=1e-3)
    assert all(parameter.requires_grad for parameter in case.model.model.parameters())


def test_relevance_of_all_tokens_is_the_logit_where_nothing_is_added() -> None:
    """A Llama has no biases and no embeddings of positions: what the softmax keeps aside, all comes down to tokens."""
    case = case_of("llama", "word")
    found = METHODS.parse("attn_lrp").score(case).scores
    assert np.isfinite(found).all()
    assert np.abs(found).max() > 0


def test_attn_lrp_says_which_step_it_has_no_rule_for(monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of()
    forward = case.model.model.lm_head.forward
    monkeypatch.setattr(case.model.model.lm_head, "forward", lambda given: torch.erfinv(forward(given).tanh() / 2))
    with pytest.raises(NotApplicable, match="erfinv"):
        METHODS.parse("attn_lrp").score(case)


def test_surrogate_is_scikit_learns_lasso() -> None:
    case = case_of(unit="word")
    kept = drawn_subsets("", len(case.items), 32, 0)
    values = case.log_probability(kept) / case.answer.explained.sum()
    pipeline = make_pipeline(StandardScaler(), Lasso(alpha=0.01)).fit(kept, values)
    wanted = pipeline[-1].coef_ / kept.std(0)
    np.testing.assert_allclose(surrogate(kept, values, 0.01), wanted, atol=1e-10)
    found = METHODS.parse("context_cite").score(case)
    np.testing.assert_allclose(found.scores, wanted * case.answer.explained.sum(), atol=1e-9)
    assert found.cost.passes == len({row.tobytes() for row in kept})


def test_a_surrogate_finds_what_was_put_in() -> None:
    kept = np.random.default_rng(0).random((64, 6)) < 0.5
    found = surrogate(kept, 3.0 * kept[:, 2] - kept[:, 4] - 8, 0.001)
    np.testing.assert_allclose(found, [0, 0, 3, 0, -1, 0], atol=0.02)


@pytest.mark.parametrize("rows", ["answer", "after"])
@pytest.mark.parametrize("layers", ["", ", first=2, last=2"])
def test_knockout_is_a_mask_in_the_librarys_own_layers(rows: str, layers: str) -> None:
    case = case_of()
    found = METHODS.parse(f"knockout(rows='{rows}'{layers})").score(case).scores
    ids = torch.tensor([[*case.prompt.ids, *case.answer.ids[:-1]]])
    size = ids.shape[1]
    for item in range(3):
        own = chat_model()
        own.set_attn_implementation("eager")
        tokens = torch.tensor(case.prompt.tokens_of(item))
        mask = torch.full((size, size), -1e9).triu(1)
        start = len(case.prompt.ids) - 1 if rows == "answer" else int(tokens.max()) + 1
        cut = mask.clone()
        cut[start:, tokens] = -1e9
        for number, layer in enumerate(own.model.layers):
            chosen = cut if not layers or number == 1 else mask
            layer.self_attn.register_forward_pre_hook(
                lambda module, args, kwargs, chosen=chosen: (args, {**kwargs, "attention_mask": chosen[None, None]}),
                with_kwargs=True,
            )
        with torch.no_grad():
            logits = own(ids, use_cache=False).logits[0, len(case.prompt.ids) - 1 :].log_softmax(-1)
        told = sum(float(logits[place, case.answer.ids[place]]) for place in np.flatnonzero(case.answer.explained))
        assert found[item] == pytest.approx(case.whole - told, abs=2e-3)


def test_exchange_puts_a_text_from_elsewhere_in_a_sources_place() -> None:
    case = case_of()
    case.others = ("Oslo is green.",)
    found = METHODS.parse("exchange").score(case).scores
    other = Question(ASKED.question, (ASKED.sources[0], "Oslo is green.", ASKED.sources[2]), ASKED.answer, ASKED.span)
    assert found[1] == pytest.approx(case.whole - case_of(question=other).whole, abs=1e-3)
    assert METHODS.parse("exchange").objection(case_of(unit="word"))


def test_methods_refuse_what_they_do_not_have() -> None:
    case = case_of()
    for text, said in (
        ("attention(pool='most')", "pool='most' must be one of"),
        ("attention(layer=9)", "the model has 3"),
        ("attention(head=-1)", "count from 1"),
        ("knockout(rows='all')", "must be 'answer' or 'after'"),
        ("knockout(first=3, last=2)", "are none"),
        ("knockout(last=9)", "the model has 3"),
        ("context_cite(ablations=1)", "at least 2"),
    ):
        with pytest.raises(InputError, match=said):
            METHODS.parse(text).score(case)


def test_every_method_scores_every_item_the_same_again() -> None:
    assert len(METHODS) >= 9
    for name in METHODS:
        first, second = (METHODS.parse(name).score(case_of()).scores for _ in range(2))
        assert first.shape == (3,)
        np.testing.assert_array_equal(first, second)
