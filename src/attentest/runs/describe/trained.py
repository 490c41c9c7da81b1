"""The run that trains a model, fine-tunes a checkpoint, or examines the model of another run."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attentest.data.candidates import with_candidates
from attentest.data.catalog.location import data_folder
from attentest.data.corpora import CORPORA
from attentest.data.corpus import Corpus
from attentest.data.files.presence import check_choice_of_texts
from attentest.data.files.to_corpus import corpus_from_files
from attentest.data.marking import with_marks
from attentest.data.sentences import with_sentences
from attentest.data.vectors import check_vectors
from attentest.errors import InputError
from attentest.models.architecture import ASPECT, OWN, QUERIES, Architecture
from attentest.models.parts.attention import ATTENTIONS, ScaledDot
from attentest.models.parts.decoders import DECODERS, Decoder, Transformer
from attentest.models.parts.encoders import ENCODERS, NoEncoder
from attentest.models.parts.heads import HEADS
from attentest.models.parts.selectors import SELECTORS
from attentest.runs.applicable import refuse_terms, refuse_untrained
from attentest.runs.describe.fine_tuned import checkpoint_folder, describe_fine_tuned
from attentest.runs.given import GivenRun
from attentest.runs.options import NEW, OPTIONS, TRAINED, TUNED, Options
from attentest.runs.presets import Preset
from attentest.runs.presets import preset as preset_named
from attentest.runs.questions import Questions
from attentest.runs.removal import Removal
from attentest.runs.run import FORCED, Run
from attentest.runs.trained import TrainedRun
from attentest.store.folder import RunFolder
from attentest.tasks import TASKS
from attentest.training.loop import Training
from attentest.training.terms import terms_named

__all__ = ["FILES", "TRAINING", "describe_trained", "load_texts", "vectors_file"]

#: The options that say how a user's rows become a corpus, and how a model is trained: all of them reach these two.
FILES = tuple(name for name in inspect.signature(corpus_from_files).parameters if name in OPTIONS and name != "classes")
TRAINING = tuple(field.name for field in dataclasses.fields(Training) if field.name in OPTIONS)


def describe_trained(options: Options) -> Run:
    """The run that these options describe, everything checked before any work begins."""
    check_choice_of_texts(options.corpus, options.data, options.test)
    options.refuse_idle(TRAINED if options.model is not None else TUNED if options.fine_tune else NEW)
    source = None if options.model is None else _run_folder(Path(options.model))
    defaults = preset_named(options.preset)
    parts, given_head = _parts(options, defaults), None if options.head is None else HEADS.parse(options.head)
    kept = parts if source is None else Architecture.from_record(source.record["fields"]["model"])
    _check_files(kept, options)
    given = options.chosen(TRAINING)
    Training(**given)  # refused before texts are read
    terms = terms_named(options.terms)
    if options.fine_tune:
        checkpoint_folder(options.fine_tune)
    was = {} if source is None else source.record["fields"]["corpus"]
    # A checkpoint's own tokenizer knows words as they are written.
    words = options.tokenizer or was.get("tokenizer") or ("whitespace" if options.fine_tune else "english")
    loaded = load_texts(options, words, lowercase=not options.fine_tune, was=was)
    tokenizer = words if options.data is not None else ""
    if options.fine_tune:
        return _possible(describe_fine_tuned(options, loaded, given, tokenizer))
    loaded = _as_read(loaded, kept, candidates=bool(was.get("candidates")))
    asked, writes = _query(loaded, options.query), _decoder(loaded, options.decoder)
    architecture = dataclasses.replace(
        parts,
        # An aspect stands beside every word already: the head is that of a single text.
        head=given_head or (HEADS.parse(defaults.pair_head) if asked in QUERIES and asked != ASPECT else None),
        query=asked,
        decoder=writes,
        **_of_transformer(parts, writes),
    )
    kept = architecture if source is None else kept
    if options.site and options.site not in kept.sites:
        raise InputError(f"site={options.site!r} must be one of {', '.join(kept.sites)}: the attentions of this model.")
    _check_forced(options.forced, loaded, writes)
    if source is not None:
        _check_same(kept, architecture, options.model, was, loaded)
    put = Questions.of(options, selects=kept.selector is not None).put()
    common: dict[str, Any] = {
        "challenges": put.challenges,
        "usual": put.usual,
        "seed": options.seed,
        "limit": options.limit or 0,
        "tokenizer": tokenizer,
        "site": "" if options.site == kept.sites[0] else options.site,
        "forced": options.forced,
    }
    if source is not None:
        return _possible(GivenRun.of_run(source, loaded, **common))
    run = TrainedRun(
        loaded,
        architecture=architecture,
        training=dataclasses.replace(defaults.training_for(loaded.task, writes), **given),
        vectors=_vectors(options.vectors),
        missing_vectors=defaults.missing_vectors,
        removal=_removal(options),
        terms=terms,
        frozen_embeddings=options.frozen_embeddings,
        **common,
    )
    refuse_terms(run)
    refuse_untrained(run)
    return _possible(run)


def _parts(options: Options, defaults: Preset) -> Architecture:
    """The parts that need no corpus to be known."""
    built = defaults.encoder(options.encoder)
    return Architecture(
        ENCODERS.parse(built) if isinstance(built, str) else built,
        ATTENTIONS.parse(options.attention),
        embedding=options.embedding,
        structure=options.structure,
        selector=SELECTORS.parse(options.selector) if options.selector else None,
    )


def load_texts(options: Options, words: str, *, lowercase: bool = True, was: Mapping[str, Any] | None = None) -> Corpus:
    """The corpus that the options name, or their rows as one; ``was`` is that of a model that is trained already."""
    return with_marks(_load(options, words, lowercase, was or {}), options.mark)


def _load(options: Options, words: str, lowercase: bool, was: Mapping[str, Any]) -> Corpus:
    if options.data is not None:
        given = {**options.only(FILES), "tokenizer": words, "lowercase": lowercase}
        return corpus_from_files(**given, classes=tuple(was["classes"]) if was else None)
    if isinstance(options.corpus, Corpus):
        return options.corpus
    if options.corpus is None and was and was["name"] not in CORPORA:
        raise InputError(f"Give data (--data) or a corpus (--corpus): texts to audit {options.model} on.")
    return CORPORA.parse(options.corpus or was.get("name", "reviews")).load()


def _removal(options: Options) -> Removal | None:
    if options.removal is None:
        return None
    return Removal(options.removal, options.removal_share, options.removal_by)  # type: ignore[arg-type]


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
    """What becomes the query: the second text of a corpus, or the text itself; "" where there is none."""
    if not TASKS[corpus.task].pairs:
        if query and query != OWN:
            raise InputError(
                f"query={query!r} is for pairs of texts, and {corpus.name!r} has one text: leave it out, or use {OWN}."
            )
        return query or ""
    if query == OWN:
        raise InputError(
            f"query={OWN!r} is for single texts, and {corpus.name!r} has pairs: use {', '.join(QUERIES[:-1])} or "
            f"{QUERIES[-1]}."
        )
    return query or QUERIES[0]


def _check_forced(forced: str, corpus: Corpus, decoder: Decoder | None) -> None:
    """Whose words are written is a choice only where words are written."""
    if forced not in FORCED:
        raise InputError(
            f"forced={forced!r} must be one of {', '.join(FORCED)}: whose words the model is made to write."
        )
    if forced != FORCED[0] and decoder is None:
        raise InputError(f"forced={forced!r} is for translations, and {corpus.name!r} has none: leave it out.")


def _check_same(
    kept: Architecture, wanted: Architecture, model: str | Path | None, was: Mapping[str, Any], corpus: Corpus
) -> None:
    """A trained model reads one text, pairs or translations, and knows its classes; so must the data."""
    kinds = [
        "translations" if one.decoder is not None else "pairs of texts" if one.pairs else "single texts"
        for one in (kept, wanted)
    ]
    if kinds[0] != kinds[1]:
        raise InputError(
            f"The model of {model} reads {kinds[0]}, and {corpus.name!r} has {kinds[1]}. Give data like the model's."
        )
    if tuple(was["classes"]) != corpus.classes:
        raise InputError(
            f"The model was trained on the classes {', '.join(was['classes'])}, "
            f"but {corpus.name!r} has {', '.join(corpus.classes)}. Give data with the model's classes."
        )


def _check_files(kept: Architecture, options: Options) -> None:
    """Rows of the user's hold texts with labels, and nothing to write."""
    if options.data is not None and kept.decoder is not None:
        raise InputError(
            f"The model of {options.model} writes, and your data has no texts to write. Give a corpus of translations."
        )


