"""What a subject can do beyond being read and reread is told by its class, and a wrapper claims no more than it has."""

from __future__ import annotations

import pytest
import torch
from tests.conftest import classifier, made_up_split
from tests.explainers.small_models import Plain

from attentest.errors import NotApplicable
from attentest.models.capabilities import Attends, Layered, Randomisable, Replayable, lacking, required
from attentest.models.networks.classifier import Architecture
from attentest.models.wrappers.guided import Guided
from attentest.models.wrappers.shifted import shifted

MODEL, _ = classifier(Architecture(embedding=8), made_up_split())


def test_a_classifier_can_be_replayed_randomised_and_given_other_states_and_has_no_layers() -> None:
    assert lacking((Attends, Randomisable, Replayable), MODEL) is None
    assert lacking((Layered,), MODEL) == f"this is for {Layered.called}"


def test_shifted_embeddings_can_be_replayed_where_the_subject_can() -> None:
    shift = torch.zeros(8)
    assert isinstance(shifted(MODEL, shift), Replayable)
    assert not isinstance(shifted(Plain(MODEL), shift), Replayable)


def test_a_guided_model_claims_nothing_of_the_model_it_is_made_of() -> None:
    guided = Guided(MODEL, MODEL)
    assert not any(isinstance(guided, need) for need in (Attends, Randomisable, Replayable, Layered))
    with pytest.raises(NotApplicable, match="lrp does not apply: this is for models that can be"):
        required(Replayable, guided, "lrp", "Use another.")
