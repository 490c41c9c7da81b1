"""Checkpoints of the Transformers library: a folder (or a name on its hub) to a model and its tokenizer."""

from __future__ import annotations

import contextlib
import hashlib
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from logging import CRITICAL, getLogger
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

from attentest.errors import CheckpointError, InputError, shown
from attentest.memory import at_most
from attentest.models.huggingface.safe_loading import (
    NO_CODE,
    SAFETENSORS,
    brings_code,
    library,
    plain,
    refuse_endless_classes,
    refuse_foreign_files,
    refuse_foreign_settings,
    refuse_foreign_weights,
    refuse_swelling_words,
    tokenizing,
)
from attentest.store.folder import runs_in

if TYPE_CHECKING:
    import torch

__all__ = [
    "Checkpoint",
    "DeviceMap",
    "class_names",
    "fetched",
    "find_checkpoint",
    "fingerprint",
    "is_checkpoint",
    "load_checkpoint",
    "quietly",
]

#: How classes of language models end: decoder-only, and encoder–decoder.
CAUSAL = ("ForCausalLM", "LMHeadModel")
GENERATING = ("ForConditionalGeneration", "MTModel")
#: How settings end that say how many layers, or heads, there are; and how many there may be.
LAYERS, MOST_LAYERS = ("layers", "layer", "heads", "head"), 4096
#: Bytes of the largest weights, where they are not here to be measured; and what any loading may take beside them.
LARGEST, ALLOWANCE = 100 << 30, 1 << 30
#: Seconds that the hub has for its first answer.
PATIENCE = 5.0


#: Where a model's modules go, as Transformers takes it: ``auto``, or a device by module.
DeviceMap = str | Mapping[str, str | int]
#: A name on the hub, as in ``gpt2`` or ``google-bert/bert-base-uncased``.
ON_HUB = re.compile(r"(?!runs/)(?:\w[\w.-]*/)?\w[\w.-]*")


