"""Bad checkpoints: what strangers may have written into a folder that Transformers is to load."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import torch
import transformers
from safetensors.torch import load_file

from attentest import explain
from attentest.models.huggingface.checkpoint import quietly
from tests.campaigns.bits import flipped
from tests.campaigns.campaign import Campaign, Fault, Unavailable
from tests.campaigns.processes import attentest, refused
from tests.support.pretrained import tiny, tokenizer_of

JUNK: list[Any] = [
    None,
    True,
    -1,
    0,
    3.5,
    10**30,
    "",
    "x",
    "../x",
    "\x00",
    [],
    [1],
    {},
    {"a": 1},
    "owner/kernel",
    1e308,
]
PLANTED = "from pathlib import Path\nPath({mark!r}).write_text('ran')\n"
INDEX = "model.safetensors.index.json"


class Pickled:
    """Runs when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


class Checkpoints(Campaign):
    """A small BERT, its files altered in one way, explained from the command line."""

    name = "checkpoints"
    promise = "no code of a checkpoint runs, nothing outside of it is read; one line, or a true answer"
    quick, full = 15, 600

    def prepare(self, folder: Path) -> None:
        if not hasattr(transformers, "AutoConfig"):
            raise Unavailable("Transformers is not installed")
        torch.set_num_threads(1)
        self.process.setenv("HF_HUB_OFFLINE", "1")
        self.base, tokenizer = folder / "base", tokenizer_of()
        with quietly():
            tiny("bert", size=len(tokenizer)).save_pretrained(self.base)
            tokenizer.save_pretrained(self.base)
        explain("word1 word2", self.base)  # whatever is loaded now is inherited by every case

    def case(self, draw: Random, number: int, folder: Path) -> str:
        model, mark = folder / "model", folder / "mark"
        shutil.copytree(self.base, model)
        kind, alter = KINDS[number % len(KINDS)]
        alter(model, mark, draw)
        text = "a" * 60 + " word2" if alter is _endless else "word1 word2"
        ended = attentest(["explain", text, "--model", model, "--json"], folder)
        if mark.exists():
            raise Fault(f"{kind}: planted code ran")
        if kind in MUST_REFUSE or ended.code != 0:
            refused(ended, kind)
        else:
            json.loads(ended.out)
        left = {path.name for path in folder.iterdir()} - {"model"}
        if left:
            raise Fault(f"{kind}: it left {sorted(left)}")
        return kind


