"""From the choices a person writes, on the command line, in Python or in a study file, to a run."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attentest.data.candidates import with_candidates
from attentest.data.catalog.location import data_folder
from attentest.data.corpora import CORPORA
from attentest.data.corpus import Corpus
from attentest.data.files.presence import check_choice_of_texts
from attentest.data.files.to_corpus import corpus_from_files
from attentest.data.sentences import with_sentences
from attentest.errors import InputError
from attentest.models.architecture import QUERIES, Architecture
from attentest.models.parts.attention import ATTENTIONS, ScaledDot
from attentest.models.parts.decoders import DECODERS, Decoder, Transformer
from attentest.models.parts.encoders import ENCODERS, NoEncoder
from attentest.models.parts.heads import HEADS
from attentest.runs.applicable import refuse_untrained
from attentest.runs.existing import GivenRun
from attentest.runs.fine_tuned import checkpoint_folder, describe_fine_tuned
from attentest.runs.presets import preset as preset_named
from attentest.runs.questions import Questions
from attentest.runs.removal import Removal
from attentest.runs.run import FORCED, Run
from attentest.runs.trained import TrainedRun
from attentest.store.folder import RunFolder
from attentest.tasks import TASKS
from attentest.training.loop import Training

__all__ = ["describe_run", "vectors_file"]

#: The choices that make a model.
MAKING = (
    *("min_frequency", "encoder", "structure", "attention", "query", "decoder", "head", "embedding", "vectors"),
    *("preset", "epochs", "batch_size", "learning_rate", "clip", "patience", "smoothing", "warmup"),
    *("removal", "removal_share", "removal_by", "fine_tune"),
)
#: Those of them that say how it is trained, whatever it is.
TRAINING = ("epochs", "batch_size", "learning_rate", "clip", "patience", "smoothing", "warmup")
#: The choices that say how a user's rows become a corpus: all of them reach it.
FILES = tuple(name for name in inspect.signature(corpus_from_files).parameters if name not in ("lowercase", "classes"))


def describe_run(
    model: str | Path | None = None,
    *,
    corpus: str | Corpus | None = None,
    data: Any = None,
    test: Any = None,
    text_column: str | None = None,
    label_column: str | None = None,
    second_column: str | None = None,
    id_column: str | None = None,
    tokenizer: str | None = None,
    max_tokens: int = 1000,
    truncate: int | None = None,
    encoding: str | None = None,
    min_frequency: int = 1,
    encoder: str = "bilstm",
    structure: str = "flat",
    attention: str = "additive",
    query: str | None = None,
    decoder: str | None = None,
    forced: str = FORCED[0],
    site: str = "",
    head: str | None = None,
    embedding: int = 300,
    vectors: str | Path | None = None,
    preset: str = "attentest",
    epochs: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    clip: float | None = None,
    patience: int | None = None,
    smoothing: float | None = None,
    warmup: int | None = None,
    challenges: Sequence[str] | Questions | None = None,
    seed: int = 0,
    limit: int = 0,
    removal: str | None = None,
    removal_share: float = 0.0,
    removal_by: str = "mask",
    fine_tune: str | Path | None = None,
) -> Run:
    """The run that these choices describe, everything checked before any work begins.

    Challenges that are given here were named: they must apply. The usual ones are passed over where they do not.
    """
    of_files = {name: value for name, value in locals().items() if name in FILES}
    check_choice_of_texts(corpus, data, test)
    if limit < 0:
        raise InputError(f"limit={limit} must be 0 (all) or more.")
    _refuse_options(locals())
    questions = Questions.of(challenges)
    put = questions.put()  # what is unknown is refused before texts are read
    source = None if model is None else _run_folder(Path(model))
    defaults = preset_named(preset)
    built = defaults.encoder(encoder)
    parts = Architecture(
        ENCODERS.parse(built) if isinstance(built, str) else built,
        ATTENTIONS.parse(attention),
        embedding=embedding,
        structure=structure,
    )
    given_head = None if head is None else HEADS.parse(head)
    kept = parts if source is None else Architecture.from_record(source.record["fields"]["model"])
    _check_files(kept, data, model)
    numbers = (epochs, batch_size, learning_rate, clip, patience, smoothing, warmup)
    given: dict[str, Any] = {k: v for k, v in zip(TRAINING, numbers, strict=True) if v is not None}
    Training(**given)  # refused before texts are read
    if fine_tune:
        checkpoint_folder(fine_tune)
    was = {} if source is None else source.record["fields"]["corpus"]
    # A checkpoint's own tokenizer knows words as they are written.
    words = tokenizer or was.get("tokenizer") or ("whitespace" if fine_tune else "english")
    if data is not None:
        about_words = {"tokenizer": words, "lowercase": not fine_tune}
        loaded = corpus_from_files(**{**of_files, **about_words}, classes=tuple(was["classes"]) if was else None)
    elif isinstance(corpus, Corpus):
        loaded = corpus
    elif corpus is None and was and was["name"] not in CORPORA:
        raise InputError(f"Give --data or --corpus: texts to audit {model} on.")
    else:
        loaded = CORPORA.parse(corpus or was.get("name", "reviews")).load()
    if fine_tune:
        about = {
            "seed": seed,
            "limit": limit,
            "tokenizer": words if data is not None else "",
            "lowercase": data is None,
        }
        return _possible(
            describe_fine_tuned(fine_tune, loaded, questions=questions, training=given, site=site, **about)
        )
    loaded = _as_read(loaded, kept, candidates=bool(was.get("candidates")))
    asked = _query(loaded, query)
    usual_head = HEADS.parse(defaults.pair_head) if asked else None
    writes = _decoder(loaded, decoder)
    training = dataclasses.replace(defaults.training_for(loaded.task, writes), **given)
    architecture = dataclasses.replace(
        parts, head=given_head or usual_head, query=asked, decoder=writes, **_of_transformer(parts, writes)
    )
    kept = architecture if source is None else kept
    if site and site not in kept.sites:
        raise InputError(f"site={site!r} must be one of {', '.join(kept.sites)}: the attentions of this model.")
    _check_forced(forced, loaded, writes)
    if source is not None:
        _check_kind(kept, architecture, model, loaded)
    if was and tuple(was["classes"]) != loaded.classes:
        raise InputError(
            f"The model was trained on the classes {', '.join(was['classes'])}, "
            f"but {loaded.name!r} has {', '.join(loaded.classes)}. Give data with the model's classes."
        )
    common: dict[str, Any] = {
        "challenges": put.challenges,
        "usual": put.usual,
        "seed": seed,
        "limit": limit,
        "tokenizer": words if data is not None else "",
        "site": "" if site == kept.sites[0] else site,
        "forced": forced,
    }
    if source is not None:
        return _possible(GivenRun.of_run(source, loaded, **common))
    return _trainable(
        TrainedRun(
            loaded,
            architecture=architecture,
            training=training,
            vectors=None if vectors is None else vectors_file(Path(vectors)),
            missing_vectors=defaults.missing_vectors,
            removal=None if removal is None else Removal(removal, removal_share, removal_by),  # type: ignore[arg-type]
            **common,
        )
    )


def _trainable(run: TrainedRun) -> Run:
    """The run; what no training would make applicable is refused before anything is trained."""
    refuse_untrained(run)
    return _possible(run)


def _as_read(corpus: Corpus, model: Architecture, *, candidates: bool) -> Corpus:
    """The corpus as the model reads it: cut into sentences, with the classes that each text names, if it needs them."""
    if model.structure == "hierarchical":
        corpus = with_sentences(corpus)
    if not candidates or corpus.candidates:
        return corpus
    splits = {name: with_candidates(split, corpus.classes) for name, split in corpus.splits.items()}
    return dataclasses.replace(corpus, splits=splits)


def _possible(run: Run) -> Run:
    """The run; what cannot be trained is refused before anything is."""
    for companion in run.companions:
        run.companion(companion)
    return run


def _query(corpus: Corpus, query: str | None) -> str:
    """How the second text of a corpus becomes the query: "" where there is none."""
    if not TASKS[corpus.task].pairs:
        if query:
            raise InputError(f"--query {query} is for pairs of texts, and {corpus.name!r} has one text: leave it out.")
        return ""
    return query or QUERIES[0]


def _check_forced(forced: str, corpus: Corpus, decoder: Decoder | None) -> None:
    """Whose words are written is a choice only where words are written."""
    if forced not in FORCED:
        raise InputError(
            f"forced={forced!r} must be one of {', '.join(FORCED)}: whose words the model is made to write."
        )
    if forced != FORCED[0] and decoder is None:
        raise InputError(f"--forced {forced} is for translations, and {corpus.name!r} has none: leave it out.")


def _check_kind(kept: Architecture, wanted: Architecture, model: str | Path | None, corpus: Corpus) -> None:
    """A trained model reads one text, pairs or translations, and so must the data."""
    kinds = [
        "translations" if one.decoder is not None else "pairs of texts" if one.query else "single texts"
        for one in (kept, wanted)
    ]
    if kinds[0] != kinds[1]:
        raise InputError(
            f"The model of {model} reads {kinds[0]}, and {corpus.name!r} has {kinds[1]}. Give data like the model's."
        )


def _check_files(kept: Architecture, data: object, model: str | Path | None) -> None:
    """Rows of the user's hold texts with labels, and nothing to write."""
    if data is not None and kept.decoder is not None:
        raise InputError(
            f"The model of {model} writes, and your data has no texts to write. Give --corpus, one of translations."
        )


