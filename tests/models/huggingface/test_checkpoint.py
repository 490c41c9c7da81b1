"""A name that is no folder: the hub is asked once, and otherwise what is kept here is looked at."""

from __future__ import annotations

from typing import Any

import huggingface_hub
import pytest
import transformers

from attentest.errors import InputError
from attentest.models.huggingface.checkpoint import PATIENCE, load_checkpoint


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    found: dict[str, Any] = {"hub": []}

    def config(name: str, **where: Any) -> None:
        found.update(where)
        raise OSError("nothing here")

    def info(name: str, **how: Any) -> None:
        found["hub"].append(how)
        raise ConnectionError("no network")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", config)
    monkeypatch.setattr(huggingface_hub, "model_info", info)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    return found


def test_without_the_network_the_hub_is_asked_once_and_then_what_is_kept(asked: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="'no-such/model' is no folder or run here"):
        load_checkpoint("no-such/model")
    assert asked == {"hub": [{"timeout": PATIENCE}], "local_files_only": True, "trust_remote_code": False}


def test_offline_the_hub_is_not_asked(asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match="could not be fetched"):
        load_checkpoint("no-such/model")
    assert asked == {"hub": [], "local_files_only": True, "trust_remote_code": False}


def test_a_model_of_the_hub_is_fetched(asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub, "model_info", lambda name, **how: None)
    with pytest.raises(InputError):
        load_checkpoint("there/model")
    assert asked["local_files_only"] is False
