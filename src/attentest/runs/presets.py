"""Presets: where a paper's text and its released code differ, both by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from attentest.errors import UnknownName
from attentest.models.parts.decoders import Decoder, Transformer
from attentest.models.parts.encoders import Average, BiGRU, BiLSTM, Convolution, Encoder, NoEncoder
from attentest.tasks import TASKS
from attentest.training.loop import Training

__all__ = ["PRESETS", "Preset", "preset"]


#: Nothing decays, as dropout is there; the smoothing is that of Vaswani et al. 2017, and the rate falls as theirs does.
TRANSLATION = Training(
    epochs=20,
    batch_size=64,
    amsgrad=False,
    weight_decay=0.0,
    balance_classes=False,
    patience=3,
    smoothing=0.1,
    learning_rate=2e-3,
    warmup=250,
)
#: The rate rises to its height over 2,000 steps and falls from there, by the root of the steps (Vaswani et al. 2017).
TRANSFORMER = replace(TRANSLATION, epochs=40, batch_size=128, learning_rate=1e-3, patience=5, warmup=2000)


@dataclass(frozen=True)
class Preset:
    """Defaults for encoders by name, and for training; what the user gives explicitly wins."""

    summary: str
    encoders: dict[str, Callable[[], Encoder]]
    training: Training
    #: Where words without a pretrained vector start: normal or zero.
    missing_vectors: Literal["normal", "zero"] = "normal"
    #: The head of a model of pairs of texts.
    pair_head: str = "joint"
    #: How models that answer questions are trained, where that differs: attention finds the sentence asked for late.
    answer_training: Training | None = None
    #: How models that translate are trained.
    translation_training: Training = field(default_factory=lambda: TRANSLATION)
    transformer_training: Training = field(default_factory=lambda: TRANSFORMER)

    def training_for(self, task: str, decoder: Decoder | None = None) -> Training:
        """How a model of this task, with this decoder where it writes, is trained."""
        if isinstance(decoder, Transformer):
            return self.transformer_training
        if TASKS[task].writes:
            return self.translation_training
        return self.training if task != "answer" or self.answer_training is None else self.answer_training

    def encoder(self, text: str) -> str | Encoder:
        """The preset's encoder when only its name was given."""
        return self.encoders[text]() if text in self.encoders else text


PRESETS: dict[str, Preset] = {
    "attentest": Preset(
        "The project's own defaults, with early stop; answers to questions are trained for up to 20 epochs.",
        {},
        Training(),
        answer_training=Training(epochs=20, patience=8),
    ),
    "paper": Preset(
        "Jain & Wallace 2019 as printed: Adam, ℓ2 on every parameter, 64 filters, 256 ReLU units, 8 epochs.",
        {"convolution": Convolution, "average": Average},
        Training(amsgrad=False, decay_attention=True, patience=0),
        pair_head="joint_tanh",
    ),
    "released": Preset(
        "Jain & Wallace 2019 as their code has it: amsgrad, attention not decayed, 32 filters, 128 tanh units.",
        {
            "convolution": lambda: Convolution(filters=32),
            "average": lambda: Average(hidden=128, activation="tanh"),
        },
        Training(patience=0),
        missing_vectors="zero",
        pair_head="joint_tanh",
    ),
    "tutek": Preset(
        "Tutek & Šnajder 2020: 150 units a direction, Adam, ℓ2 on every parameter, gradient norm clipped at 5. Both "
        "are for the mean over a batch of 32 and the loss here is a sum: 32 times as much. Epochs, early stop, class "
        "weights and vectors are not printed: 8 epochs, patience 2, none; words without a vector start at zero.",
        {"bilstm": lambda: BiLSTM(hidden=150)},
        Training(
            amsgrad=False,
            weight_decay=32e-5,
            decay_attention=True,
            balance_classes=False,
            clip=160.0,
            patience=2,
            select="f1",
        ),
        missing_vectors="zero",
    ),
    "serrano": Preset(
        "Serrano & Smith 2019: GRUs of 50 units a direction, convolutions, or no encoder. Widths of convolutions, "
        "embeddings and training are not known here: Jain & Wallace's, with early stop.",
        {"bigru": BiGRU, "convolution": Convolution, "none": NoEncoder},
        Training(),
    ),
}


def preset(name: str) -> Preset:
    """The preset of this name."""
    if name not in PRESETS:
        raise UnknownName("preset", name, PRESETS)
    return PRESETS[name]
