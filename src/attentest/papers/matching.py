"""Which runs stand for a claim, and in what they differ from the paper, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from attentest.papers.evidence import Group, parameters
from attentest.papers.rules import CorpusRule, Rules

__all__ = ["Match", "best", "challenge_difference", "corpus_text", "data_differences", "differences", "of_model"]

#: Choices that say what is run or how, and so are no settings to compare.
_IDENTITY = frozenset(
    ["corpus", "structure", "encoder", "fine_tune", "attention", "vectors", "seed", "challenges", "device"]
)
#: Decoders that bring layers of their own to read with.
_LAYERED = ("transformer", "transformer_base")

#: What a model is read over where it does not say otherwise: tokens, not words and then sentences.
FLAT = {"structure": ("", "flat")}


@dataclass(frozen=True)
class Match:
    """A group of cells that stands for a claim, and what is not as in the paper."""

    group: Group
    differences: tuple[str, ...]


def best(
    groups: Sequence[Group],
    rules: Rules,
    corpus: str,
    model: str,
    attention: str,
    challenge: str,
    instead: Mapping[str, str] | None = None,
) -> Match | None:
    """The group to compare with: no limit, then the study's own settings, then the most seeds.

    ``instead`` names choices of a control, which stand in the place of the model's own and must be there.
    """
    rule = rules.corpora[corpus]
    corpora = {_base(text) for text in (rule.name, *rule.forms)}
    wanted = (_model(rules, rule, model), _ours(rules.attentions, attention))
    found = [
        Match(group, tuple(differences(group, rules, rule, model, attention)))
        for group in groups
        if _base(_named(group)[0]) in corpora
        and of_model(group, rules, model, instead)
        and all(_base(text) in ("", _base(ours)) for text, ours in zip(wanted, _named(group)[1:], strict=True))
        and (not challenge or group.has(challenge))
    ]
    return min(found, key=lambda match: _rank(match, rules), default=None)


def of_model(group: Group, rules: Rules, model: str, instead: Mapping[str, str] | None = None) -> bool:
    """Whether the structure and the further choices of a group are a model's, or those of a control in its place."""
    if not model:
        return True
    rule = rules.models[model]
    if group.choices.get("fine_tune") and _named(group)[1] != rule.name:
        return False
    chosen = {**FLAT, **rule.needs, **{name: (value,) for name, value in (instead or {}).items()}}
    return all(_has(group, name, allowed) for name, allowed in chosen.items())


def _has(group: Group, name: str, allowed: Sequence[str]) -> bool:
    """Whether a run chose one of these: by name, or, where the wanted text has parameters, with just these."""
    given = str(group.choices.get(name) or "")
    return any(_squeezed(given) == _squeezed(wanted) if "(" in wanted else _base(given) == wanted for wanted in allowed)


def _rank(match: Match, rules: Rules) -> tuple[Any, ...]:
    group = match.group
    presets = list(rules.settings.get("preset", ()))
    preset = group.choices.get("preset")
    place = presets.index(preset) if preset in presets else len(presets)
    return (_limit(group) != 0, len(match.differences), place, -len(group.cells), group.run_ids)


def differences(group: Group, rules: Rules, corpus: CorpusRule, model: str, attention: str) -> Iterator[str]:
    """Everything in which a trained model is not the paper's: texts, vectors, settings."""
    yield from data_differences(group, corpus)
    apart = bool(model) and rules.models[model].apart
    if not apart:
        yield from _vectors(group, rules, corpus)
    _, encoder, weights = _named(group)
    if model and rules.models[model].differs:
        yield rules.models[model].differs
    wanted = _model(rules, corpus, model)
    if wanted and _squeezed(encoder) != _squeezed(wanted):
        yield f"encoder {encoder} instead of {wanted}"
    wanted = _ours(rules.attentions, attention)
    if wanted and _squeezed(weights) != _squeezed(wanted):
        yield f"attention {weights} instead of {wanted}"
    if limit := _limit(group):
        yield f"a random sample of {limit:,} test texts"
    if apart:
        planned = rules.models[model].epochs.get(corpus.name)
        if planned is not None and (epochs := group.choices.get("epochs")) not in (None, planned):
            yield f"epochs {epochs} instead of {planned}"
        return
    settings = {**rules.settings, **corpus.settings}
    identity = {*_IDENTITY, "limit", *_of_model(rules, model)}
    choices = {name: given for name, given in group.choices.items() if given not in (None, "")}
    for name, allowed in settings.items():
        if name not in identity and name in choices and choices[name] not in allowed:
            yield f"{name} {choices[name]} instead of {' or '.join(map(str, allowed))}"
    for name, given in choices.items():
        if name not in identity and name not in settings:
            yield f"{name} {given}, which the study leaves as it is"
    if "preset" in settings and "preset" not in choices:
        yield f"preset attentest instead of {' or '.join(map(str, settings['preset']))}"