def is_checkpoint(model: str | Path, runs: Path | None = None) -> bool:
    """Whether this is a folder that Transformers wrote or, where no folder and no run has it, may be a hub's name."""
    path = Path(model)
    if path.exists():
        return (path / "config.json").is_file() and not (path / "run.json").is_file()
    if runs is not None and any(run.path.name.startswith(str(model)) for run in runs_in(runs)):
        return False
    return str(model) != "latest" and ON_HUB.fullmatch(str(model)) is not None


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint of which only config.json was read: what that refuses is refused before weights are loaded."""

    name: str
    config: Any
    #: The class of the Transformers library that loads it.
    kind: str
    #: The classes of a new head to be put on it; None: it has one, or is a language model.
    new_classes: tuple[str, ...] | None
    #: Whether the library must look among what it has kept on this machine.
    kept: bool

    @property
    def made(self) -> str:
        """The class that it holds, by name."""
        return str((self.config.architectures or (self.kind,))[0])

    def tokenizer(self) -> Any:
        """Its own tokenizer."""
        with quietly():
            try:
                _refuse_no_tokenizer(Path(self.name))
                refuse_swelling_words(self.name, kept=self.kept)
                found = library().AutoTokenizer.from_pretrained(self.name, local_files_only=self.kept, **NO_CODE)
                with tokenizing():
                    found("a b")  # settings of a wrong type show when it is used
                return found
            except CheckpointError:
                raise
            except Exception as error:
                raise CheckpointError(
                    f"{self.name} has no tokenizer that can be loaded ({_first_line(error)}). Save the model's "
                    "tokenizer beside it: tokenizer.save_pretrained(folder)."
                ) from error

    def model(self, *, dtype: str = "float32", device_map: DeviceMap | None = None) -> Any:
        """The model with its weights, in single precision or another; ``device_map`` spreads it over devices."""
        import torch

        config = plain(self.config)
        if self.new_classes is not None:
            config.id2label = dict(enumerate(self.new_classes))
            config.label2id = {label: number for number, label in config.id2label.items()}
        about: dict[str, Any] = {"config": config, "output_loading_info": True, **SAFETENSORS}
        about |= {"dtype": getattr(torch, dtype)} | ({} if device_map is None else {"device_map": device_map})
        with quietly():
            refuse_foreign_weights(self.name, config, kept=self.kept)
            try:
                kind = getattr(library(), self.kind)
                with at_most(_memory(Path(self.name))):
                    loaded, found = kind.from_pretrained(self.name, **about, local_files_only=self.kept)
            except Exception as error:  # whatever a library makes of settings that make no sense
                raise CheckpointError(
                    f"{self.name}: its weights cannot be loaded ({_first_line(error)}). They must be whole, and "
                    "safetensors: save the model again with save_pretrained, or copy the folder again."
                ) from error
        missing = sorted(found["missing_keys"])
        if missing and self.new_classes is None:
            raise CheckpointError(
                f"{self.name} lacks weights that {type(loaded).__name__} needs ({', '.join(missing[:3])}"
                f"{', …' if len(missing) > 3 else ''}): it was saved without them. Save the whole model again."
            )
        return loaded


def find_checkpoint(
    model: str | Path, *, language: bool = False, new_classes: tuple[str, ...] | None = None
) -> Checkpoint:
    """The checkpoint as its config.json has it; ``language``: as a language model, to be asked for words.

    ``new_classes`` puts a new head of so many outputs on it, to be trained.
    """
    name, transformers = str(model), library()
    with quietly():
        # Without the network the library tries again and again, file by file; what it has kept it finds at once.
        kept = not Path(name).exists() and not _on_hub(name)
        if Path(name).is_dir():
            refuse_foreign_files(Path(name))
        refuse_endless_classes(name, kept=kept)
        try:
            config = transformers.AutoConfig.from_pretrained(name, local_files_only=kept, **NO_CODE)
        except Exception as error:  # whatever a library makes of a file that makes no sense
            raise _cannot_load(name, error) from error
        refuse_foreign_settings(name, config, kept=kept)
    if not isinstance(config.architectures, (list, NoneType)) or not all(map(_is_text, config.architectures or ())):
        raise CheckpointError(
            f"{name}: architectures in its config.json is {config.architectures!r}, and must be a list of names of "
            "classes. Save the model again with save_pretrained."
        )
    if not isinstance(config.get_text_config(), transformers.PretrainedConfig):
        raise CheckpointError(
            f"{name}: a configuration inside its config.json is not what a model of type {config.model_type!r} has. "
            "Save the model again with save_pretrained."
        )
    _refuse_sizes(name, config)
    return Checkpoint(name, config, _class_for(name, config, language, new_classes), new_classes, kept)


def _memory(folder: Path) -> int:
    """Bytes that loading may take: config.json may ask for more than its weights are, to fill memory."""
    weights = sum(path.stat().st_size for path in folder.glob("*.safetensors")) if folder.is_dir() else LARGEST
    return ALLOWANCE + 6 * weights


def _refuse_sizes(name: str, config: Any) -> None:
    """Refuse numbers of layers that would be built for ever, before any is."""
    for key, value in config.to_dict().items():
        if key.endswith(LAYERS) and isinstance(value, int) and value > MOST_LAYERS:
            raise CheckpointError(
                f"{name}: {key}={shown(value)} in its config.json is more than {MOST_LAYERS}. Save the model again "
                "with save_pretrained."
            )


def fetched(name: str, endings: tuple[str, ...]) -> Path:
    """The folder on this machine of a checkpoint on the hub, with its files of these endings."""
    from huggingface_hub import snapshot_download

    found = find_checkpoint(name, new_classes=("0", "1"))
    wanted = [f"*{ending}" for ending in endings]
    with quietly():
        return Path(
            snapshot_download(name, local_files_only=found.kept, allow_patterns=wanted, ignore_patterns=["*/*"])
        )


def load_checkpoint(
    model: str | Path,
    *,
    language: bool = False,
    new_classes: tuple[str, ...] | None = None,
    dtype: str = "float32",
    device_map: DeviceMap | None = None,
) -> tuple[Any, Any]:
    """The model, in single precision or another, and its tokenizer; see ``find_checkpoint``."""
    found = find_checkpoint(model, language=language, new_classes=new_classes)
    tokenizer = found.tokenizer()
    loaded = found.model(dtype=dtype, device_map=device_map)
    if new_classes is not None and tokenizer.pad_token_id is not None:
        loaded.config.pad_token_id = tokenizer.pad_token_id
    return loaded, tokenizer


def class_names(made: str, config: Any) -> tuple[str, ...]:
    """The names that a classifier, of class ``made``, has for its outputs."""
    try:
        count = int(getattr(config, "num_labels", 0))
        names = tuple(str(config.id2label[number]) for number in range(count))
    except (TypeError, ValueError, LookupError) as error:
        raise CheckpointError(
            f"{made}: id2label in its config.json is no table of numbers and names ({type(error).__name__}: {error}). "
            "Save the model again with save_pretrained."
        ) from error
    if count < 2:
        raise InputError(f"{made} has one output, a number, and not a class: only classifiers can be audited.")
    return names


def _on_hub(name: str) -> bool:
    """Whether the hub answers that it has this model: asked once, for a few seconds."""
    from huggingface_hub import constants, model_info

    if constants.HF_HUB_OFFLINE:
        return False
    try:
        model_info(name, timeout=PATIENCE)
    except Exception:
        return False
    return True


def _refuse_no_tokenizer(folder: Path) -> None:
    """The library makes an empty tokenizer where it finds no file of words."""
    words = ("tokenizer.json", "vocab.*", "*.model", "*.spm", "*.tiktoken")
    if folder.is_dir() and not any(path.is_file() for pattern in words for path in folder.glob(pattern)):
        raise OSError("the folder holds no file of its words")


def _class_for(name: str, config: Any, language: bool, new_classes: tuple[str, ...] | None) -> str:
    """Which of Transformers' classes loads it."""
    if new_classes is not None:
        return "AutoModelForSequenceClassification"
    kinds = tuple(config.architectures or ())
    if any(kind.endswith("ForSequenceClassification") for kind in kinds):
        if language:
            raise InputError(f"{name} is a classifier with outputs of its own: leave out label_words.")
        return "AutoModelForSequenceClassification"
    speaks = [kind for kind in kinds if kind.endswith((*CAUSAL, *GENERATING))]
    if speaks and language:
        generates = speaks[0].endswith(GENERATING)
        return "AutoModelForSeq2SeqLM" if generates else "AutoModelForCausalLM"
    held = ", ".join(kinds) or "no class that it names"
    if speaks:
        raise InputError(
            f"{name} holds {held}, a language model without a head for classes: say by which words it names them "
            "(label_words, --label-words), or fine-tune it ('attentest fine-tune')."
        )
    raise InputError(
        f"{name} holds {held}, which has no head for classes: fine-tune it first ('attentest fine-tune {name} --data "
        "…'), or give a checkpoint for sequence classification."
    )


