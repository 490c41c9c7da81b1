"""The options of a run: all that a person may choose, each declared once.

The command line, the keyword arguments of ``attentest.audit``, the keys of study files and the reference are made from
the fields of ``Options``. Nothing slow is imported here.
"""

# ruff: noqa: RUF009 (the fields of Options are made by functions)

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attentest.durations import seconds_of
from attentest.errors import InputError, UnknownName, shown

if TYPE_CHECKING:
    from attentest.data.corpus import Corpus

__all__ = ["DEFAULTS", "OPTIONS", "Option", "Options"]

#: What a value that is written as text becomes, by its metavar; all others stay text.
TYPES: Mapping[str, type] = {"N": int, "X": float, "PATH": Path, "": bool}
AUDIT, TRAIN, ALL = ("audit",), ("audit", "train", "deceive"), ("audit", "train", "fine_tune", "deceive")
#: Those of a single model: deceive trains several, each with a term and a seed of its own.
ONE = ("audit", "train", "fine_tune")
#: The kinds of model: trained from nothing, fine-tuned from a checkpoint, of another run, there already, of one's own.
NEW, TUNED, TRAINED = "a new model", "a checkpoint that is fine-tuned", "a trained model"
GIVEN, OWN = "a model that is there already", "a model of your own"
THERE = (TRAINED, GIVEN, OWN)
#: No number that a person chooses is larger, where nothing else is said.
LARGEST = 10**9
#: Why an option has no place in a study file.
ONE_MACHINE = "a study trains its models; audit one that is there already with 'attentest audit'"
BY_NAME = "a study names its challenges: give 'challenges'"


@dataclass(frozen=True)
class Option:
    """What there is to know of an option besides its name and its default."""

    help: str
    group: str
    #: What stands for its value in the help, which also says of which type it is; "": it is a switch.
    metavar: str = "NAME"
    least: int | None = None
    most: int | None = None
    #: What checks its value: ``module:name`` of a table, of a class with such a field, or of a function.
    check: str = ""
    #: The commands that have it.
    commands: tuple[str, ...] = TRAIN
    #: How the command line spells it, where that is not by its name.
    flag: str = ""
    #: Whether it is given more than once.
    many: bool = False
    #: From the command line's text to the value.
    read: Callable[[str], Any] | None = None
    #: The kinds of model on which it has no effect, so that it is refused with them.
    idle: tuple[str, ...] = ()
    #: Why it is not in study files; "": it is.
    no_study: str = ""

    @property
    def type(self) -> type:
        """The type of a plain value."""
        return TYPES.get(self.metavar, str)

    def refuse(self, value: Any, at: str) -> None:
        """Refuse a value that is no number, or out of range, where a number is asked for."""
        kind = {int: Integral, float: Real}.get(self.type)
        if kind is None:
            if isinstance(value, str) and "\0" in value:
                raise InputError(f"{at}{shown(value)} must not hold the character NUL. Leave it out.")
            return
        if isinstance(value, bool) or not isinstance(value, kind):
            raise InputError(f"{at}{shown(value)} must be {'a whole number' if kind is Integral else 'a number'}.")
        number: Any = value
        if self.least is not None and number < self.least:
            raise InputError(f"{at}{shown(value)} must be at least {self.least}.")
        most = LARGEST if self.most is None else self.most
        if not number <= most:  # nor is NaN
            raise InputError(f"{at}{shown(value)} must be at most {most}.")


def _names(text: str) -> tuple[str, ...]:
    return tuple(map(str.strip, text.split(",")))


def _label_words(text: str) -> dict[str, str]:
    """``negative=bad,positive=good`` as classes and the words for them; a word alone is its class's name too."""
    parts = [part.partition("=") for part in text.split(",")]
    return {name.strip(): (word if equals else name).strip() for name, equals, word in parts}


def _option(default: Any, help: str, metavar: str = "NAME", *, group: str, **about: Any) -> Any:  # noqa: A002
    return dataclasses.field(default=default, metadata={"option": Option(help, group, metavar, **about)})


