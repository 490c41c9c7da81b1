"""A small chat model with random weights: a tokenizer cut from a few sentences, with a chat template."""

from __future__ import annotations

from typing import Any

import torch
from tests.support.pretrained import GPT2, GROUPED

__all__ = ["CHATTING", "chat_model", "chat_tokenizer"]

TEXTS = [
    "Anna keeps her boat in Lisbon. Maria keeps her car in Oslo.",
    "The harbour was built in 1922, and Paul paints it green.",
    "Context: Query: In which city does Anna keep her boat?",
]
TEMPLATE = (
    "{% for message in messages %}<start>{{ message['role'] }}\n{{ message['content'] }}<end>\n{% endfor %}"
    "{% if add_generation_prompt %}<start>assistant\n{% endif %}"
)
#: Class and configuration of every family that is asked.
CHATTING: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("LlamaForCausalLM", GROUPED),
    "gpt2": ("GPT2LMHeadModel", GPT2),
    "qwen3": ("Qwen3ForCausalLM", {**GROUPED, "head_dim": 8}),
    "gemma2": ("Gemma2ForCausalLM", {**GROUPED, "head_dim": 8, "sliding_window": 8, "query_pre_attn_scalar": 8}),
}


def chat_tokenizer(*, chat: bool = True) -> Any:
    """Byte pairs that know a few words."""
    from tokenizers import Tokenizer, decoders, pre_tokenizers
    from tokenizers.models import BPE
    from tokenizers.trainers import BpeTrainer
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    special = ["<pad>", "<start>", "<end>"]
    made.train_from_iterator(
        TEXTS,
        BpeTrainer(
            vocab_size=360,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    found = PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="<end>", bos_token="<start>")
    if chat:
        found.chat_template = TEMPLATE
    return found


def chat_model(family: str = "llama", *, seed: int = 0, sharp: float = 6.0) -> Any:
    """A model for that tokenizer, its random weights scaled up, so that its attention is uneven."""
    import transformers

    name, fields = CHATTING[family]
    made = getattr(transformers, name)
    torch.manual_seed(seed)
    model = made(made.config_class(**{**fields, "vocab_size": 360, "eos_token_id": 2, "bos_token_id": 1}))
    with torch.no_grad():
        for key, value in model.named_parameters():
            if value.ndim > 1 and "embed" not in key and "wte" not in key:
                value.mul_(sharp)
    return model.eval()
