from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tests.conftest import classifier, made_up_corpus, made_up_split, whole

from attentest.data.batches import Encoded
from attentest.data.vocabulary import Vocabulary
from attentest.errors import CheckpointError, InputError
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.training.checkpoints import load_network, load_vocabulary, save_network, save_vocabulary
from attentest.training.loop import Training, best_epoch, fit, predict
from attentest.training.objectives import CrossEntropy, class_balance

SMALL = Architecture(ENCODERS.parse("bilstm(hidden=8)"), ATTENTIONS.parse("additive"), None, 12)


def trained(training: Training, classes: int = 2, seed: int = 0, architecture: Architecture = SMALL):
    corpus = made_up_corpus(classes)
    vocabulary = Vocabulary.from_split(corpus["train"])
    model = Classifier(architecture, len(vocabulary), classes, torch.Generator().manual_seed(seed))
    encoded = {name: Encoded.of(split, vocabulary) for name, split in corpus.splits.items()}
    epochs = fit(model, encoded["train"], encoded["dev"], training, seed=seed)
    return model, encoded, epochs


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_training_learns_a_telling_word(classes):
    model, encoded, _ = trained(Training(epochs=30, batch_size=8, learning_rate=5e-3, patience=0), classes)
    right = predict(model, encoded["test"]).argmax(-1) == encoded["test"].labels
    assert right.mean() > 0.9


def test_the_same_seed_gives_the_same_model_to_the_bit_and_another_seed_another():
    first, encoded, _ = trained(Training(epochs=2))
    again, _, _ = trained(Training(epochs=2))
    other, _, _ = trained(Training(epochs=2), seed=1)
    p, q, r = (predict(m, encoded["test"]) for m in (first, again, other))
    assert np.array_equal(p, q)
    assert not np.array_equal(p, r)


def test_the_model_is_left_at_its_best_epoch():
    model, encoded, epochs = trained(Training(epochs=6, select="accuracy", patience=0, learning_rate=2e-2))
    reached = (predict(model, encoded["dev"]).argmax(-1) == encoded["dev"].labels).mean()
    assert reached == pytest.approx(best_epoch(epochs).score)
    assert best_epoch(epochs).score == max(e.score for e in epochs)


def test_training_stops_when_dev_has_not_improved_for_as_long_as_patience_lasts():
    _, _, epochs = trained(Training(epochs=60, patience=2, learning_rate=2e-2))
    assert len(epochs) < 60
    assert len(epochs) - best_epoch(epochs).number == 2


@pytest.mark.parametrize("decayed", [True, False])
def test_weight_decay_spares_attention_unless_told_otherwise(monkeypatch, decayed):
    seen, adam = [], torch.optim.Adam

    def spy(groups, **options):
        seen.extend(groups)
        return adam(groups, **options)

    monkeypatch.setattr(torch.optim, "Adam", spy)
    model, _, _ = trained(Training(epochs=1, decay_attention=decayed))
    decay = {id(p): group["weight_decay"] for group in seen for p in group["params"]}
    assert decay.keys() == {id(p) for p in model.parameters()}
    for name, parameter in model.named_parameters():
        assert decay[id(parameter)] == (1e-5 if decayed or not name.startswith("attention") else 0.0)


def test_clipping_bounds_the_step():
    free, encoded, _ = trained(Training(epochs=1))
    clipped, _, _ = trained(Training(epochs=1, clip=1e-9))
    assert not np.allclose(predict(free, encoded["dev"]), predict(clipped, encoded["dev"]))


def test_dev_is_read_in_halves_where_memory_runs_out(monkeypatch):
    model, encoded, _ = trained(Training(epochs=1))
    dev = encoded["test"]
    expected, read, tried = predict(model, dev), model.read, []

    def little(batch):
        tried.append(len(batch))
        if len(batch) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return read(batch)

    monkeypatch.setattr(model, "read", little)
    assert predict(model, dev) == pytest.approx(expected, abs=1e-6)
    assert max(tried) > 3
    assert sum(count > 3 for count in tried) < len(tried) / 2  # what did not fit is not tried again

    def none(batch):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(model, "read", none)
    with pytest.raises(torch.OutOfMemoryError):
        predict(model, dev)


