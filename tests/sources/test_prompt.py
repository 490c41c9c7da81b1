"""Prompts: every token belongs to what it is part of, and what is left out is out."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.chat import chat_tokenizer

from attentest.errors import InputError
from attentest.sources.prompt import FRAME, QUESTION, SINK, Prompter
from attentest.sources.question import Question

ASKED = Question(
    "In which city does Anna keep her boat?", ("Anna keeps her boat in Lisbon.", "Paul  paints it\ngreen. ", "Oslo")
)


def said(prompter: Prompter, prompt, role: int) -> str:
    return prompter.tokenizer.decode([prompt.ids[place] for place in prompt.tokens_of(role)])


@pytest.mark.parametrize("chat", [True, False])
def test_tokens_of_a_role_spell_its_text(chat: bool) -> None:
    prompter = Prompter(chat_tokenizer(), chat=chat)
    prompt = prompter.build(ASKED)
    for number, text in enumerate(ASKED.sources):
        assert said(prompter, prompt, number).strip() == text.strip()
    assert said(prompter, prompt, QUESTION).strip() == ASKED.question
    assert prompt.tokens_of(SINK).tolist() == [0]
    assert prompter.tokenizer.decode(prompt.ids) == prompt.text
    assert "assistant" in said(prompter, prompt, FRAME) or not chat


def test_words_are_items_and_spell_the_sources() -> None:
    prompter = Prompter(chat_tokenizer())
    items = prompter.items(ASKED, "word")
    assert [item.text for item in items] == " ".join(ASKED.sources).split()
    prompt = prompter.build(ASKED, items)
    assert prompt.ids == prompter.build(ASKED).ids
    for number, item in enumerate(items):
        assert said(prompter, prompt, number).strip() == item.text


@pytest.mark.parametrize("unit", ["source", "word"])
def test_what_is_left_out_is_as_if_it_had_not_been_written(unit: str) -> None:
    prompter = Prompter(chat_tokenizer())
    items = prompter.items(ASKED, unit)
    for kept in (np.random.default_rng(seed).random(len(items)) < 0.5 for seed in range(20)):
        left = [
            [item.text for item, keep in zip(items, kept, strict=True) if keep and item.source == n] for n in range(3)
        ]
        written = "\n\n".join(" ".join(words) for words in left if words)
        prompt = prompter.build(ASKED, items, kept)
        assert " ".join(f"Context: {written}\n\nQuery: {ASKED.question}".split()) in " ".join(prompt.text.split())
        assert {int(role) for role in prompt.roles if role >= 0} == set(np.flatnonzero(kept))


def test_the_question_may_come_first() -> None:
    prompter = Prompter(chat_tokenizer(), prompt="{query} Use: {context} Be short.")
    prompt = prompter.build(ASKED)
    assert prompt.tokens_of(QUESTION).max() < prompt.tokens_of(0).min()
    assert said(prompter, prompt, 2).strip() == "Oslo"


def test_refusals_say_what_to_do() -> None:
    with pytest.raises(InputError, match="no chat template"):
        Prompter(chat_tokenizer(chat=False))
    with pytest.raises(InputError, match=r"must hold \{query\} once"):
        Prompter(chat_tokenizer(), prompt="{context}")
    altering = chat_tokenizer()
    altering.chat_template = "{{ messages[0]['content'] | upper }}"
    with pytest.raises(InputError, match="does not repeat a message as it is written"):
        Prompter(altering).build(ASKED)
    with pytest.raises(InputError, match="unit='letter' must be"):
        Prompter(chat_tokenizer()).items(ASKED, "letter")