def _cannot_load(name: str, error: Exception) -> InputError | CheckpointError:
    if brings_code(Path(name)):
        return CheckpointError(
            f"{name} is a model of a kind that Transformers does not have, and brings code of its own (auto_map in "
            "config.json), which is never run. If you trust it, load it yourself: attentest.audit(model, tokenizer, …)."
        )
    if Path(name).exists():
        return CheckpointError(f"{name}: its config.json cannot be read ({_first_line(error)}).")
    return InputError(
        f"{name!r} is no folder or run here, and it could not be fetched from the hub (no network, or no such model). "
        "Download it elsewhere and give its folder."
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Without the library's reports and bars: what matters is said as an error or not at all."""
    from transformers.utils import logging as reports

    logging: Any = reports
    hub = getLogger("huggingface_hub")
    loud = hub.level
    hub.setLevel(CRITICAL)
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        hub.setLevel(loud)
        if bars:
            logging.enable_progress_bar()


def fingerprint(model: torch.nn.Module) -> str:
    """A hash of all weights."""
    import torch

    total = hashlib.sha256()
    weights = model.state_dict()
    if any(value.is_meta for value in weights.values()):  # kept elsewhere until a layer needs them (device_map)
        from accelerate.utils.modeling import get_state_dict_offloaded_model

        weights = get_state_dict_offloaded_model(model)
    for name, value in sorted(weights.items()):
        total.update(name.encode())
        total.update(value.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return total.hexdigest()[:16]
