"""Checkpoints of the Transformers library whose configuration, words or weights were altered."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from tests.campaigns.made.kind import Case, Kind
from tests.campaigns.made.mutation import NUMBERS, altered, altered_json, damaged, strange

__all__ = ["DamagedCheckpoints"]

#: Settings that the library acts on.
SETTINGS = (
    *(
        "architectures",
        "model_type",
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "vocab_size",
        "id2label",
    ),
    *(
        "label2id",
        "pad_token_id",
        "max_position_embeddings",
        "hidden_act",
        "torch_dtype",
        "dtype",
        "problem_type",
        "num_labels",
    ),
    *(
        "layer_norm_eps",
        "type_vocab_size",
        "quantization_config",
        "attention_dropout",
        "is_decoder",
        "intermediate_size",
    ),
    *(
        "tie_word_embeddings",
        "is_encoder_decoder",
        "rope_scaling",
        "initializer_range",
        "transformers_version",
        "use_cache",
    ),
)
WORDS = (
    "pad_token",
    "unk_token",
    "model_max_length",
    "tokenizer_class",
    "added_tokens_decoder",
    "do_lower_case",
    "vocab_file",
    "cls_token",
)


class DamagedCheckpoints(Kind):
    """A tiny BERT, altered."""

    name: ClassVar[str] = "checkpoints"
    share: ClassVar[int] = 8

    def prepare(self, shared: Path) -> None:
        from attentest.models.huggingface.checkpoint import quietly
        from tests.support.pretrained import tiny, tokenizer_of

        self.whole, self.data = shared / "tiny", shared / "labelled.csv"
        tokenizer = tokenizer_of()
        with quietly():
            tiny("bert", size=len(tokenizer)).save_pretrained(self.whole)
            tokenizer.save_pretrained(self.whole)
        rows = (f"word{n} word{n + 1} x,{n % 2}\n" for n in range(8))
        self.data.write_text("text,label\n" + "".join(rows), encoding="utf-8")

    def case(self, draw: Random, folder: Path) -> Case:
        made = folder / "model"
        shutil.copytree(self.whole, made)
        names = sorted(path.name for path in made.iterdir())
        what = draw.choice(
            ("config.json",) * 4
            + ("tokenizer.json",) * 2
            + ("tokenizer_config.json",) * 2
            + ("model.safetensors",) * 3
            + ("file",)
        )
        path = made / what
        if what == "model.safetensors":
            path.write_bytes(_weights(draw, path.read_bytes()))
        elif what == "file":
            self._odd_file(draw, made, names)
        else:
            path.write_bytes(_altered(draw, what, path.read_text(encoding="utf-8")))
        command = (
            "audit",
            "--model",
            "model",
            "--data",
            str(self.data),
            "--tokenizer",
            "whitespace",
            "--challenge",
            "uniform",
            "--runs",
            "runs",
        )
        return Case(what, command, environment={"HF_HUB_OFFLINE": "1"})

    @staticmethod
    def _odd_file(draw: Random, made: Path, names: list[str]) -> None:
        path = made / draw.choice(names)
        match draw.randrange(5):
            case 0:
                path.unlink()
            case 1:
                path.write_bytes(b"")
            case 2:
                path.unlink()
                path.mkdir()
            case 3:
                path.unlink()
                path.symlink_to(draw.choice(("/etc/passwd", "nowhere", path.name)))
            case _:
                path.write_bytes(draw.randbytes(200))


def _altered(draw: Random, what: str, text: str) -> bytes:
    if draw.random() < 0.3:
        return altered_json(draw, text)
    value: Any = json.loads(text)
    known = SETTINGS if what == "config.json" else WORDS
    if what == "tokenizer.json":
        part = draw.choice(("model", "pre_tokenizer", "post_processor", "added_tokens", "normalizer", "decoder"))
        changes = draw.choice(
            ({"vocab": {}}, {"vocab": {"x": -1}}, {"vocab": {"x": 10**9}}, {"type": "Nothing"}, strange(draw))
        )
        inner = value.get(part)
        value[part] = (
            {**inner, **changes} if isinstance(inner, dict) and isinstance(changes, dict) else altered(draw, inner)
        )
    else:
        for _ in range(draw.choice((1, 1, 2))):
            value[draw.choice(known)] = (
                strange(draw)
                if draw.random() < 0.6
                else draw.choice((*NUMBERS, "bert", "llama", "float16", "gelu", []))
            )
    try:
        return json.dumps(value).encode("utf-8", "replace")
    except RecursionError:
        return b"[" * 5000


def _weights(draw: Random, content: bytes) -> bytes:
    """Safetensors whose header lies, or whose numbers are none."""
    size = struct.unpack("<Q", content[:8])[0]
    header, body = json.loads(content[8 : 8 + size]), content[8 + size :]
    match draw.randrange(6):
        case 0:
            return damaged(draw, content)
        case 1:
            name = draw.choice([key for key in header if key != "__metadata__"])
            header[name] = altered(draw, header[name])
        case 2:
            header = altered(draw, header)
        case 3:
            number = draw.choice((float("nan"), float("inf"), 3e38))
            return content[: 8 + size] + struct.pack("<f", number) * (len(body) // 4)
        case 4:
            return struct.pack("<Q", draw.choice((0, 2**63, 2**40, size + 10**6))) + content[8:]
        case _:
            del header[draw.choice([key for key in header if key != "__metadata__"])]
    try:
        said = json.dumps(header).encode("utf-8", "replace")
    except RecursionError:
        said = b"[" * 5000
    return struct.pack("<Q", len(said)) + said + body
