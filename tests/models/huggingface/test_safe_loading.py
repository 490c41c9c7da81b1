"""A checkpoint that is planted: nothing of it runs, nothing is fetched for it, and no file outside it is opened."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import safetensors.torch
import torch
from tests.cli.test_cli import fails_in_one_line, run
from tests.support.pretrained import tiny, tokenizer_of

from attentest import explain
from attentest.errors import AttentestError, CheckpointError
from attentest.models.huggingface.checkpoint import class_names, is_checkpoint, load_checkpoint
from attentest.runs.describe import describe_run

__all__ = ["run"]

INDEX = "model.safetensors.index.json"

PLANTED = """
from pathlib import Path
Path({mark!r}).write_text("ran")
from transformers import BertConfig as Config, BertForSequenceClassification as Model
from transformers import PreTrainedTokenizerFast as Tokenizer
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tokenizer, folder = tokenizer_of(), tmp_path_factory.mktemp("made")
    tiny("bert", size=len(tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def checkpoint(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "model")


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


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json", "tokenizer_config.json", "config.json"])
def test_a_file_that_is_a_link_out_of_the_folder_is_refused(checkpoint: Path, tmp_path: Path, file: str) -> None:
    (checkpoint / file).rename(tmp_path / file)
    (checkpoint / file).symlink_to(tmp_path / file)
    with pytest.raises(CheckpointError, match="link to no file inside of the checkpoint") as refused:
        load_checkpoint(checkpoint)
    assert file in str(refused.value)


def test_a_part_of_the_weights_that_is_a_link_out_of_the_folder_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (checkpoint / "model.safetensors").rename(tmp_path / "elsewhere" / "part.safetensors")
    (checkpoint / "parts").symlink_to(tmp_path / "elsewhere")
    names = safetensors.torch.load_file(tmp_path / "elsewhere" / "part.safetensors")
    (checkpoint / INDEX).write_text(
        json.dumps({"metadata": {}, "weight_map": dict.fromkeys(names, "parts/part.safetensors")})
    )
    with pytest.raises(CheckpointError, match="link to no file inside of the checkpoint"):
        load_checkpoint(checkpoint)


def test_the_hubs_own_store_of_links_to_blobs_is_read(checkpoint: Path, tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "models--a--b" / "blobs", tmp_path / "models--a--b" / "snapshots" / "0123"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for number, path in enumerate(sorted(checkpoint.iterdir())):
        path.rename(blobs / f"{number}")
        (snapshot / path.name).symlink_to(Path("../../blobs") / f"{number}")
    load_checkpoint(snapshot)


@pytest.mark.parametrize("key", ["vocab_file", "tokenizer_file", "fast_tokenizer_files"])
def test_words_are_read_from_the_folder_alone(checkpoint: Path, tmp_path: Path, key: str) -> None:
    outside = tmp_path / "tokenizer.9.9.9.json"
    outside.write_text((checkpoint / "tokenizer.json").read_text().replace("word1", "evil1"))
    for file in (str(outside), "../tokenizer.9.9.9.json"):
        changed(checkpoint / "tokenizer_config.json", **{key: [file] if key.endswith("s") else file})
        with pytest.raises(CheckpointError, match="only files inside the checkpoint are read"):
            load_checkpoint(checkpoint)


def test_a_place_on_its_authors_machine_that_is_not_here_is_passed_over(checkpoint: Path) -> None:
    changed(checkpoint / "tokenizer_config.json", special_tokens_map_file="/root/.cache/nowhere/map.json")
    load_checkpoint(checkpoint)


@pytest.mark.parametrize("where", [(), ("text_config",)])
@pytest.mark.parametrize("method", ["bitsandbytes_4bit", "gptq", "finegrained_fp8", "unheard-of", 3])
def test_quantised_weights_are_refused_before_a_package_is_asked_for_them(
    checkpoint: Path, where: tuple[str, ...], method: object
) -> None:
    settings: dict[str, Any] = {"quantization_config": {"quant_method": method, "load_in_4bit": True}}
    for part in where:
        settings = {part: settings}
    changed(checkpoint / "config.json", **settings)
    with pytest.raises(CheckpointError, match="quantised") as refused:
        load_checkpoint(checkpoint)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("whole", [True, False])
def test_an_adapter_is_refused_before_the_model_it_names_is_fetched(checkpoint: Path, whole: bool) -> None:
    about = {"base_model_name_or_path": "owner/other", "peft_type": "LORA"}
    (checkpoint / "adapter_config.json").write_text(json.dumps(about))
    if not whole:
        (checkpoint / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match="holds an adapter"):
        load_checkpoint(checkpoint)


def test_pickled_weights_are_refused_with_the_reason(checkpoint: Path) -> None:
    whole = checkpoint / "model.safetensors"
    torch.save(safetensors.torch.load_file(whole), checkpoint / "pytorch_model.bin")
    whole.unlink()
    with pytest.raises(CheckpointError, match="pickled ones may run code"):
        load_checkpoint(checkpoint)


def test_a_checkpoint_chooses_no_fused_code_and_no_kernel_for_its_experts(checkpoint: Path) -> None:
    changed(checkpoint / "config.json", _experts_implementation="owner/kernel", fusion_config={"unheard-of": True})
    assert load_checkpoint(checkpoint)[0].config._experts_implementation == "eager"


def names_of(checkpoint: Path) -> tuple[str, ...]:
    model, _ = load_checkpoint(checkpoint)
    return class_names(type(model).__name__, model.config)


#: What config.json may hold that makes no sense: always one line.
SENSELESS: list[dict[str, Any]] = [
    {"vocab_size": "many"},
    {"vocab_size": -3},
    {"num_hidden_layers": 10.5},
    {"num_attention_heads": 0},
    {"num_attention_heads": 7},
    {"hidden_act": "evil"},
    {"hidden_size": None},
    {"id2label": 3},
    {"id2label": [1]},
    {"id2label": {"0": "a"}},
    {"architectures": 3},
    {"architectures": [3]},
    {"model_type": 3},
    {"layer_norm_eps": "nan"},
    {"max_position_embeddings": 10**18},
    {"transformers_weights": 3},
    {"text_config": {"a": 1}},
]


@pytest.mark.parametrize("fields", SENSELESS, ids=str)
def test_settings_that_make_no_sense_are_refused_in_one_line(checkpoint: Path, fields: dict[str, Any]) -> None:
    changed(checkpoint / "config.json", **fields)
    with pytest.raises(AttentestError) as refused:
        names_of(checkpoint)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("fields", [{"num_labels": 10**30}, {"num_labels": 2_000_000}, {"text": {"num_labels": 10**9}}])
def test_classes_that_would_be_named_until_memory_is_full_are_refused(checkpoint: Path, fields: dict[str, Any]) -> None:
    changed(checkpoint / "config.json", **fields)
    with pytest.raises(CheckpointError, match=r"num_labels=\d+.* is more than 1,000,000"):
        load_checkpoint(checkpoint)


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json", "tokenizer.json", INDEX])
@pytest.mark.parametrize("text", ["[" * 100_000, "", "null", "[]"], ids=["deep", "empty", "null", "list"])
def test_files_that_are_no_json_objects_are_refused_in_one_line(checkpoint: Path, file: str, text: str) -> None:
    if file == INDEX:
        (checkpoint / "model.safetensors").unlink()
    (checkpoint / file).write_text(text)
    with pytest.raises(AttentestError) as refused:
        load_checkpoint(checkpoint)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("fields", [{"model_max_length": "x"}, {"model_max_length": [1]}, {"model_input_names": 3.5}])
def test_settings_of_words_that_make_no_sense_are_refused(checkpoint: Path, fields: dict[str, Any]) -> None:
    changed(checkpoint / "tokenizer_config.json", **fields)
    with pytest.raises(CheckpointError, match="has no tokenizer that can be loaded"):
        load_checkpoint(checkpoint)


@pytest.mark.parametrize("how", ["pipe", "folder"])
def test_what_is_no_file_holds_no_words(checkpoint: Path, how: str) -> None:
    (checkpoint / "tokenizer.json").unlink()
    os.mkfifo(checkpoint / "tokenizer.json") if how == "pipe" else (checkpoint / "tokenizer.json").mkdir()
    with pytest.raises(CheckpointError, match="has no tokenizer that can be loaded"):
        load_checkpoint(checkpoint)


def test_a_tokenizer_of_another_model_is_refused(checkpoint: Path) -> None:
    tiny("bert", size=9).save_pretrained(checkpoint)
    with pytest.raises(CheckpointError, match="the model knows 9 of them"):
        explain("word1 word2 word3", checkpoint)


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


DATA = "text,label\n" + "".join(f"word{n} word{n + 1} x,{n % 2}\n" for n in range(8))


@pytest.mark.parametrize(
    ("file", "fields"),
    [
        ("config.json", {"num_hidden_layers": 10**9}),
        ("config.json", {"num_attention_heads": 10**9}),
        ("config.json", {"hidden_size": "big"}),
        ("config.json", {"num_attention_heads": 0}),
        ("config.json", {"id2label": {"0": "a", "7": "b"}}),
        ("config.json", {"id2label": [[], []]}),
        ("config.json", {"max_position_embeddings": 2_000_000_000}),
        ("config.json", {"max_position_embeddings": [1]}),
        ("config.json", {"architectures": [1]}),
        ("config.json", {"architectures": 7}),
        ("config.json", {"model_type": None}),
        ("config.json", {"torch_dtype": "x"}),
        ("tokenizer_config.json", {"model_max_length": [3]}),
        ("tokenizer_config.json", {"model_max_length": "long"}),
        ("tokenizer_config.json", {"pad_token": None}),
        ("tokenizer_config.json", {"tokenizer_class": 5}),
        ("tokenizer.json", {"model": {"type": "WordPiece", "vocab": {}, "unk_token": "<unk>"}}),
        ("tokenizer.json", {"model": {"type": "Nothing"}}),
    ],
)
def test_whatever_a_checkpoint_says_is_used_or_refused_in_one_line(run, checkpoint, tmp_path, file, fields) -> None:
    changed(checkpoint / file, **fields)
    (tmp_path / "data.csv").write_text(DATA)
    code, _, err = run(
        "audit", "--model", "model", "--data", "data.csv", "--tokenizer", "whitespace", "--challenge", "uniform"
    )
    if code != 0:  # what the library takes anyway may be audited
        fails_in_one_line((code, "", err), "")


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("content", ["[" * 100_000, "", "null", "3", '{"a":' * 3000])
def test_json_that_is_none_is_refused_in_one_line(run, checkpoint, tmp_path, file, content) -> None:
    (checkpoint / file).write_text(content)
    (tmp_path / "data.csv").write_text(DATA)
    fails_in_one_line(run("audit", "--model", "model", "--data", "data.csv", "--tokenizer", "whitespace"), "model")


def test_words_of_another_model_are_refused_in_one_line(run, checkpoint, tmp_path) -> None:
    vocab = {f"w{n}": n for n in range(5000)}
    words = json.loads((checkpoint / "tokenizer.json").read_text())
    words["model"]["vocab"] |= {f"x{n}": n + 4000 for n in vocab.values()}
    words["model"]["vocab"]["x"] = 9000
    (checkpoint / "tokenizer.json").write_text(json.dumps(words))
    (tmp_path / "data.csv").write_text(DATA)
    said = "they do not belong together"
    fails_in_one_line(run("audit", "--model", "model", "--data", "data.csv", "--tokenizer", "whitespace"), said)


def test_links_in_a_circle_are_refused(run, checkpoint, tmp_path) -> None:
    (checkpoint / "tokenizer_config.json").unlink()
    (checkpoint / "tokenizer_config.json").symlink_to("tokenizer_config.json")
    (tmp_path / "data.csv").write_text(DATA)
    fails_in_one_line(run("audit", "--model", "model", "--data", "data.csv"), "is a link to no file inside")


def test_replacements_that_swell_a_text_without_end_are_refused(checkpoint: Path) -> None:
    swell = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 3000}
    known = json.loads((checkpoint / "tokenizer.json").read_text())
    changed(checkpoint / "tokenizer.json", normalizer={"type": "Sequence", "normalizers": [swell] * 4})
    with pytest.raises(CheckpointError, match="81,000,000,000,000 times as long") as refused:
        load_checkpoint(checkpoint)
    assert "\n" not in str(refused.value)
    usual = [{**swell, "content": "▁"}, {**swell, "content": "' '"}]
    (checkpoint / "tokenizer.json").write_text(json.dumps(known))
    changed(checkpoint / "tokenizer.json", normalizer={"type": "Sequence", "normalizers": usual})
    load_checkpoint(checkpoint)


def test_a_pattern_that_a_tokenizer_gives_up_on_is_refused_in_a_line(checkpoint: Path) -> None:
    split = {"type": "Split", "pattern": {"Regex": r"(a+)+$|(\w+\s?)+!"}, "behavior": "Isolated", "invert": False}
    changed(checkpoint / "tokenizer.json", pre_tokenizer=split)
    with pytest.raises(CheckpointError, match="tokenizer gives up on a text") as refused:
        attentest_audit(checkpoint, ["a" * 60 + " b"] * 4)
    assert "\n" not in str(refused.value)


def attentest_audit(checkpoint: Path, texts: list[str]) -> None:
    describe_run(str(checkpoint), texts=texts, labels=[0, 1] * (len(texts) // 2), challenges=["uniform"])
