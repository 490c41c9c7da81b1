"""What a run's model says on demand is what the challenges and ``explain`` computed."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest

import attentest
from attentest.explorer.safety import LONGEST_TEXT, MOST_TOKENS

pytestmark = pytest.mark.slow


def asked(client, at, question, **body):
    answer = client.post(f"{at}/{question}.json", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def softmax(logits):
    e = np.exp(logits - logits.max())
    return e / e.sum()


def jsd(p, q):
    m = (p + q) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(x > 0, x * np.log(x / m), 0).sum() for x in (p, q)]
    return sum(parts) / 2


def test_a_page_of_ones_own_text_has_a_twin(client, at):
    text = 'it was "good" & <b>bad</b>'
    page = client.get(f"{at}/read", params={"text": text}).text
    (twin,) = re.findall(r'<link rel="alternate" type="application/json" href="([^"]+)"', page)
    assert client.get(html.unescape(twin)).json() == asked(client, at, "read", text=text)
    assert client.get(f"{at}/read.json").json()["text"] is None
    assert client.get(f"{at}/read.json?text=good&step=x").status_code == 404


def test_own_weights_put_back_give_the_prediction(client, at):
    for row in (0, 5, 11):
        text = client.get(f"{at}/texts/{row}.json").json()
        again = asked(client, at, "reread", row=row, weights=text["attention"])
        assert again["probabilities"] == pytest.approx(text["probabilities"], abs=1e-9)
        assert again["predicted"] == text["predicted"]
        assert again["jsd"] == pytest.approx(0, abs=1e-9)
        assert again["tvd"] == pytest.approx(0, abs=1e-9)


def test_other_weights_give_what_per_token_logits_give(client, at):
    rng = np.random.default_rng(1)
    for row in (1, 4, 9):
        text = client.get(f"{at}/texts/{row}.json").json()
        assert text["affine"]
        weights = rng.dirichlet(np.ones(len(text["tokens"])))
        found = asked(client, at, "reread", row=row, weights=(3 * weights).tolist())
        expected = softmax(weights @ np.array(text["token_logits"]))
        assert found["probabilities"] == pytest.approx(expected.tolist(), abs=1e-7)
        assert found["jsd"] == pytest.approx(jsd(weights, np.array(text["attention"])), abs=1e-7)
        change = np.abs(expected - np.array(text["probabilities"])).sum() / 2
        assert found["tvd"] == pytest.approx(change, abs=1e-7)


def test_attacks_are_those_of_the_findings(client, at, run):
    tables = {name: run.findings(run.named(name)).table.to_pylist() for name in ("adversary", "permutation", "uniform")}
    smallest = [row for row in run.findings("flip_sets").table.to_pylist() if row["order"] == "smallest"]
    for row in (2, 7):
        attack = asked(client, at, "attack", row=row, kind="adversary")
        found = tables["adversary"][row]
        assert attack["lower"] == pytest.approx(found["lower"], abs=1e-6)
        assert attack["jsd"] == pytest.approx(found["lower"], abs=1e-6)
        assert attack["tvd"] == pytest.approx(found["adversarial_change"], abs=1e-6)
        assert attack["weights"] == pytest.approx(found["adversarial_attention"], abs=1e-6)
        assert attack["probabilities"] == pytest.approx(found["adversarial_probabilities"], abs=1e-7)
        shuffled = asked(client, at, "attack", row=row, kind="permutation")
        assert shuffled["median_change"] == pytest.approx(tables["permutation"][row]["median_change"], abs=1e-6)
        assert sorted(shuffled["weights"]) == pytest.approx(
            sorted(client.get(f"{at}/texts/{row}.json").json()["attention"]), abs=1e-6
        )
        even = asked(client, at, "attack", row=row, kind="uniform")
        assert even["change"] == pytest.approx(tables["uniform"][row]["change"], abs=1e-6)
        assert even["tvd"] == pytest.approx(even["change"], abs=1e-7)
        flip = asked(client, at, "attack", row=row, kind="flip_set")
        assert flip["items"] == smallest[row]["items"] == client.get(f"{at}/texts/{row}.json").json()["flip_set"]
        if flip["items"]:
            assert flip["predicted"] != client.get(f"{at}/texts/{row}.json").json()["predicted"]


def test_a_text_is_read_as_the_audit_and_explain_read_it(client, at, run):
    text = client.get(f"{at}/texts/3.json").json()
    read = asked(client, at, "read", row=3)
    for name in ("tokens", "predicted", "label"):
        assert read[name] == text[name]
    for name in ("attention", "probabilities"):
        assert read[name] == pytest.approx(text[name], abs=1e-6)
    assert read["explainers"]["gradient"] == pytest.approx(text["explainers"]["gradient"], abs=1e-5)
    typed = asked(client, at, "read", text="word1 telling1 nonsense word3")
    made = attentest.explain("word1 telling1 nonsense word3", run.path.name, methods="attention", runs=run.path.parent)
    assert typed["tokens"] == list(made.tokens)
    assert typed["unknown"] == list(made.unknown)
    assert typed["probabilities"] == pytest.approx(list(made.probabilities), abs=1e-6)
    assert typed["attention"] == pytest.approx(list(made.scores["attention"]), abs=1e-6)
    assert typed["label"] is None
    shorter = asked(client, at, "read", tokens=text["tokens"][1:])
    assert shorter["tokens"] == text["tokens"][1:]
    attack = asked(client, at, "attack", tokens=text["tokens"][1:], kind="adversary")
    assert attack["tvd"] <= text["epsilon"] + 1e-9


@pytest.mark.parametrize(
    ("question", "body", "status", "says"),
    [
        ("reread", {"row": 0, "weights": [1.0]}, 400, "weights must be"),
        ("reread", {"row": 0, "weights": "x"}, 400, "weights must be"),
        ("reread", {"text": "good film", "weights": [0.0, 0]}, 400, "weights must not all be zero"),
        ("reread", {"row": 9999, "weights": []}, 404, "Row 9999"),
        ("reread", {"row": "0", "weights": []}, 400, "whole number"),
        ("reread", {"weights": [1]}, 400, "row, tokens and text"),
        ("reread", {"row": 0, "weights": [], "site": "layer 9"}, 400, "layer 9"),
        ("read", {"text": "x" * (LONGEST_TEXT + 1)}, 413, "characters"),
        ("read", {"tokens": ["a"] * (MOST_TOKENS + 1)}, 413, "tokens"),
        ("read", {"tokens": ["a", ""]}, 400, "empty"),
        ("read", {"tokens": [1]}, 400, "list of strings"),
        ("read", {"text": "  "}, 400, "empty"),
        ("read", {"text": "a b", "second": "c"}, 400, "leave the second out"),
        ("attack", {"row": 0, "kind": "magic"}, 404, "magic"),
    ],
)
def test_what_cannot_be_asked_is_one_clear_line(client, at, question, body, status, says):
    answer = client.post(f"{at}/{question}.json", json=body)
    assert answer.status_code == status
    assert says in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_weights_whose_sum_no_number_can_be_are_scaled_all_the_same(client, at):
    huge, even = (
        client.post(f"{at}/reread.json", json={"text": "word1 word2", "weights": [one, one]}) for one in (1e308, 1.0)
    )
    assert huge.status_code == even.status_code == 200
    assert huge.json() == even.json()


def test_weights_that_are_no_numbers_and_bodies_that_are_no_json_are_refused(client, at):
    for body in (
        b'{"row": 0, "weights": [NaN]}',
        b'{"row": 0, "weights": [-1, 2]}',
        b"[1]",
        b"{",
        b"\xff",
        b"[" * 9000,
    ):
        answer = client.post(f"{at}/reread.json", content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 400
    big = client.post(f"{at}/read.json", content=b"x" * 1_000_001, headers={"content-type": "application/json"})
    assert big.status_code == 413


def test_hostile_tokens_are_words_like_others(client, at):
    tokens = ["<script>alert(1)</script>", "\u202eevil", "nul\x00", "👩‍👩‍👧", "x" * 5000]
    assert asked(client, at, "read", tokens=tokens)["tokens"] == tokens
    answer = client.post(
        f"{at}/read.json", content=b'{"tokens": ["\\ud800"]}', headers={"content-type": "application/json"}
    )
    assert answer.status_code == 400


def test_a_run_without_a_model_says_so(client):
    answer = client.post("/runs/hostile-2/reread.json", json={"row": 0, "weights": [1]})
    assert answer.status_code in (400, 409, 503)
    assert "\n" not in answer.json()["error"]