def _decoder(corpus: Corpus, decoder: str | None) -> Decoder | None:
    """What writes the translations of a corpus; None where there are none."""
    if TASKS[corpus.task].writes:
        return DECODERS.parse(decoder or "bahdanau")
    if decoder:
        raise InputError(f"decoder={decoder!r} writes texts, and {corpus.name!r} has none to write: leave it out.")
    return None


def _of_transformer(parts: Architecture, decoder: Decoder | None) -> dict[str, Any]:
    """A transformer reads, attends and embeds by itself: what was left as usual becomes its own."""
    if not isinstance(decoder, Transformer):
        return {}
    own, usual = {"encoder": NoEncoder(), "attention": ScaledDot(), "embedding": decoder.hidden}, Architecture()
    return {name: value for name, value in own.items() if getattr(parts, name) == getattr(usual, name)}


def _run_folder(path: Path) -> RunFolder:
    if not path.exists():
        raise InputError(
            f"No model at {path}. Give the folder of a run made by 'attentest train' or 'audit', the folder of a "
            "Transformers checkpoint (it holds config.json), or its name on the hub, OWNER/NAME."
        )
    if not path.is_dir() and not (path.parent / "run.json").is_file():
        raise InputError(
            f"{path} is no folder. Give a run's, or that of a Transformers checkpoint (it has config.json)."
        )
    folder = RunFolder(path if path.is_dir() else path.parent)
    folder.record  # noqa: B018
    return folder


def vectors_file(given: str | Path | None) -> Path | None:
    """The file of word vectors, or None where ``none`` are asked for; a bare name may also lie in ``vectors/`` of the
    data folder."""
    if given is None or str(given) == "none":
        return None
    path = Path(given)
    kept = data_folder() / "vectors" / path
    return path if path.is_file() or not kept.is_file() else kept


def _vectors(given: str | Path | None) -> Path | None:
    """The same, refused where no vectors can be read from it."""
    path = vectors_file(given)
    if path is not None:
        check_vectors(path)
    return path
