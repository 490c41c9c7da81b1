"""Explaining single texts: from a text and a finished run's model to scores by several methods, with certificates."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch, Encoded, bucketed
from attentest.data.candidates import with_candidates
from attentest.data.corpus import Split
from attentest.data.files.new_texts import Cut
from attentest.data.sentences import split_with_sentences
from attentest.data.vocabulary import END
from attentest.devices import reproducibly
from attentest.errors import InputError, NotApplicable
from attentest.explainers import EXPLAINERS, Explainer
from attentest.explainers.certificates import ROUNDED, apart, one_by_one
from attentest.explainers.explainer import Attribution
from attentest.explainers.gradient.slopes import target_of
from attentest.explainers.perturbation.deletion import Deletion
from attentest.explainers.perturbation.interactions import INTERACTIONS, Interaction
from attentest.explainers.perturbation.leave_one_out import LeaveOneOut
from attentest.explainers.shared import Shared
from attentest.explainers.trained.diffmask import DiffMask
from attentest.explainers.trained.gates import with_kept_gates
from attentest.models.capabilities import Generates, Selects
from attentest.models.subject import Reading, Subject
from attentest.registry import text_of
from attentest.report.explanations.explanation import Explanation, Pairs, Scored
from attentest.report.explanations.translation import Translation
from attentest.runs.examination.own_translations import own_translations
from attentest.runs.loaded import Loaded, load_for
from attentest.store.folder import find_run

__all__ = ["METHODS", "SECOND", "explain", "explain_translation", "named"]

#: How the note begins that names the second text of a pair.
SECOND = "The second text, which is not explained here: "

#: What a text is explained with when nothing else is asked for: attention, and saliency of four kinds.
METHODS = ("attention", "gradient_x_input", "integrated_gradients", "lrp", "deletion")
#: The same for a checkpoint: relevance has rules of its own there, and attention is also followed through its layers.
OF_CHECKPOINTS = ("attention", "rollout", "gradient_x_input", "integrated_gradients", "attn_lrp", "deletion")
#: Words of a text.
MOST_WORDS = 10_000
#: Every pair of words is asked about, so the work grows with the square of the words, and more.
MOST_PAIRED = 120
#: At most so many words of a text are also taken out one by one, to compare.
LOOPED = 100


@overload
def explain(text: str, model: str | Path = ..., **choices: Any) -> Explanation: ...
@overload
def explain(text: Sequence[str], model: str | Path = ..., **choices: Any) -> list[Explanation]: ...
def explain(
    text: str | Sequence[str],
    model: str | Path = "latest",
    *,
    second: str | Sequence[str] | None = None,
    methods: str | Sequence[str] | None = None,
    target: str | None = None,
    interactions: bool | str = False,
    tokenizer: str | None = None,
    runs: str | Path = "runs",
) -> Explanation | list[Explanation]:
    """How much each word of a text (or of several) mattered to a run's model, by several methods.

    ``model`` is a run's folder, its id or the beginning of it, or 'latest' among ``runs``; or the folder of a
    checkpoint of the Transformers library, or its name on the hub, whose texts are cut at spaces. Where it reads pairs
    of texts, ``second`` is the second text (or one for each text), and the first is explained. ``methods`` are
    explainers with their parameters, in a list or with commas between. ``target`` is the class to explain, by default
    the predicted one. ``interactions`` asks for pairs of words too: True, or the name of a method. ``tokenizer``
    overrides how the run cut its texts.
    """
    texts = [text] if isinstance(text, str) else list(text)
    if methods is not None and not named(methods):
        raise InputError("methods=() must name at least one explainer, as ('attention', 'integrated_gradients').")
    given = None if methods is None else tuple(map(EXPLAINERS.parse, named(methods)))
    paired = (
        INTERACTIONS.parse("pairwise_occlusion" if interactions is True else interactions) if interactions else None
    )
    seconds = [second] if isinstance(second, str) else second
    loaded = load_for(texts, seconds, str(model), Path(runs), tokenizer, target)
    if isinstance(loaded.model, Generates):
        raise NotApplicable("This run's model writes texts: use explain_translation, which takes one text.")
    chosen = given or tuple(map(EXPLAINERS.parse, _methods(loaded)))
    wanted = loaded.index_of(target)
    cut = loaded.cut(texts, tokenizer)
    asked = loaded.seconds(texts, seconds, tokenizer)
    if (words := max(map(len, cut.tokens), default=0)) > MOST_WORDS:
        raise InputError(f"A text has {words:,} words, and at most {MOST_WORDS:,} are explained: give a part of it.")
    if paired is not None and (longest := max(map(len, cut.tokens))) > MOST_PAIRED:
        raise InputError(
            f"A text of {longest} words has {longest * (longest - 1) // 2:,} pairs: interactions are for texts of at "
            f"most {MOST_PAIRED} words. Give a shorter one, or leave interactions out."
        )
    with reproducibly():
        found = _explained(loaded, texts, cut, asked, chosen, paired, wanted, strict=methods is not None)
    return found[0] if isinstance(text, str) else found


def _methods(loaded: Loaded) -> tuple[str, ...]:
    """What a text is explained with: of a model that selects its words, with the selection first."""
    if loaded.is_checkpoint:
        return OF_CHECKPOINTS
    return ("selection", *METHODS) if isinstance(loaded.model, Selects) else METHODS


def explain_translation(
    text: str,
    model: str | Path = "latest",
    *,
    methods: str | Sequence[str] | None = None,
    tokenizer: str | None = None,
    runs: str | Path = "runs",
) -> Translation:
    """What a run's model writes for a text, and which words of it mattered to each word written.

    ``model``, ``methods`` and ``tokenizer`` are as for ``explain``; by default the method is attention.
    """
    chosen = tuple(map(EXPLAINERS.parse, named(methods or "attention")))
    loaded = Loaded.of(find_run(str(model), Path(runs)))
    if not isinstance(loaded.model, Generates):
        raise NotApplicable("This run's model writes no texts: use explain.")
    if "subwords" in str(loaded.fields["corpus"].get("preparation", "")):
        raise NotApplicable(
            "This run's texts were cut into subwords, which a run does not keep: explain a run of whole words."
        )
    cut = loaded.cut([text], tokenizer)
    with reproducibly():
        return _translated(loaded, text, cut, chosen)


def _translated(loaded: Loaded, text: str, cut: Cut, chosen: tuple[Explainer, ...]) -> Translation:
    tokens = tuple(cut.tokens[0])
    name = hashlib.sha256("\0".join(tokens).encode()).hexdigest()
    split = own_translations(loaded.model, Split.of([name], [tokens], [0], target=[[]]), loaded.vocabulary)
    batch = Encoded.of(split, loaded.vocabulary).batch(np.arange(1))
    with torch.no_grad():
        reading = loaded.model.read(batch)
    chances = reading.logits.double().softmax(-1).gather(-1, batch.labels[:, None])[:, 0]
    there = (batch.labels != END).numpy()
    scores = {}
    for explainer in chosen:
        rows = _ragged(explainer.explain(loaded.model, batch, reading, batch.labels).scores, batch)
        scores[text_of(explainer)] = tuple(tuple(row.tolist()) for row, kept in zip(rows, there, strict=True) if kept)
    unknown = tuple(token not in loaded.vocabulary.index for token in tokens)
    never = sorted({token for token, new in zip(tokens, unknown, strict=True) if new})
    met = [f"Unknown to the model: {', '.join(never)}."] if never and not all(unknown) else []
    return Translation(
        text=text,
        tokens=tokens,
        unknown=unknown,
        words=tuple(split.table["target"][0].as_py()),
        chances=tuple(chances[torch.from_numpy(there)].tolist()),
        scores=scores,
        run=str(loaded.folder.path),
        model=f"{loaded.described}, {loaded.fields.get('model', {}).get('decoder')} decoder",
        tokenisation=cut.how,
        notes=(*met, *_notes(cut, unknown)),
        summaries={text_of(explainer): explainer.summary for explainer in chosen},
    )


def named(methods: str | Sequence[str]) -> tuple[str, ...]:
    """Each method once, from texts that may hold several: 'attention, lime(n_samples=50, seed=1)'."""
    parts = [part.strip() for text in ([methods] if isinstance(methods, str) else methods) for part in _parted(text)]
    return tuple(dict.fromkeys(part for part in parts if part))


def _parted(text: str) -> Iterator[str]:
    """The text cut at commas that stand in no bracket and no quotation."""
    start, depth, quote = 0, 0, ""
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "," and not depth:
            yield text[start:place]
            start = place + 1
        else:
            depth += (character in "([") - (character in ")]")
    yield text[start:]


def _explained(
    loaded: Loaded,
    texts: Sequence[str],
    cut: Cut,
    asked: list[list[str]] | None,
    chosen: tuple[Explainer, ...],
    paired: Interaction | None,
    wanted: int | None,
    *,
    strict: bool,
) -> list[Explanation]:
    """Texts of like length side by side; what is found for one does not depend on the others."""
    ids = [hashlib.sha256("\0".join(tokens).encode()).hexdigest() for tokens in cut.tokens]
    split, subject = Split.of(ids, cut.tokens, [0] * len(ids), second=asked), loaded.subject
    if loaded.is_hierarchical:
        split, _ = split_with_sentences(split)
    if loaded.fields["corpus"].get("candidates"):
        split = with_candidates(split, loaded.classes)
    encoded = Encoded.of(split, loaded.vocabulary)
    training = with_kept_gates(loaded.folder, subject, chosen)
    done: dict[int, Explanation] = {}
    for batch in (batch for batches in bucketed(encoded) for batch in batches):
        with torch.no_grad():
            reading = subject.read(batch)
        target = None if wanted is None else torch.full_like(reading.predicted, wanted)
        scored, passed_over = _scored(Shared(subject, batch, reading, target, training=training), chosen, strict)
        pairs = _pairs(subject, batch, reading, paired, target)
        classes = target_of(reading, target).tolist()
        chances = reading.logits.double().softmax(-1).tolist()
        for place, row in enumerate(batch.rows.tolist()):
            tokens = tuple(cut.tokens[row])
            unknown = tuple(token not in loaded.vocabulary.index for token in tokens)
            done[row] = Explanation(
                text=texts[row],
                tokens=tokens,
                unknown=unknown,
                classes=loaded.classes,
                probabilities=tuple(chances[place]),
                target=loaded.classes[classes[place]],
                methods=tuple(each[place] for each in scored),
                pairs=None if pairs is None else pairs[place],
                run=str(loaded.folder.path),
                model=loaded.described,
                tokenisation=cut.how,
                notes=(*_asked_with(asked, row), *loaded.notes, *_notes(cut, unknown), *passed_over),
            )
    return [done[row] for row in range(len(texts))]


def _asked_with(asked: list[list[str]] | None, row: int) -> list[str]:
    return [] if asked is None else [f"{SECOND}{' '.join(asked[row])}"]


def _notes(cut: Cut, unknown: Sequence[bool]) -> list[str]:
    notes = [f"Check the tokens: {cut.warning}."] if cut.warning else []
    if all(unknown):
        notes.append("None of these words is known to the model: it reads every one as the same unknown word.")
    return notes


def _scored(shared: Shared, chosen: Sequence[Explainer], strict: bool) -> tuple[list[list[Scored]], list[str]]:
    """Every method's scores, text by text; a method that was not asked for by name may be passed over."""
    subject, batch, reading, target = shared.subject, shared.batch, shared.reading, shared.target
    found, passed_over = [], []
    for explainer in chosen:
        try:
            first = _asked(explainer, shared)
        except NotApplicable as error:
            if strict:
                raise
            passed_over.append(f"{text_of(explainer)} does not apply to this model: {error}")
            continue
        again = _asked(explainer, shared).scores
        certificate = {**first.certificate, "difference_when_repeated": apart(first.scores, again)}
        if hasattr(explainer, "seed"):
            certificate["seed"] = torch.full_like(certificate["difference_when_repeated"], explainer.seed)
        if isinstance(explainer, Deletion | LeaveOneOut):
            literal, looped = one_by_one(explainer, subject, batch, reading, target, LOOPED)
            tried = torch.where(looped, first.scores.double(), 0.0)
            certificate["difference_from_a_loop"] = apart(tried, literal, ROUNDED)
            certificate["words_in_the_loop"] = looped.sum(-1).double()
        numbers = {name: values.tolist() for name, values in certificate.items()}
        rows = _ragged(first.scores, batch)
        found.append(
            [
                Scored(
                    text_of(explainer),
                    explainer.summary,
                    explainer.reference,
                    explainer.cost,
                    explainer.has_sign(),
                    tuple(row.tolist()),
                    {name: float(values[place]) for name, values in numbers.items()},
                )
                for place, row in enumerate(rows)
            ]
        )
    return found, passed_over


def _asked(explainer: Explainer, shared: Shared) -> Attribution:
    """Each anew, and shares nothing, but what was learnt of training texts."""
    if isinstance(explainer, DiffMask):
        return explainer.explain_sharing(shared)
    return explainer.explain(shared.subject, shared.batch, shared.reading, shared.target)


def _pairs(
    subject: Subject,
    batch: Batch,
    reading: Reading,
    method: Interaction | None,
    target: Int[Tensor, " batch"] | None,
) -> list[Pairs] | None:
    if method is None:
        return None
    found = method.explain(subject, batch, reading, target)
    numbers = {name: values.tolist() for name, values in found.certificate.items()}
    about = text_of(method), method.summary, method.reference, method.cost
    return [
        Pairs(
            *about,
            tuple(map(tuple, scores[mask][:, mask].tolist())),
            {name: float(values[place]) for name, values in numbers.items()},
        )
        for place, (scores, mask) in enumerate(zip(found.scores.double(), batch.mask, strict=True))
    ]


def _ragged(scores: Tensor, batch: Batch) -> list[np.ndarray]:
    values, mask = scores.detach().double().cpu().numpy(), batch.mask.cpu().numpy()
    return [row[real] for row, real in zip(values, mask, strict=True)]