_text = partial(_option, group="Texts", commands=ALL)
_model = partial(_option, group="Model")
_part = partial(_model, idle=(TUNED, *THERE))
_given = partial(_model, commands=AUDIT, idle=(NEW, TUNED, TRAINED), no_study=ONE_MACHINE)
_training = partial(_option, group="Training", idle=THERE)
_tuning = partial(_training, commands=ALL)
_removal = partial(_option, group="Training", commands=(), idle=(TUNED, *THERE))
_asked = partial(_option, group="Examination", commands=AUDIT)
_in_python = partial(_text, commands=(), no_study="name a file: give 'data'")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a person chose for a run; the rest is as usual."""

    corpus: str | Corpus | None = _text(
        None,
        "A corpus by name ('attentest list corpora'); default: reviews, built in.",
        check="attentest.data.corpora:CORPORA",
    )
    data: Any = _text(None, "Your own texts: a CSV, TSV, JSONL or Parquet file.", "PATH")
    test: Any = _text(None, "A second file to test on; default: a part of the first.", "PATH")
    texts: Sequence[Any] | None = _in_python(None, "Texts, or pairs of texts, in the place of data.")
    labels: Sequence[int | str] | None = _in_python(None, "Their labels.")
    text_column: str | None = _text(None, "The column that holds the text; guessed when obvious.")
    label_column: str | None = _text(None, "The column that holds the label; guessed when obvious.")
    second_column: str | None = _text(None, "For pairs: the column of the second text, attention's query.")
    id_column: str | None = _text(None, "The column that holds ids; default: row numbers.")
    tokenizer: Any = _text(
        None,
        "english (spaCy), whitespace, or characters (Chinese, Japanese, Thai …).",
        check="attentest.data.tokenizers:TOKENIZERS",
    )
    max_tokens: int = _text(1000, "Longer texts are left out, counted and named.", "N", least=1)
    truncate: int | None = _text(
        None, "Cut longer texts to their first N tokens, instead of leaving them out.", "N", least=1
    )
    encoding: str | None = _text(
        None,
        "The file's encoding, such as cp1252 or gb18030; default: UTF-8, or a guess.",
        check="attentest.data.files.encodings:encoding_named",
    )
    mark: str | Sequence[str] | None = _text(
        None,
        "Mark a word wherever it stands, the words of a pattern between slashes (/s?he/), or those of a file "
        "(@FILE); repeat for more. Marked words can be hidden, exchanged and compared with what attention shows.",
        "WORD",
        many=True,
        check="attentest.data.marking:listed_words",
    )
    min_frequency: int = _text(
        1, "Texts a word must occur in to enter the vocabulary.", "N", least=1, idle=(TUNED, *THERE), commands=TRAIN
    )
    model: Any = _model(
        None,
        "A model to audit instead of training one: a run's folder, a checkpoint's, or its name on the hub.",
        "PATH",
        commands=AUDIT,
        no_study=ONE_MACHINE,
    )
    fine_tune: str | Path | None = _part(
        None,
        "Fine-tune a Transformers checkpoint instead of training a new model: its folder, or its name in models/ of "
        "the data folder.",
        "PATH",
        commands=("audit", "deceive"),
        idle=THERE,
    )
    classes: Sequence[str] | None = _given(
        None,
        "For a checkpoint: the data's labels in the order of its outputs, where names differ.",
        "A,B,…",
        read=_names,
    )
    label_words: Mapping[str, str] | Sequence[str] | None = _given(
        None,
        "For a language model: the word by which it names each class.",
        "A=X,B=Y",
        read=_label_words,
        idle=(NEW, TUNED, TRAINED, OWN),
    )
    prompt: str | None = _given(
        None, "For a language model: the prompt around the text, '… {text} …'.", "TEXT", idle=(NEW, TUNED, TRAINED, OWN)
    )
    encoder: str = _part(
        "bilstm",
        "bilstm, bigru, lstm, orthogonal_lstm, convolution, average or none; parameters as in 'bilstm(hidden=64)'.",
        check="attentest.models.parts.encoders:ENCODERS",
    )
    structure: str = _part(
        "flat",
        "flat, or hierarchical: words into sentences, sentences into the text (HAN).",
        check="attentest.models.architecture:Architecture",
    )
    attention: str = _part(
        "additive",
        "additive, dot, structured, uniform or random; Luong's are 'dot(scaled=False, mapped=False)' and, general, "
        "'dot(scaled=False)'; init='normal' draws dot's learned query from N(0, 1), and normaliser='sparsemax' or "
        "'entmax15' gives many words exactly nothing.",
        check="attentest.models.parts.attention:ATTENTIONS",
    )
    query: str | None = _part(
        None,
        "For pairs, how the second text is read: separate (default), shared, conditional, or aspect: beside every "
        "word of the first (ATAE-LSTM). For single texts: own, the text's own summary asks.",
        check="attentest.models.architecture:Architecture",
    )
    decoder: str | None = _part(
        None,
        "For translations, what writes them: bahdanau (default), luong, transformer or transformer_base.",
        check="attentest.models.parts.decoders:DECODERS",
    )
    selector: str | None = _part(
        None,
        "Select words and predict from these alone: hardkuma or lei, as in 'hardkuma(share=0.1)'; smuggler is built to "
        "fail.",
        check="attentest.models.parts.selectors:SELECTORS",
    )
    head: str | None = _part(
        None,
        "sigmoid or softmax; for pairs also joint or joint_tanh; default: by the number of classes and texts.",
        check="attentest.models.parts.heads:HEADS",
    )
    embedding: int = _part(300, "Size of the word embeddings.", "N", least=1, most=65_536)
    vectors: str | Path | None = _part(
        None, "Word vectors to start from: GloVe or fastText text, or .npz; 'none' for random ones.", "PATH"
    )
    preset: str = _training(
        "attentest",
        "Defaults of a paper or of its code: 'attentest list presets'.",
        idle=(TUNED, *THERE),
        check="attentest.runs.presets:PRESETS",
    )
    epochs: int | None = _tuning(None, "Largest number of epochs (8; 3 when fine-tuning).", "N", least=1)
    batch_size: int | None = _tuning(None, "Batch size (32).", "N", least=1)
    learning_rate: float | None = _tuning(
        None,
        "Adam's learning rate (0.001; 0.00005 when fine-tuning).",
        "X",
        check="attentest.training.loop:Training",
    )
    clip: float | None = _training(None, "Largest gradient norm; 0: not clipped.", "X", least=0)
    patience: int | None = _training(None, "Epochs without improvement before stopping (3).", "N", least=0)
    smoothing: float | None = _training(
        None, "Label smoothing (0; translations .1).", "X", check="attentest.training.loop:Training"
    )
    warmup: int | None = _training(
        None, "Warm-up steps of the learning rate, which then decays; 0: constant.", "N", least=0
    )
    terms: str | Sequence[str] | None = _training(
        None,
        "A loss term to train with beside the task, as in 'tying(weight=20)'; repeat for more.",
        flag="--term",
        many=True,
        commands=("audit", "train"),
        check="attentest.training.terms:terms_named",
    )
    frozen_embeddings: bool = _training(
        False, "Leave the word embeddings as they begin.", "", flag="--frozen-embeddings", idle=(TUNED, *THERE)
    )
    removal: str | None = _removal(
        None,
        "Remove and retrain: the explainer whose highest tokens are removed from every text.",
        check="attentest.explainers:EXPLAINERS",
    )
    removal_share: float = _removal(0.0, "The share of every text's tokens that is removed.", "X")
    removal_by: str = _removal("mask", "mask: the unknown word takes their place; delete: they are gone.")
    seed: int = _option(
        0, "The seed of everything random.", "N", group="Training", commands=ONE, least=0, most=2**32 - 1
    )
    site: str = _asked(
        "",
        "Which attention is examined: of a hierarchical model sentence (default) or word; of a Transformer: cross "
        "LAYER.HEAD; of a checkpoint: layer 6, or one head, layer 6 head 3.",
    )
    forced: str = _asked(
        "reference", "For translations, whose prefix each step follows: reference or own.", idle=(TUNED, GIVEN, OWN)
    )
    challenges: str | Sequence[str] | None = _asked(
        None,
        "A challenge to run, as in 'adversary(epsilon=0.05)'; repeat for more; default: all.",
        flag="--challenge",
        many=True,
        check="attentest.runs.questions:challenge_named",
    )
    thorough: bool = _asked(
        False,
        "Also train control models (uniform attention, other seeds) and adversaries.",
        "",
        flag="--thorough",
        no_study=BY_NAME,
    )
    limit: int | None = _asked(
        None,
        "Examine a random sample of so many texts, or sentences to translate; 0: all. Default: all, or 50 sentences.",
        "N",
        least=0,
        commands=("audit", "deceive"),
    )
    time: str | float | None = _asked(
        None,
        "Keep within 90s, 5m or 1h, training included, by examining fewer texts; default: no limit.",
        "TIME",
        read=seconds_of,
        no_study="how many texts fit depends on the machine: give 'limit'",
    )

    def __post_init__(self) -> None:
        for name, option in OPTIONS.items():
            if getattr(self, name) is not None:
                option.refuse(getattr(self, name), f"{name}=")

    @classmethod
    def of(cls, choices: Mapping[str, Any], also: Iterable[str] = ()) -> Options:
        """The options that were chosen by name; a name that nobody knows is refused, with the nearest that is known."""
        if unknown := next((name for name in choices if name not in OPTIONS), None):
            raise UnknownName("choice", unknown, {*OPTIONS, *also})
        return cls(**choices)

    def only(self, names: Iterable[str]) -> dict[str, Any]:
        """Those of these names that are options, with their values."""
        return {name: getattr(self, name) for name in names if name in OPTIONS}

    def refuse_idle(self, kind: str) -> None:
        """Refuse what was chosen and has no effect on a model of this kind: it is taken as it is."""
        for name, option in OPTIONS.items():
            if kind not in option.idle or getattr(self, name) == DEFAULTS[name]:
                continue
            if NEW in option.idle and kind != OWN:
                raise InputError(f"{name} is for checkpoints of the Transformers library and models of your own.")
            source = "fine_tune" if kind == TUNED else "model"
            raise InputError(f"{name}={getattr(self, name)} has no effect on {kind}: leave out {source} or {name}.")

    def chosen(self, names: Iterable[str]) -> dict[str, Any]:
        """Those of these names that are not as usual, with their values."""
        return {name: value for name, value in self.only(names).items() if value != DEFAULTS[name]}


#: Every option by its name, and what each is where nobody chooses.
OPTIONS: Mapping[str, Option] = {field.name: field.metadata["option"] for field in dataclasses.fields(Options)}
DEFAULTS: Mapping[str, Any] = {field.name: field.default for field in dataclasses.fields(Options)}