def _decoder(corpus: Corpus, decoder: str | None) -> Decoder | None:
    """What writes the translations of a corpus; None where there are none."""
    if TASKS[corpus.task].writes:
        return DECODERS.parse(decoder or "bahdanau")
    if decoder:
        raise InputError(f"--decoder {decoder} writes texts, and {corpus.name!r} has none to write: leave it out.")
    return None


def _of_transformer(parts: Architecture, decoder: Decoder | None) -> dict[str, Any]:
    """A transformer reads, attends and embeds by itself: what was left as usual becomes its own."""
    if not isinstance(decoder, Transformer):
        return {}
    own, usual = {"encoder": NoEncoder(), "attention": ScaledDot(), "embedding": decoder.hidden}, Architecture()
    return {name: value for name, value in own.items() if getattr(parts, name) == getattr(usual, name)}


def _refuse_options(given: dict[str, Any]) -> None:
    """A trained model, or a checkpoint, is taken as it is: options that would make another one are refused."""
    idle: tuple[str, ...] = MAKING
    if given["model"] is not None:
        what, source = "a trained model", "--model"
    elif given["fine_tune"]:
        parts = tuple(name for name in MAKING if name not in (*TRAINING, "fine_tune"))
        idle, what, source = (*parts, "forced"), "a checkpoint that is fine-tuned", "--fine-tune"
    else:
        return
    for name, parameter in inspect.signature(describe_run).parameters.items():
        if name in idle and given[name] != parameter.default:
            flag = name.replace("_", "-")
            raise InputError(f"--{flag} {given[name]} has no effect on {what}: leave out {source} or --{flag}.")


def _run_folder(path: Path) -> RunFolder:
    if not path.exists():
        raise InputError(
            f"No model at {path}. Give the folder of a run made by 'attentest train' or 'audit', the folder of a "
            "Transformers checkpoint (it holds config.json), or its name on the hub, OWNER/NAME."
        )
    folder = RunFolder(path if path.is_dir() else path.parent)
    folder.record  # noqa: B018
    return folder


def vectors_file(path: Path) -> Path:
    """The file of word vectors; a bare name may also lie in ``vectors/`` of the data folder."""
    kept = data_folder() / "vectors" / path
    if path.is_file() or not kept.is_file():
        return path
    return kept
