"""A small GPT-2, trained on planted questions until it answers new ones: the second family of the study of sources.

    python -m scripts.sources.small FOLDER [--minutes 10] [--seed 1000]

Every word is a token; answers are the planted value and a full stop. It stops where 90 % of 200 new facts are answered,
or after so many minutes of the processor.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from random import Random

import torch
from scripts.sources.study import PROMPT
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from attentest.sources.planting.planted import planted_questions
from attentest.sources.prompt import Prompter
from attentest.sources.question import Question

TEMPLATE = "{{ messages[0]['content'] }}{% if add_generation_prompt %} answer :{% endif %}"
KINDS = ("fact", "fact", "redundant", "known")
QUESTIONS, BATCH, CHECKED, ENOUGH = 12_000, 48, 200, 0.9


def tokenizer_of(texts: list[str]) -> PreTrainedTokenizerFast:
    """Words and marks as tokens."""
    split = pre_tokenizers.Whitespace()
    words = sorted({word for text in texts for word, _ in split.pre_tokenize_str(text)})
    vocabulary = {word: place for place, word in enumerate(["<pad>", "<unk>", "<end>", *words])}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    core.pre_tokenizer = split
    made = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", unk_token="<unk>", eos_token="<end>")
    made.chat_template = TEMPLATE
    return made


def told(question: Question) -> str:
    """The prompt's text, as the chat template writes it."""
    return PROMPT.format(context="\n\n".join(question.sources), query=question.question) + " answer :"


def pairs(tokenizer: PreTrainedTokenizerFast, questions: list[Question]) -> list[tuple[list[int], list[int]]]:
    """Tokens of prompts and of their answers."""
    prompts = tokenizer([told(question) for question in questions], add_special_tokens=False)["input_ids"]
    values = [f"{question.planted.value}." for question in questions if question.planted]
    answers = tokenizer(values, add_special_tokens=False)["input_ids"]
    return [(prompt, [*answer, 2]) for prompt, answer in zip(prompts, answers, strict=True)]


def padded(rows: list[list[int]]) -> torch.Tensor:
    """Rows of one length, padded on the left so that answers stand at the end."""
    width = max(map(len, rows))
    return torch.tensor([[0] * (width - len(row)) + row for row in rows])


def right(model: GPT2LMHeadModel, prompter: Prompter, questions: list[Question]) -> float:
    """How often the most probable word is the planted value."""
    count = 0
    with torch.no_grad():
        for question in questions:
            ids = prompter.build(question).ids
            best = int(model(torch.tensor([ids])).logits[0, -1].argmax())
            assert question.planted is not None
            count += prompter.tokenizer.decode([best]) == question.planted.value.split()[0]
    return count / len(questions)


def main() -> None:
    """Train and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1000)
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    stages = [
        list(planted_questions(QUESTIONS, seed=given.seed + sources, sources=sources, kinds=KINDS))
        for sources in (3, 5)
    ]
    every = [told(question) for stage in stages for question in stage]
    known = [word for q in planted_questions(400, seed=given.seed, kinds=("injected", "untold")) for word in [told(q)]]
    tokenizer = tokenizer_of([*every, *known, *(q.planted.value for q in stages[0] if q.planted)])
    prompter = Prompter(tokenizer, PROMPT)
    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=256, n_embd=96, n_layer=3, n_head=4,
        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, bos_token_id=2, eos_token_id=2, pad_token_id=0,
    )  # fmt: skip
    model = GPT2LMHeadModel(config)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1.5e-3, weight_decay=0.01)
    new = list(planted_questions(CHECKED, seed=given.seed + 77, kinds=("fact",)))
    coded = [pairs(tokenizer, stage) for stage in stages]
    draw, began, step, stage = Random(0), time.process_time(), 0, 0
    while time.process_time() - began < 60 * given.minutes:
        some = draw.sample(coded[stage], BATCH)
        ids = padded([prompt + answer for prompt, answer in some])
        labels = padded([[-100] * len(prompt) + answer for prompt, answer in some])
        labels[ids == 0] = -100
        mask = (ids != 0).long()
        places = (mask.cumsum(1) - 1).clamp(min=0)
        loss = model(ids, attention_mask=mask, position_ids=places, labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        step += 1
        if step % 100 == 0:
            model.eval()
            found = right(model, prompter, new if step % 500 == 0 else new[:40])
            model.train()
            spent = time.process_time() - began
            print(
                f"step {step}, {spent:.0f} s, {3 + 2 * stage} sources, loss {loss:.3f}, right {found:.2f}", flush=True
            )
            stage = 1 if stage or float(loss.detach()) < 0.35 else 0
            if stage and found >= ENOUGH and (step % 500 == 0 or right(model.eval(), prompter, new) >= ENOUGH):
                break
            model.train()
    model.eval()
    print(
        f"{step} steps, {time.process_time() - began:.0f} s of the processor, right {right(model, prompter, new):.3f}"
    )
    model.save_pretrained(given.folder)
    tokenizer.save_pretrained(given.folder)


if __name__ == "__main__":
    main()
