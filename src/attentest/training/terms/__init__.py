"""Loss terms: what training asks of a model beside its task. Whatever term a module here defines is found."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from attentest.errors import InputError
from attentest.registry import Registry, classes_below
from attentest.training.terms.term import Term

__all__ = ["TERMS", "Term", "terms_named"]

TERMS: Registry[Term] = Registry("loss term", partial(classes_below, __name__, Term), "terms")


def terms_named(texts: str | Sequence[str] | None) -> tuple[Term, ...]:
    """The terms of these texts; an empty one stands for none."""
    given = (texts,) if isinstance(texts, str) else tuple(texts or ())
    terms = tuple(TERMS.parse(text) for text in given if text)
    names = [term.name for term in terms]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"Loss term {twice!r} is given twice: give each once.")
    return terms
