from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.support.hierarchy import told

from attentest.data.batches import Encoded
from attentest.data.vocabulary import Vocabulary
from attentest.models.architecture import Architecture
from attentest.models.network import build_network
from attentest.models.parts.encoders import ENCODERS
from attentest.training.loop import Training, fit, predict


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ["bigru(hidden=8)", "convolution(filters=4)", "none"])
def test_a_small_hierarchical_model_learns_made_up_reviews_and_attends_to_the_telling_sentence(encoder):
    train, dev = told(300, 0), told(80, 1)
    vocabulary = Vocabulary.from_split(train)
    architecture = Architecture(ENCODERS.parse(encoder), embedding=12, structure="hierarchical")
    model = build_network(architecture, len(vocabulary), 2, torch.Generator().manual_seed(0))
    encoded = Encoded.of(dev, vocabulary)
    fit(model, Encoded.of(train, vocabulary), encoded, Training(epochs=8, learning_rate=0.02), seed=0)
    assert np.mean(predict(model, encoded).argmax(-1) == encoded.labels) > 0.9
    with torch.no_grad():
        batch = encoded.batch(np.arange(len(encoded)))
        reading = model.read(batch)
    words = torch.isin(batch.text.tokens, torch.tensor([vocabulary.index[word] for word in ("awful", "lovely")]))
    telling = reading.pooled(words.long()) > 0
    assert (reading.weights * telling).sum(-1).mean() > 1.5 / reading.mask.sum(-1).float().mean()


def test_weight_decay_may_spare_both_attentions():
    architecture = Architecture(ENCODERS.parse("bigru(hidden=4)"), embedding=6, structure="hierarchical")
    model = build_network(architecture, 10, 2, torch.Generator().manual_seed(0))
    spared = {id(parameter) for parameter in model.attention_parameters()}
    named = {name for name, parameter in model.named_parameters() if id(parameter) in spared}
    assert {name.split(".")[0] for name in named} == {"attention", "word_attention"}
