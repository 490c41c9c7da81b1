"""Forced decoding against plain passes of the library's own model, without a cache and with its own attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tests.support.chat import CHATTING, chat_model, chat_tokenizer

from attentest.errors import InputError
from attentest.sources import language
from attentest.sources.case import open_case
from attentest.sources.language import LanguageModel, shared_length
from attentest.sources.prompt import Prompter
from attentest.sources.question import Question

ASKED = Question(
    "In which city does Anna keep her boat?",
    ("Anna keeps her boat in Lisbon.", "Paul paints it green.", "Maria keeps her car in Oslo."),
    "In Lisbon.",
)


def plain(model: Any, prompt: tuple[int, ...], answer: tuple[int, ...]) -> torch.Tensor:
    """The answer's log-probabilities by one pass, eager attention, no cache, no batch."""
    model.set_attn_implementation("eager")
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *answer]]), use_cache=False).logits[0]
    rows = logits[len(prompt) - 1 : -1].log_softmax(-1)
    return rows[torch.arange(len(answer)), torch.tensor(answer)].double()


@pytest.mark.parametrize("family", CHATTING)
@pytest.mark.parametrize("chunk", [512, 5])
def test_shared_prefix_batches_and_chunks_change_nothing(
    family: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language, "CHUNK", chunk)
    prompter = Prompter(chat_tokenizer())
    answer, _ = prompter.answer("In Lisbon.")
    masks = [[n >> place & 1 for place in range(3)] for n in range(8)]
    prompts = [prompter.build(ASKED, kept=np.array(mask)).ids for mask in masks]
    wanted = torch.stack([plain(chat_model(family), prompt, answer) for prompt in prompts])
    ours = LanguageModel(chat_model(family), prompter.tokenizer)
    prefix = ours.prefix(prompts[-1][:-1])
    for given in (None, prefix):
        torch.testing.assert_close(ours.log_probabilities(prompts, answer, prefix=given), wanted, atol=2e-4, rtol=1e-4)
    assert ours.shares == (family != "gemma2")


def test_leaving_a_source_out_is_a_plain_pass_without_it() -> None:
    case = open_case(LanguageModel(chat_model(), chat_tokenizer()), Prompter(chat_tokenizer()), ASKED)
    kept = ~np.eye(3, dtype=bool)
    found = case.log_probability(kept)
    for mask, value in zip(kept, found, strict=True):
        assert value == pytest.approx(
            float(plain(chat_model(), case.prompter.build(ASKED, kept=mask).ids, case.answer.ids).sum()), abs=1e-3
        )
    spent = case.model.cost.tokens
    assert (case.log_probability(kept) == found).all()
    assert case.model.cost.tokens == spent
    assert case.spent_on(kept).passes == 3


def test_the_models_own_answer_is_the_librarys() -> None:
    asked, prompter = Question(ASKED.question, ASKED.sources), Prompter(chat_tokenizer())
    case = open_case(LanguageModel(chat_model(), prompter.tokenizer), prompter, asked, longest=6)
    own = chat_model()
    with torch.no_grad():
        row = torch.tensor([case.prompt.ids])
        wanted = own.generate(
            row, attention_mask=torch.ones_like(row), do_sample=False, max_new_tokens=6, pad_token_id=0
        )
    answer = [token for token in wanted[0, len(case.prompt.ids) :].tolist() if token != 2]
    assert list(case.answer.ids) == answer


def test_a_span_is_explained_by_its_own_tokens() -> None:
    asked = Question(ASKED.question, ASKED.sources, "It is in Lisbon.", "Lisbon")
    prompter = Prompter(chat_tokenizer())
    answer = open_case(LanguageModel(chat_model(), prompter.tokenizer), prompter, asked).answer
    assert prompter.tokenizer.decode(
        [i for i, here in zip(answer.ids, answer.explained, strict=True) if here]
    ).strip() == ("Lisbon")


def test_memory_that_runs_out_halves_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "START", {"cpu": 1000, "cuda": 1000})
    prompter = Prompter(chat_tokenizer())
    model = LanguageModel(chat_model(), prompter.tokenizer)
    prompts = [prompter.build(ASKED, kept=np.array(mask)).ids for mask in np.ndindex(2, 2, 2)]
    answer, _ = prompter.answer("In Lisbon.")
    wanted, forward, sizes = model.log_probabilities(prompts, answer), model.model.forward, []

    def small(input_ids: torch.Tensor, **others: Any) -> Any:
        sizes.append(len(input_ids))
        if len(input_ids) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(input_ids=input_ids, **others)

    monkeypatch.setattr(model.model, "forward", small)
    torch.testing.assert_close(model.log_probabilities(prompts, answer), wanted, atol=1e-5, rtol=1e-5)
    assert sizes[:3] == [8, 4, 2]


def test_models_that_cannot_be_asked_are_refused() -> None:
    prompter = Prompter(chat_tokenizer())
    model = LanguageModel(chat_model(), prompter.tokenizer)
    model.model.config.max_position_embeddings = 40
    with pytest.raises(InputError, match="reads at most 40"):
        open_case(model, prompter, ASKED)
    with pytest.raises(InputError, match="does not continue a text"):
        LanguageModel(transformers.BertModel(transformers.BertConfig(**_SMALL)), prompter.tokenizer)
    mamba = transformers.MambaForCausalLM(transformers.MambaConfig(vocab_size=360, hidden_size=16, num_hidden_layers=2))
    with pytest.raises(InputError, match="attention interface"):
        LanguageModel(mamba, prompter.tokenizer)


_SMALL = {
    "vocab_size": 360,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
}


def test_shared_length_counts_what_is_common_at_the_beginning() -> None:
    assert [shared_length((1, 2, 3), other) for other in ((1, 2, 4), (2,), (1, 2, 3, 4), ())] == [2, 0, 3, 0]
