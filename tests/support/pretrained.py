"""Small models of the Transformers library with random weights, and a tokenizer for the tests' words."""

from __future__ import annotations

from typing import Any

import torch
from tests.conftest import WORDS

__all__ = ["FAMILIES", "LANGUAGE", "tiny", "tokenizer_of"]

SPECIAL = ["<pad>", "<unk>", "<cls>", "<sep>", "<mask>"]
COMMON = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 24}
ENDS = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
GROUPED = {**COMMON, **ENDS, "num_key_value_heads": 1}
T5 = {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 2, **ENDS, "decoder_start_token_id": 0}
BART = {
    **{
        f"{side}_{what}": value
        for side in ("encoder", "decoder")
        for what, value in (("layers", 2), ("attention_heads", 2), ("ffn_dim", 24))
    },
    **ENDS,
    "d_model": 16,
    "decoder_start_token_id": 0,
    "forced_eos_token_id": 3,
}
GPT2 = {"n_embd": 16, "n_layer": 3, "n_head": 2, **ENDS}

#: Class and configuration of every family for sequence classification.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("BertForSequenceClassification", {**COMMON, "pad_token_id": 0}),
    "roberta": ("RobertaForSequenceClassification", {**COMMON, **ENDS}),
    "distilbert": ("DistilBertForSequenceClassification", {"dim": 16, "n_layers": 3, "n_heads": 2, "hidden_dim": 24}),
    "modernbert": (
        "ModernBertForSequenceClassification",
        {**COMMON, **ENDS, "cls_token_id": 2, "sep_token_id": 3, "classifier_pooling": "cls"},
    ),
    "modernbert-mean": (
        "ModernBertForSequenceClassification",
        {**COMMON, **ENDS, "cls_token_id": 2, "sep_token_id": 3, "classifier_pooling": "mean"},
    ),
    "electra": ("ElectraForSequenceClassification", {**COMMON, "embedding_size": 16, "pad_token_id": 0}),
    "gpt2": ("GPT2ForSequenceClassification", GPT2),
    "llama": ("LlamaForSequenceClassification", GROUPED),
    "qwen2": ("Qwen2ForSequenceClassification", GROUPED),
    "qwen3": ("Qwen3ForSequenceClassification", {**GROUPED, "head_dim": 8}),
}
#: Language models, whose classes are words.
LANGUAGE: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2-lm": ("GPT2LMHeadModel", GPT2),
    "llama-lm": ("LlamaForCausalLM", GROUPED),
    "t5": ("T5ForConditionalGeneration", T5),
    "marian": ("MarianMTModel", BART),
}


def tokenizer_of(words: list[str] | None = None, *, ends: bool = True, types: bool = False) -> Any:
    """A fast tokenizer: some words are whole, some are cut into two or three pieces."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    known = words if words is not None else [*WORDS, "telling0", "telling1"]
    whole = [word for place, word in enumerate(known) if place % 3]
    letters = sorted({letter for word in known for letter in word})
    pieces = [*SPECIAL, "x", "word", "tell", *letters, *(f"##{letter}" for letter in letters), *whole]
    table = {piece: place for place, piece in enumerate(dict.fromkeys(pieces))}
    made = Tokenizer(WordPiece(table, unk_token="<unk>", max_input_chars_per_word=100))
    made.pre_tokenizer = WhitespaceSplit()
    if ends:
        made.post_processor = TemplateProcessing(
            single="<cls> $A <sep>", pair="<cls> $A <sep> $B:1 <sep>:1", special_tokens=[("<cls>", 2), ("<sep>", 3)]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="<cls>",
        sep_token="<sep>",
        mask_token="<mask>",
        model_input_names=["input_ids", "attention_mask", *(["token_type_ids"] if types else [])],
    )


def tiny(family: str, *, size: int = 200, classes: int = 2, seed: int = 0, sharp: float = 6.0) -> Any:
    """A small model of a family; ``sharp``: its random weights are scaled up, so that its attention is uneven."""
    import transformers

    name, fields = {**FAMILIES, **LANGUAGE}[family]
    about = {**fields, "vocab_size": size, **({} if family in LANGUAGE else {"num_labels": classes})}
    torch.manual_seed(seed)
    made = getattr(transformers, name)
    model = made(made.config_class(**about))
    with torch.no_grad():
        for key, value in model.named_parameters():
            if value.ndim > 1 and "embed" not in key and "shared" not in key:
                value.mul_(1.0 if family == "t5" else sharp)  # its own first weights are large already
    return model.eval()