def test_class_balance_makes_every_class_count_the_same():
    labels = torch.tensor([0] * 30 + [1] * 10)
    weights = class_balance(labels, 2)
    assert float(weights[0] * 30) == pytest.approx(float(weights[1] * 10))


def test_cross_entropy_of_one_sigmoid_is_the_papers_binary_cross_entropy():
    split = made_up_split(low=2)
    model, encoded = classifier(SMALL, split)
    batch = whole(encoded)
    reading = model.read(batch)
    expected = torch.nn.functional.binary_cross_entropy_with_logits(
        reading.logits[:, 1], batch.labels.float(), reduction="sum"
    )
    assert torch.allclose(CrossEntropy()(reading, batch), expected, atol=1e-4)


@pytest.mark.parametrize("fields", [{"epochs": 0}, {"learning_rate": 0.0}, {"select": "luck"}, {"batch_size": 0}])
def test_impossible_training_is_refused_in_words(fields):
    with pytest.raises(InputError, match=next(iter(fields))):
        Training(**fields)


def test_a_checkpoint_reloads_to_the_same_outputs(tmp_path):
    split = made_up_split(low=2)
    model, encoded = classifier(SMALL, split)
    save_network(tmp_path / "model.safetensors", model, SMALL)
    again, architecture = load_network(tmp_path / "model.safetensors", torch.device("cpu"))
    assert architecture == SMALL
    assert torch.equal(model.read(whole(encoded)).logits, again.read(whole(encoded)).logits)


def test_the_same_model_is_saved_as_the_same_bytes(tmp_path):
    model, _ = classifier(SMALL, made_up_split())
    for name in ("one", "two"):
        save_network(tmp_path / name, model, SMALL)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("kept", [0, 7, 100, 1000])
def test_a_truncated_checkpoint_is_named_in_one_line(tmp_path, kept):
    model, _ = classifier(SMALL, made_up_split())
    path = tmp_path / "model.safetensors"
    save_network(path, model, SMALL)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(CheckpointError, match="truncated") as error:
        load_network(path, torch.device("cpu"))
    assert "\n" not in str(error.value)


def test_a_foreign_checkpoint_is_named(tmp_path):
    save_file({"weight": torch.zeros(2)}, tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match="foreign"):
        load_network(tmp_path / "model.safetensors", torch.device("cpu"))


def test_a_checkpoint_whose_tensors_do_not_fit_is_named(tmp_path):
    about = {"architecture": SMALL.to_record(), "words": 9, "classes": 2}
    save_file({"weight": torch.zeros(2)}, tmp_path / "m", metadata={"attentest": json.dumps(about)})
    with pytest.raises(CheckpointError, match="does not hold the model it describes"):
        load_network(tmp_path / "m", torch.device("cpu"))


def test_a_missing_checkpoint_is_named(tmp_path):
    with pytest.raises(CheckpointError, match="does not exist"):
        load_network(tmp_path / "none", torch.device("cpu"))


def test_a_vocabulary_survives_and_a_broken_one_is_named(tmp_path):
    vocabulary = Vocabulary(("<pad>", "<unk>", "<sos>", "<eos>", "naïve", '"quoted"'))
    save_vocabulary(tmp_path / "v.json", vocabulary)
    assert load_vocabulary(tmp_path / "v.json") == vocabulary
    (tmp_path / "v.json").write_text("[1, 2]")
    with pytest.raises(CheckpointError, match="not a vocabulary"):
        load_vocabulary(tmp_path / "v.json")