def _json(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    about = json.loads(path.read_text())
    change(about)
    path.write_text(json.dumps(about))


def _setting(model: Path, mark: Path, draw: Random) -> None:
    """A setting of config.json with a value that makes no sense."""
    names = [
        *json.loads((model / "config.json").read_text()),
        "auto_map",
        "dtype",
        "text_config",
        "transformers_weights",
    ]
    _json(model / "config.json", lambda about: about.update({draw.choice(names): draw.choice(JUNK)}))


def _words_setting(model: Path, mark: Path, draw: Random) -> None:
    names = [*json.loads((model / "tokenizer_config.json").read_text()), "vocab_file", "auto_map", "chat_template"]
    _json(model / "tokenizer_config.json", lambda about: about.update({draw.choice(names): draw.choice(JUNK)}))


def _tokenizer(model: Path, mark: Path, draw: Random) -> None:
    """A part of tokenizer.json, at any depth, replaced by junk."""

    def change(about: dict[str, Any]) -> None:
        at: Any = about
        while True:
            key = draw.choice(list(at)) if isinstance(at, dict) else draw.randrange(len(at))
            if isinstance(at[key], dict | list) and at[key] and draw.random() < 0.7:
                at = at[key]
            else:
                at[key] = draw.choice(JUNK)
                return

    _json(model / "tokenizer.json", change)


def _cut(model: Path, mark: Path, draw: Random) -> None:
    path = draw.choice(sorted(model.iterdir()))
    path.write_bytes(path.read_bytes()[: draw.randrange(path.stat().st_size)])


def _bit(model: Path, mark: Path, draw: Random) -> None:
    path = draw.choice(sorted(model.iterdir()))
    path.write_bytes(flipped(path.read_bytes(), draw))


def _header(model: Path, mark: Path, draw: Random) -> None:
    """A header of safetensors that lies about sizes, types and places."""
    path = model / "model.safetensors"
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    about = json.loads(data[8 : 8 + size])
    name = draw.choice([name for name in about if name != "__metadata__"])
    about[name][draw.choice(["dtype", "shape", "data_offsets"])] = draw.choice(
        [*JUNK, [0, 10**15], [5, 2], "F64", "I8"]
    )
    header = json.dumps(about).encode()
    said = len(header) if draw.random() < 0.8 else draw.choice([0, 2**63, 2**32, len(header) + 7])
    path.write_bytes(struct.pack("<Q", said) + header + data[8 + size :])


def _code(model: Path, mark: Path, draw: Random) -> None:
    (model / "planted.py").write_text(PLANTED.format(mark=str(mark)))
    names = {"AutoConfig": "planted.C", "AutoModelForSequenceClassification": "planted.M", "AutoModel": "planted.M"}
    names |= {"AutoTokenizer": ["planted.T", "planted.T"]} if draw.random() < 0.5 else {}
    kind = {"model_type": draw.choice(["unheard-of", "bert"])}
    _json(model / "config.json", lambda about: about.update({"auto_map": names, **kind}))
    if draw.random() < 0.5:
        own = {"auto_map": {"AutoTokenizer": ["planted.T", None]}, "tokenizer_class": "T"}
        _json(model / "tokenizer_config.json", lambda about: about.update(own))


def _kernel(model: Path, mark: Path, draw: Random) -> None:
    names = ["_attn_implementation", "attn_implementation", "_experts_implementation", "_attn_implementation_internal"]
    value = draw.choice(["owner/kernel", "owner/kernel@v1:f", {"": "owner/kernel"}])
    _json(model / "config.json", lambda about: about.update({draw.choice(names): value}))


def _pickle(model: Path, mark: Path, draw: Random) -> None:
    """Weights that run code when they are unpickled, under several names."""
    torch.save({"a": Pickled(mark)}, model / "pytorch_model.bin")
    way = draw.randrange(4)
    weights = load_file(model / "model.safetensors")
    if way == 1:
        (model / INDEX).write_text(
            json.dumps({"metadata": {}, "weight_map": dict.fromkeys(weights, "pytorch_model.bin")})
        )
    if way == 2:
        _json(model / "config.json", lambda about: about.update(transformers_weights="pytorch_model.bin"))
    (model / "model.safetensors").unlink()
    if way == 3:
        (model / "pytorch_model.bin").rename(model / "model.safetensors")


def _link(model: Path, mark: Path, draw: Random) -> None:
    path = draw.choice(sorted(model.glob("*.*")))
    outside = model.parent.parent / f"outside-{draw.random()}"
    shutil.copyfile(path, outside)
    path.unlink()
    path.symlink_to(outside)


def _outside(model: Path, mark: Path, draw: Random) -> None:
    weights = load_file(model / "model.safetensors")
    name = draw.choice(
        ["../x.safetensors", "/etc/hostname", "a/../../x.safetensors", "..\\x.safetensors", "x.bin", 3, None]
    )
    (model / "model.safetensors").unlink()
    (model / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": dict.fromkeys(weights, name)}))


def _quantised(model: Path, mark: Path, draw: Random) -> None:
    method = draw.choice(["gptq", "awq", "bitsandbytes_4bit", "fp8", "quanto", "unheard-of", 3])
    about = {"quant_method": method, "bits": 4, "load_in_4bit": True}
    _json(model / "config.json", lambda found: found.update(quantization_config=about))


def _adapter(model: Path, mark: Path, draw: Random) -> None:
    (model / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "owner/x", "peft_type": "LORA"}))


def _deep(model: Path, mark: Path, draw: Random) -> None:
    path = model / draw.choice(["config.json", "tokenizer_config.json", "tokenizer.json"])
    path.write_text(draw.choice(["[", '{"a":']) * draw.choice([1_000, 100_000]))


def _odd_file(model: Path, mark: Path, draw: Random) -> None:
    """A folder, a pipe or nothing in the place of a file."""
    path = model / draw.choice(["config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"])
    path.unlink()
    way = draw.randrange(3)
    if way == 0:
        path.mkdir()
    elif way == 1:
        os.mkfifo(path)


def _endless(model: Path, mark: Path, draw: Random) -> None:
    """Words cut by patterns that try all ways, or replaced by more and more: native code that nobody interrupts."""
    pattern = {"Regex": draw.choice([r"(a+)+$|(\w+\s?)+!", r"(\w*)*\1x", r"(?:a|aa)+$", r"((a{1,20}){1,20}){1,20}$"])}
    letter = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * draw.choice([2, 40, 3_000])}
    swollen = draw.choice([letter, {"type": "Prepend", "prepend": "a" * draw.choice([1, 1_000, 10**6])}])
    choices: list[dict[str, Any]] = [
        {"pre_tokenizer": {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}},
        {"normalizer": {"type": "Sequence", "normalizers": [swollen] * draw.choice([1, 4, 30])}},
        {"normalizer": {**letter, "pattern": pattern}},
    ]
    _json(model / "tokenizer.json", lambda about: about.update(draw.choice(choices)))


KINDS: list[tuple[str, Callable[[Path, Path, Random], None]]] = [
    ("settings", _setting),
    ("settings of words", _words_setting),
    ("tokenizer", _tokenizer),
    ("cut short", _cut),
    ("a bit", _bit),
    ("safetensors header", _header),
    ("code", _code),
    ("kernel", _kernel),
    ("pickle", _pickle),
    ("link out", _link),
    ("index out", _outside),
    ("quantised", _quantised),
    ("adapter", _adapter),
    ("deep JSON", _deep),
    ("odd file", _odd_file),
    ("endless tokenizer", _endless),
]
MUST_REFUSE = {"pickle", "link out", "index out", "quantised", "adapter", "deep JSON"}
