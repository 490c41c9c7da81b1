"""Models whose layers lie on several devices, or on disk, say what they say on one; halves are loaded as halves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.support.chat import chat_model, chat_tokenizer

from attentest.errors import InputError
from attentest.models.huggingface.attending import Edit
from attentest.sources import auditing
from attentest.sources.auditing import audit_sources, load_language_model
from attentest.sources.case import Case, open_case
from attentest.sources.judging.alternatives import ask_alternatives
from attentest.sources.language import LanguageModel
from attentest.sources.methods import METHODS
from attentest.sources.planting.planted import planted_questions
from attentest.sources.prompt import Prompter

pytest.importorskip("accelerate")
SPREAD = {
    **dict.fromkeys(("model.embed_tokens", "model.layers.0", "model.norm", "model.rotary_emb", "lm_head"), "cpu"),
    **dict.fromkeys(("model.layers.1", "model.layers.2"), "disk"),
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chat")
    chat_model().save_pretrained(folder)
    chat_tokenizer().save_pretrained(folder)
    return folder


@pytest.mark.parametrize("spread", ["auto", SPREAD], ids=["auto", "disk"])
def test_a_model_spread_over_devices_says_what_it_says_on_one(
    checkpoint: Path, tmp_path: Path, spread: str | dict[str, str]
) -> None:
    asked = list(planted_questions(2))
    options: dict[str, Any] = {"held_out": 4, "longest": 4}
    wanted = audit_sources(checkpoint, asked, device="cpu", to=tmp_path / "one", **options)
    model = load_language_model(checkpoint, device_map=spread)
    assert any(weight.is_meta for weight in model.model.parameters()) == (spread is SPREAD)
    found = audit_sources(model, asked, to=tmp_path / "many", **options)
    assert found.folder.name == wanted.folder.name
    for mine, theirs in zip(found.records, wanted.records, strict=True):
        for name, given in theirs.given.items():
            if name == "attn_lrp" and spread is SPREAD:
                assert "fetched" in mine.given[name].not_judged
            else:
                np.testing.assert_allclose(mine.given[name].scores, given.scores, atol=1e-4)
        assert mine.alternatives is not None
        assert theirs.alternatives is not None
        assert mine.alternatives.single == pytest.approx(theirs.alternatives.single, abs=1e-4)


class Away(LanguageModel):
    """A model that keeps the edits of its last pass, to be called with weights of another device."""

    def log_probabilities(
        self,
        prompts: Sequence[Sequence[int]],
        answer: Sequence[int],
        *,
        edits: Mapping[int, Edit] | None = None,
        **o: Any,
    ) -> Any:
        """As ever."""
        self.edits = edits or {}
        return super().log_probabilities(prompts, answer, edits=edits, **o)


def test_edits_work_where_a_layer_lies() -> None:
    prompter = Prompter(chat_tokenizer())
    model = Away(chat_model(), prompter.tokenizer)
    (asked,) = planted_questions(1)
    case = open_case(model, prompter, asked, longest=4)
    tokens = len(case.prompt.ids) + len(case.answer.ids) - 1
    rows = len(case.answer.ids)

    def read(case: Case) -> object:
        return case.attended

    for work in (read, ask_alternatives, METHODS.parse("knockout").score):
        work(case)
        for place, edit in model.edits.items():
            # Tensors without data stand for those of another device: what mixes them with ours is refused.
            weights = torch.empty(1, model.heads[place], rows, tokens, device="meta")
            values = torch.empty(1, model.heads[place], tokens, 8, device="meta")
            allowed = torch.ones(1, 1, tokens, dtype=torch.bool, device="meta")
            new, kept = edit(weights, values, allowed)
            assert new.is_meta
            assert kept.is_meta
            assert new.shape == weights.shape


def test_half_precision_is_loaded_as_such_and_never_widened(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    own = auditing.load_checkpoint

    def loading(*args: Any, **options: Any) -> Any:
        found = own(*args, **options)
        asked.append({weight.dtype for weight in found[0].parameters()})
        return found

    monkeypatch.setattr(auditing, "load_checkpoint", loading)
    model = load_language_model(checkpoint, device="cpu", dtype="bfloat16")
    assert asked == [{torch.bfloat16}]
    assert model.model.dtype == torch.bfloat16


def test_what_cannot_be_spread_is_refused_in_a_line(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="must be one of auto, balanced"):
        load_language_model(checkpoint, device_map="everywhere")
    monkeypatch.setattr(auditing, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install accelerate"):
        load_language_model(checkpoint, device_map="auto")


def test_an_audits_name_holds_the_version_of_its_code_and_not_where_the_model_lies(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list(planted_questions(1))
    options: dict[str, Any] = {"methods": ["attention"], "held_out": 0, "alternatives": False, "longest": 2}
    first = audit_sources(checkpoint, asked, to=tmp_path, **options)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.symlink_to(checkpoint)
    again = audit_sources(elsewhere, asked, to=tmp_path, **options)
    assert again.folder == first.folder
    assert again.model == first.model
    monkeypatch.setattr(auditing, "version_of", lambda *roots: "another")
    assert audit_sources(checkpoint, asked, to=tmp_path, **options).folder != first.folder
