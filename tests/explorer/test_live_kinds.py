"""Models of other kinds on demand: sentences, pairs, translators, heads that are not affine, checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from starlette.testclient import TestClient
from tests.conftest import made_up_corpus
from tests.explorer.test_live import asked
from tests.support.hierarchy import told
from tests.support.pairs import made_up_questions
from tests.support.pretrained import tiny, tokenizer_of

from attentest.data.corpus import Corpus, Provenance
from attentest.explorer.data.files import RunFiles
from attentest.explorer.live.answers import of_row
from attentest.explorer.live.models import Models
from attentest.explorer.server import explorer
from attentest.models.huggingface.checkpoint import quietly
from attentest.runs.describe import describe_run
from attentest.runs.execute import execute

pytestmark = pytest.mark.slow

ONE: dict[str, Any] = {"challenges": ("uniform",), "limit": 4}
SMALL: dict[str, Any] = {"encoder": "bigru(hidden=6)", "embedding": 8, "epochs": 1, "limit": 6}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def client(root: Path):
    with TestClient(explorer(root, judging=False), base_url="http://127.0.0.1") as made:
        yield made


def address(root: Path, **choices: Any) -> str:
    run = describe_run(**choices)
    execute(run, root)
    return f"/runs/{run.id}"


def put_back(client, at: str, row: int, **more: Any) -> dict[str, Any]:
    """A text's own weights put back: its page, once that gave its prediction."""
    text = client.get(f"{at}/texts/{row}.json").json()
    again = asked(client, at, "reread", row=row, weights=text["attention"], **more)
    assert again["tvd"] == pytest.approx(0, abs=1e-6)
    assert again["jsd"] == pytest.approx(0, abs=1e-6)
    assert again["predicted"] == text["predicted"]
    if text["probabilities"] is not None:
        assert again["probabilities"] == pytest.approx(text["probabilities"], abs=1e-5)
    return text


def test_a_model_of_sentences_is_reread_by_sentences(client, root):
    splits = {name: told(count, seed) for seed, (name, count) in enumerate((("train", 30), ("dev", 8), ("test", 8)))}
    corpus = Corpus("told", ("a", "b"), splits, Provenance("made up", "none"))
    at = address(root, corpus=corpus, structure="hierarchical", challenges=("uniform",), **SMALL)
    text = put_back(client, at, 2)
    assert text["item"] == "sentence"
    read = asked(client, at, "read", tokens=text["tokens"])
    assert read["attention"] == pytest.approx(text["attention"], abs=1e-5)
    fewer = asked(client, at, "read", tokens=text["tokens"][:-1])
    assert len(fewer["attention"]) == len(text["tokens"]) - 1
    words = asked(client, at, "read", row=2, site="word")
    assert len(words["attention"]) == sum(len(sentence.split(" ")) for sentence in text["tokens"])


def test_a_model_of_pairs_is_asked_with_the_second_text(client, root):
    at = address(root, corpus=made_up_questions(40), challenges=("uniform",), tokenizer="whitespace", **SMALL)
    text = put_back(client, at, 1)
    read = asked(client, at, "read", tokens=text["tokens"], second=text["second"])
    assert read["probabilities"] == pytest.approx(text["probabilities"], abs=1e-5)
    alone = client.post(f"{at}/read.json", json={"tokens": text["tokens"]})
    assert alone.status_code == 400
    assert "give a second one" in alone.json()["error"]


def test_a_head_that_is_not_affine_is_decoded_anew(client, root):
    at = address(root, corpus=made_up_questions(40), head="joint_tanh", challenges=("uniform",), **SMALL)
    text = put_back(client, at, 1)
    assert not text["affine"]
    assert text["token_logits"] is None
    even = asked(client, at, "attack", row=1, kind="uniform")
    assert even["tvd"] == pytest.approx(text["uniform"]["change"], abs=1e-6)
    attack = asked(client, at, "attack", row=1, kind="adversary")
    assert attack["tvd"] <= text["epsilon"] + 1e-6
    flip = asked(client, at, "attack", row=1, kind="flip_set")
    assert text["adversary"] is None
    whole = client.get(f"{at}/texts/1.json?live=1").json()
    assert whole["adversary"]["jsd"] == pytest.approx(attack["jsd"], abs=1e-9)
    assert whole["flip_set"] == flip["items"]
    assert whole["uniform"] == text["uniform"]
    assert flip["items"] is None or flip["predicted"] != text["predicted"]


