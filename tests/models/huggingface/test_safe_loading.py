"""A checkpoint that is planted: nothing of it runs, nothing is fetched for it, and no file outside it is opened."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import safetensors.torch
import torch
from tests.cli.test_cli import fails_in_one_line, run
from tests.support.pretrained import tiny, tokenizer_of

from attentest.errors import CheckpointError
from attentest.models.huggingface.checkpoint import is_checkpoint, load_checkpoint

__all__ = ["run"]

INDEX = "model.safetensors.index.json"

PLANTED = """
from pathlib import Path
Path({mark!r}).write_text("ran")
from transformers import BertConfig as Config, BertForSequenceClassification as Model
from transformers import PreTrainedTokenizerFast as Tokenizer
"""


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    tokenizer, folder = tokenizer_of(), tmp_path / "model"
    tiny("bert", size=len(tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def changed(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


@pytest.mark.parametrize("kind", ["bert", "unheard-of"])
@pytest.mark.parametrize("where", ["config.json", "tokenizer_config.json"])
def test_code_that_a_checkpoint_brings_is_not_run(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, where: str
) -> None:
    """Not even if somebody who is asked says yes."""
    mark = tmp_path / "mark"
    (checkpoint / "planted.py").write_text(PLANTED.format(mark=str(mark)))
    names = {"AutoConfig": "planted.Config", "AutoModelForSequenceClassification": "planted.Model"}
    names |= {"AutoTokenizer": [None, "planted.Tokenizer"]}
    changed(checkpoint / where, auto_map=names, **({"tokenizer_class": kind} if "tokenizer" in where else {}))
    if where == "config.json":
        changed(checkpoint / where, model_type=kind)
    monkeypatch.setattr("builtins.input", lambda *args: "y")
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    if kind == "bert" or where == "tokenizer_config.json":
        load_checkpoint(checkpoint)
    else:
        with pytest.raises(CheckpointError, match="brings code of its own") as refused:
            load_checkpoint(checkpoint)
        assert "\n" not in str(refused.value)
    assert not mark.exists()


@pytest.mark.parametrize("key", ["_attn_implementation", "attn_implementation"])
def test_a_checkpoint_does_not_choose_its_attention(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    fetched: list[Any] = []
    monkeypatch.setattr("transformers.modeling_utils.lazy_import_flash_attention", lambda *a, **k: fetched.append(a))
    monkeypatch.setattr("transformers.integrations.hub_kernels.load_and_register_attn_kernel", fetched.append)
    wanted = load_checkpoint(checkpoint)[0]
    changed(checkpoint / "config.json", **{key: "owner/kernel"})
    model = load_checkpoint(checkpoint)[0]
    assert model.config._attn_implementation == "eager"
    assert not fetched
    ids = torch.arange(6)[None]
    assert torch.equal(model(ids).logits, wanted(ids).logits)


@pytest.mark.parametrize(
    "file",
    ["../elsewhere.safetensors", "{outside}/elsewhere.safetensors", "pytorch_model.bin", "a/../../b.safetensors"],
)
@pytest.mark.parametrize("by", ["index", "config"])
def test_weights_are_safetensors_inside_the_folder(checkpoint: Path, tmp_path: Path, file: str, by: str) -> None:
    file = file.format(outside=tmp_path)
    whole = checkpoint / "model.safetensors"
    weights = safetensors.torch.load_file(whole)
    safetensors.torch.save_file(weights, tmp_path / "elsewhere.safetensors", {"format": "pt"})
    torch.save(weights, checkpoint / "pytorch_model.bin")
    if by == "index":
        whole.unlink()
        index = {"metadata": {"total_size": 1}, "weight_map": dict.fromkeys(weights, file)}
        (checkpoint / INDEX).write_text(json.dumps(index))
    else:
        changed(checkpoint / "config.json", transformers_weights=file)
    with pytest.raises(CheckpointError, match="only safetensors files inside the checkpoint are read") as refused:
        load_checkpoint(checkpoint)
    assert file in str(refused.value)


def test_weights_in_several_files_are_read(checkpoint: Path) -> None:
    wanted = load_checkpoint(checkpoint)[0]
    (checkpoint / "model.safetensors").unlink()
    wanted.save_pretrained(checkpoint, max_shard_size="10KB")
    assert len(list(checkpoint.glob("*.safetensors"))) > 1
    found = load_checkpoint(checkpoint)[0]
    assert all(torch.equal(value, found.state_dict()[name]) for name, value in wanted.state_dict().items())


@pytest.mark.parametrize("text", ["[", '{"weight_map": 3}', "{}"])
def test_a_damaged_index_is_refused_in_one_line(checkpoint: Path, text: str) -> None:
    (checkpoint / "model.safetensors").unlink()
    (checkpoint / INDEX).write_text(text)
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_checkpoint(checkpoint)


@pytest.mark.slow
def test_without_the_library_what_to_install_is_said(
    run: Any, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    asked = (
        ("audit", "--model", checkpoint, "--corpus", "reviews"),
        ("explain", "A text", "--model", checkpoint),
        ("fine-tune", checkpoint, "--corpus", "reviews", "--to", tmp_path / "new"),
        ("audit", "--fine-tune", checkpoint, "--corpus", "reviews"),
    )
    for command in asked:
        fails_in_one_line(run(*command), "pip install 'attentest[transformers]'")


def test_a_bare_name_is_the_hubs_where_no_folder_and_no_run_has_it(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    runs = tmp_path / "runs"
    (runs / "gpt2-0123").mkdir(parents=True)
    (runs / "gpt2-0123" / "run.json").write_text("{}")
    (tmp_path / "folder").mkdir()
    for name in ("bert-base-uncased", "owner/name", "gpt2"):
        assert is_checkpoint(name)
    for name in ("latest", "folder", "runs/gpt2-0124", "./bert", "/bert", "~/bert", "a/b/c", "two words", ""):
        assert not is_checkpoint(name), name
    assert not is_checkpoint("gpt2", runs)
    assert is_checkpoint("gpt3", runs)
    said = "'bert-base-uncased' is no folder or run here, and it could not be fetched from the hub"
    for command in (("audit", "--corpus", "reviews"), ("explain", "A text")):
        fails_in_one_line(run(*command, "--model", "bert-base-uncased"), said)