def _of_model(rules: Rules, model: str) -> tuple[str, ...]:
    """The choices by which the paper's models are told apart."""
    return tuple(rules.models[model].needs) if model else ()


def data_differences(group: Group, corpus: CorpusRule) -> Iterator[str]:
    """Why the texts are not the paper's: known beforehand, or because the corpus here is partial."""
    text = corpus_text(group)
    forms = {_squeezed(form): why for form, why in corpus.forms.items()}
    if text in forms:
        if forms[text]:
            yield forms[text]
    else:
        if corpus.differs:
            yield corpus.differs
        if text != _squeezed(corpus.name):
            yield f"texts prepared as {text} instead of {corpus.name}"
    for partial in dict.fromkeys(record["fields"].get("corpus", {}).get("partial", "") for record in group.records):
        if partial:
            yield f"partial: {partial}"


def corpus_text(group: Group) -> str:
    """The corpus as it was chosen, with its options."""
    return _squeezed(_named(group)[0])


def challenge_difference(wanted: str, run: str, rules: Rules) -> Iterator[str]:
    """In what a challenge was run otherwise than the rule asks, parameters that change nothing left aside."""
    asked, given = parameters(wanted), parameters(run)
    harmless = rules.harmless.get(_base(wanted), ())
    for name in dict.fromkeys((*asked, *given)):
        if name not in harmless and asked.get(name) != given.get(name):
            yield f"{_base(run)} with {name}={given.get(name, 'its default')}"


def _vectors(group: Group, rules: Rules, corpus: CorpusRule) -> Iterator[str]:
    if not corpus.vectors:
        return
    rule = rules.vectors[corpus.vectors]
    found = group.records[0]["fields"].get("model", {}).get("vectors")
    file = found.get("file", "") if found else ""
    if not file:
        yield f"no pretrained vectors instead of {rule.words}"
    elif file in rule.parts:
        yield f"vectors: {rule.parts[file]}"
    elif file not in rule.files:
        yield f"vectors {file} instead of {rule.words}"


def _named(group: Group) -> tuple[str, str, str]:
    """Corpus, what reads its texts and attention as they were chosen, with describe_run's defaults.

    What reads is an encoder, a checkpoint that was fine-tuned, by its folder, or the layers of a Transformer.
    """
    choices = group.choices
    corpus, encoder, attention = (choices.get(name) for name in ("corpus", "encoder", "attention"))
    decoder = str(choices.get("decoder") or "")
    reads = PurePath(str(choices.get("fine_tune") or "")).name or (decoder if _base(decoder) in _LAYERED else "")
    return str(corpus or "reviews"), str(encoder or reads or "bilstm"), str(attention or "additive")


def _limit(group: Group) -> int:
    return int(group.choices.get("limit") or 0)


def _ours(names: Mapping[str, Any], name: str) -> str:
    return str(names[name].name) if name else ""


def _model(rules: Rules, corpus: CorpusRule, model: str) -> str:
    """Our text for a model of the paper, which may be another one for this corpus."""
    return corpus.models.get(model) or _ours(rules.models, model)


def _base(text: str) -> str:
    return text.partition("(")[0].strip()


def _squeezed(text: str) -> str:
    """A value's text without the spaces and the kind of quotes that do not count."""
    return text.replace(" ", "").replace('"', "'")