def test_a_translator_shows_source_by_target_and_rereads_one_row(client, root):
    at = address(
        root,
        corpus="dates(train=60, dev=8, test=12)",
        decoder="bahdanau(hidden=8, dropout=0.0)",
        challenges=("uniform", "adversary(steps=5)"),
        **SMALL | {"limit": 3},
    )
    run = RunFiles(root / at.rpartition("/")[2])
    text = put_back(client, at, 2)
    matrix = text["matrix"]
    assert text["step"] == 2
    assert len(matrix["weights"]) == len(matrix["target"]) == len(matrix["rows"])
    assert all(len(row) == len(matrix["source"]) for row in matrix["weights"])
    assert matrix["weights"][2] == text["attention"]
    weights = np.zeros(len(matrix["source"]))
    weights[0] = 1
    found = asked(client, at, "reread", row=2, weights=weights.tolist())
    put = Models().put(run, of_row(run, 2))
    with torch.no_grad():
        every = put.reading.weights.double()[:, None].clone()
        every[2, 0] = 0
        every[2, 0, put.reading.mask[2].nonzero()[0, 0]] = 1
        expected = put.reading.reread(every).double()[2, 0].softmax(-1)
    assert found["predicted"] == int(expected.argmax())
    assert found["top"][0]["probability"] == pytest.approx(float(expected.max()), abs=1e-6)
    even = asked(client, at, "attack", row=2, kind="uniform")
    assert even["tvd"] == pytest.approx(text["uniform"]["change"], abs=1e-6)
    typed = asked(client, at, "read", tokens=matrix["source"])
    assert len(typed["matrix"]["weights"]) == len(typed["matrix"]["target"])


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, tokenizer = tmp_path_factory.mktemp("models") / "tiny", tokenizer_of()
    with quietly():
        tiny("bert", size=len(tokenizer), sharp=1.0).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def test_a_checkpoint_shows_layers_and_heads_and_is_edited_at_any_site(client, root, checkpoint):
    at = address(
        root, corpus=made_up_corpus(count=40), fine_tune=checkpoint, epochs=1, challenges=("uniform",), limit=4
    )
    text = put_back(client, at, 1)
    grid = client.get(f"{at}/texts/1/heads.json").json()
    assert [layer["name"] for layer in grid["layers"]] == ["layer 1", "layer 2", "layer 3"]
    run = RunFiles(root / at.rpartition("/")[2])
    models = Models()
    for layer in grid["layers"]:
        for head in layer["heads"]:
            with torch.no_grad():
                reading = models.put(run, of_row(run, 1), head["site"]).reading
            assert head["weights"] == pytest.approx(reading.weights[0][reading.mask[0]].tolist(), abs=1e-5)
            assert head["on_words"] == pytest.approx(float(reading.on_words[0]), abs=1e-5)
    assert len(grid["rollout"]) == len(text["tokens"])
    of_word = client.get(f"{at}/texts/1/heads.json?word=2").json()
    assert of_word["layers"][0]["heads"][0]["weights"] != grid["layers"][0]["heads"][0]["weights"]
    assert client.get(f"{at}/texts/1/heads.json?word=99").status_code == 400
    site = "layer 1 head 2"
    own = grid["layers"][0]["heads"][1]["weights"]
    assert asked(client, at, "reread", row=1, weights=own, site=site)["tvd"] == pytest.approx(0, abs=1e-5)
    one = [1.0, *[0.0] * (len(own) - 1)]
    edited = asked(client, at, "reread", row=1, weights=one, site=site)
    with torch.no_grad():
        reading = models.put(run, of_row(run, 1), site).reading
        weights = torch.zeros_like(reading.weights)
        weights[0, reading.mask[0].nonzero()[0, 0]] = 1
        expected = reading.reread(weights[:, None])[0, 0].double().softmax(-1)
    assert edited["probabilities"] == pytest.approx(expected.tolist(), abs=1e-5)


def test_a_given_checkpoint_is_asked_only_where_the_user_named_it(client, root, checkpoint):
    at = address(root, corpus=made_up_corpus(count=40), model=checkpoint, classes=["class0", "class1"], **ONE)
    weights = client.get(f"{at}/texts/1.json").json()["attention"]
    refused = client.post(f"{at}/reread.json", json={"row": 1, "weights": weights})
    assert refused.status_code == 409
    assert "--model" in refused.json()["error"]
    named = explorer(root, checkpoints=(checkpoint,), judging=False)
    with TestClient(named, base_url="http://127.0.0.1") as other:
        put_back(other, at, 1)