@pytest.mark.slow
def test_training_that_was_killed_after_an_epoch_goes_on_to_the_same_weights(tmp_path):
    from attentest.training.resume import Resume

    class Killed(Exception):
        pass

    def model_and_data():
        corpus = made_up_corpus()
        vocabulary = Vocabulary.from_split(corpus["train"])
        architecture = Architecture(ENCODERS.parse("bilstm(hidden=6)"), embedding=8)
        model = Classifier(architecture, len(vocabulary), 2, torch.Generator().manual_seed(0))
        return model, *(Encoded.of(corpus[name], vocabulary) for name in ("train", "dev"))

    training = Training(epochs=5, patience=0, clip=1.0)
    whole, train, dev = model_and_data()
    expected = fit(whole, train, dev, training, seed=3)
    for killed_after in (1, 2, 4):
        heard: list[str] = []
        resume = Resume(tmp_path / f"{killed_after}.safetensors", "key", 0.0, heard.append)
        save = resume.save

        def stop(*given, save=save, killed_after=killed_after):
            save(*given)
            if len(given[-1]) == killed_after:
                raise Killed

        resume.save = stop  # type: ignore[method-assign]
        model, train, dev = model_and_data()
        with pytest.raises(Killed):
            fit(model, train, dev, training, seed=3, resume=resume)
        again, train, dev = model_and_data()
        epochs = fit(again, train, dev, training, seed=3, resume=Resume(resume.path, "key", 0.0, heard.append))
        assert heard == [f"Going on after epoch {killed_after}."]
        assert [e.score for e in epochs] == [e.score for e in expected]
        for name, value in whole.state_dict().items():
            assert torch.equal(value, again.state_dict()[name])


def test_a_checkpoint_of_another_training_or_a_broken_one_is_not_used(tmp_path):
    from attentest.training.resume import Resume

    corpus = made_up_corpus()
    vocabulary = Vocabulary.from_split(corpus["train"])
    train, dev = (Encoded.of(corpus[name], vocabulary) for name in ("train", "dev"))

    def fresh():
        architecture = Architecture(ENCODERS.parse("average(hidden=6)"), embedding=8)
        return Classifier(architecture, len(vocabulary), 2, torch.Generator().manual_seed(0))

    expected = fresh()
    fit(expected, train, dev, Training(epochs=3), seed=0, resume=Resume(tmp_path / "a", "one", 0.0))
    assert (tmp_path / "a").is_file()
    other = fresh()
    fit(other, train, dev, Training(epochs=3), seed=0, resume=Resume(tmp_path / "a", "two", 0.0))
    (tmp_path / "b").write_bytes(b"nonsense")
    heard: list[str] = []
    broken = fresh()
    fit(broken, train, dev, Training(epochs=3), seed=0, resume=Resume(tmp_path / "b", "one", 0.0, heard.append))
    assert "cannot be used" in heard[0]
    for name, value in expected.state_dict().items():
        assert torch.equal(value, other.state_dict()[name])
        assert torch.equal(value, broken.state_dict()[name])


def test_no_flipped_bit_of_a_state_gives_other_weights(tmp_path):
    from attentest.training.resume import Resume

    corpus = made_up_corpus()
    vocabulary = Vocabulary.from_split(corpus["train"])
    train, dev = (Encoded.of(corpus[name], vocabulary) for name in ("train", "dev"))

    def trained(path, heard):
        architecture = Architecture(ENCODERS.parse("average(hidden=6)"), embedding=8)
        model = Classifier(architecture, len(vocabulary), 2, torch.Generator().manual_seed(0))
        resume = Resume(path, "key", 0.0, heard.append)
        fit(model, train, dev, Training(epochs=2, patience=0), seed=0, resume=resume)
        return model.state_dict()

    expected = trained(tmp_path / "state", [])
    state = (tmp_path / "state").read_bytes()
    for place in np.random.default_rng(0).integers(0, 8 * len(state), 40).tolist():
        data, heard = bytearray(state), []
        data[place // 8] ^= 1 << place % 8
        (tmp_path / "flipped").write_bytes(data)
        found = trained(tmp_path / "flipped", heard)
        assert all(torch.equal(value, found[name]) for name, value in expected.items()), place
        assert "cannot be used" in heard[0] or "Going on" in heard[0]
