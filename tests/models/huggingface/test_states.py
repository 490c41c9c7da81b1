"""Other states at a site: own ones change nothing, and a small shift does what the gradient says."""

from __future__ import annotations

import pytest
import torch
from tests.conftest import whole
from tests.support.pretrained import tiny, tokenizer_of

from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.models.huggingface.building import build_pretrained

TEXTS = [["word1", "word2", "word3", "word7", "word5"], ["word4", "word6", "word8"]]


def read(site, double=False):
    split = Split.of(["0", "1"], TEXTS, [0, 0])
    vocabulary = Vocabulary.from_split(split)
    model = tiny("bert")
    subject = build_pretrained(model.double() if double else model, tokenizer_of(), vocabulary)
    return subject.at(site).read(whole(Encoded.of(split, vocabulary)))


@pytest.mark.parametrize("site", ["layer 3 head 1", "layer 2", "layer 1 head 2 row all"])
def test_own_states_give_back_the_output_and_others_do_not(site):
    with torch.no_grad():
        reading = read(site)
    both = torch.stack([reading.states, reading.states + 1.0], dim=1)
    given = reading.with_states(both)
    torch.testing.assert_close(given[:, 0], reading.logits, atol=1e-5, rtol=1e-5)
    assert ((given[:, 1] - reading.logits).abs().amax(-1) > 1e-3).all()


def test_one_row_alone_gives_what_the_whole_text_gives():
    with torch.no_grad():
        reading = read("layer 3 head 2")
    states = torch.stack([reading.states * scale for scale in (0.0, 0.5, 2.0)], dim=1)
    narrow = reading.with_states(states)
    assert reading.above.is_narrow
    reading.above.subject.narrow = False
    torch.testing.assert_close(reading.with_states(states), narrow, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("site", ["layer 3 head 1", "layer 3"])
def test_a_small_shift_of_states_does_what_their_gradient_says(site):
    reading = read(site, double=True)
    (slope,) = torch.autograd.grad(reading.logits[:, 0].sum(), reading.states)
    step = 1e-4 * torch.randn(reading.states.shape, dtype=torch.double, generator=torch.manual_seed(0))
    states = reading.states.detach()
    given = reading.with_states(torch.stack([states + step, states - step], dim=1))[..., 0]
    torch.testing.assert_close(given[:, 0] - given[:, 1], 2 * (slope * step).sum((1, 2)), rtol=1e-4, atol=1e-9)
