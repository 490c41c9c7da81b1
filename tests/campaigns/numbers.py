"""Numbers at the edge: a true answer, by NumPy in double precision, or a clear refusal."""

from __future__ import annotations

import contextlib
import html
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import numpy as np

from tests.campaigns.campaign import Campaign, Fault

__all__ = ["Numbers"]

SIZE = 6
#: The texts of so many words are deleted from word by word here too.
SHORT = 40
NAMES = (
    "<script>alert(1)</script>",
    "[red]x[/red]",
    "\u202egnp",
    "a" * 400,
    "{{7*7}}",
    "=1+1",
    "☃ é",
    "\x1b[31m",
    "a,b",
    "None",
    "a &amp; b",
)


class Model:
    """Embeddings, softmax(h·v) over them, and an affine head: small enough to be written twice."""

    def __init__(self, draw: Random, words: int, classes: int) -> None:
        chance = np.random.default_rng(draw.randrange(2**32))
        self.words = [f"w{number}" for number in range(words)]
        self.table = chance.normal(size=(words + 2, SIZE)).astype(np.float32)
        self.asks = chance.normal(size=SIZE).astype(np.float32)
        self.head = chance.normal(size=(SIZE, classes)).astype(np.float32)
        self.bias = chance.normal(size=classes).astype(np.float32)

    def subject(self) -> Any:
        """As attentest takes it: three functions of torch."""
        import torch

        from attentest import subject_of_functions

        asks, head, bias = (torch.from_numpy(part) for part in (self.asks, self.head, self.bias))
        embedding = torch.nn.Embedding.from_pretrained(torch.from_numpy(self.table))
        places = {"<pad>": 0, "<unk>": 1, **{word: place + 2 for place, word in enumerate(self.words)}}

        def attend(states: Any, mask: Any) -> Any:
            return (states @ asks).masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0)

        return subject_of_functions(
            lambda embedded, mask: embedded,
            attend,
            lambda context: context @ head + bias,
            embedding=embedding,
            words=places,
            classes=len(self.bias),
        )

    def weights(self, text: list[str]) -> np.ndarray:
        """Attention, in double precision."""
        return _softmax(self._states(text) @ self.asks.astype(np.float64))

    def prediction(self, text: list[str], weights: np.ndarray | None = None) -> np.ndarray:
        """The probabilities under these weights, or its own."""
        own = self.weights(text) if weights is None else weights
        return _softmax(own @ self._states(text) @ self.head.astype(np.float64) + self.bias)

    def _states(self, text: list[str]) -> np.ndarray:
        return self.table[[self.words.index(word) + 2 for word in text]].astype(np.float64)


def _softmax(values: np.ndarray) -> np.ndarray:
    raised = np.exp(values - values.max())
    return raised / raised.sum()


class Numbers(Campaign):
    """Lengths, classes, ties, extremes and what is no number."""

    name: ClassVar[str] = "numbers"
    promise: ClassVar[str] = "what is said is what NumPy computes in double precision, or it is refused in one line"
    quick: ClassVar[int] = 11
    full: ClassVar[int] = 220

    def case(self, draw: Random, number: int, folder: Path) -> str:
        kinds: tuple[Callable[[Random, Path], None], ...] = (
            *(self.lengths, self.classes, self.one_class, self.same_texts, self.constant, self.extreme_logits),
            *(self.never_predicted, self.markup, self.not_numbers, self.peaked, self.checkpoint),
        )
        kind = kinds[number % len(kinds)]
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            kind(draw, folder)
        return kind.__name__.replace("_", " ")

    def lengths(self, draw: Random, folder: Path) -> None:
        """Texts of 1 to 5,000 words."""
        longest = draw.choice((1, 2, 3, 30, 300, 5000, 1500))  # the longest, half a minute, are no quick case
        sizes = [1, longest, max(1, longest // 2), draw.randint(1, longest)]
        model = Model(draw, 50, draw.choice((2, 3)))
        _compared(model, [draw.choices(model.words, k=size) for size in sizes], draw, folder)

    def classes(self, draw: Random, folder: Path) -> None:
        """2 to 1,000 classes."""
        model = Model(draw, 30, draw.choice((2, 3, 10, 99, 101, 1000)))
        _compared(model, _texts(draw, model), draw, folder)

    def one_class(self, draw: Random, folder: Path) -> None:
        """One class in the model is no classifier; one class in the data is said."""
        model = Model(draw, 30, 1)
        _refused(lambda: _audited(model, _texts(draw, model), [0] * 6, folder), "must be at least 2")
        data = folder / "one.csv"
        data.write_text("text,label\n" + "a b c,yes\n" * 20, encoding="utf-8")

        def train() -> None:
            from attentest.auditing import describe_audit

            describe_audit(data=data)

        _refused(train, "one class only")
        two = Model(draw, 30, 2)
        _compared(two, _texts(draw, two), draw, folder, labels=[1] * 6)

    def same_texts(self, draw: Random, folder: Path) -> None:
        """Every text is the same."""
        model = Model(draw, 10, 3)
        text = draw.choices(model.words, k=draw.choice((1, 2, 9)))
        _compared(model, [text] * 6, draw, folder)

    def constant(self, draw: Random, folder: Path) -> None:
        """Whatever the text, the same prediction; or all classes alike."""
        model = Model(draw, 20, draw.choice((2, 5)))
        if draw.random() < 0.3:
            model.head[:] = 0
            texts = [draw.choices(model.words, k=4) for _ in range(6)]
            from attentest.errors import AttentestError

            with contextlib.suppress(AttentestError):  # an answer, or a refusal in one line; anything else is a fault
                _audited(model, texts, [0, 1] * 3, folder)
            return
        model.head *= np.float32(draw.choice((1e-3, 1e-6)))
        model.bias[:] = np.float32(5) * (np.arange(len(model.bias)) == 1)
        _compared(model, _texts(draw, model), draw, folder)

    def extreme_logits(self, draw: Random, folder: Path) -> None:
        """Logits of ±1e4, and of ±1e-4."""
        model = Model(draw, 20, draw.choice((2, 4)))
        scale = np.float32(draw.choice((1e-4, 1e2, 1e4)))
        model.head *= scale
        model.bias *= scale
        _compared(model, _texts(draw, model), draw, folder, scale=float(scale))

    def never_predicted(self, draw: Random, folder: Path) -> None:
        """A class that no text is given."""
        model = Model(draw, 20, 3)
        model.bias[1] = -1e4
        _compared(model, _texts(draw, model), draw, folder, scale=1e4)

    def markup(self, draw: Random, folder: Path) -> None:
        """Labels with markup stay labels."""
        names = tuple(draw.sample(NAMES, 3))
        model = Model(draw, 20, 3)
        done = _compared(model, _texts(draw, model), draw, folder, names=names)
        page = done.report.read_text(encoding="utf-8")
        for name in names:
            if html.escape(name) != name and name in page.replace(html.escape(name), ""):
                raise Fault(f"{name!r} stands raw in the report")

    def not_numbers(self, draw: Random, folder: Path) -> None:
        """Weights that are NaN or infinite are refused."""
        model = Model(draw, 20, 2)
        part = draw.choice((model.table, model.head, model.bias, model.asks))
        part.flat[draw.randrange(part.size)] = draw.choice((np.nan, np.inf, -np.inf))
        _refused(lambda: _audited(model, _texts(draw, model), [0, 1] * 3, folder), "finite")

    def peaked(self, draw: Random, folder: Path) -> None:
        """All attention on one word, or the same on all."""
        model = Model(draw, 20, 3)
        model.asks *= np.float32(draw.choice((0.0, 1e-30, 1e3, 1e30)))
        _compared(model, _texts(draw, model), draw, folder)

    def checkpoint(self, draw: Random, folder: Path) -> None:
        """A checkpoint with a weight that is no number is refused."""
        from safetensors.numpy import load_file, save_file

        from attentest.auditing import describe_audit
        from attentest.models.huggingface.checkpoint import quietly
        from tests.support.pretrained import tiny, tokenizer_of

        tokenizer, place = tokenizer_of(), folder / "model"
        with quietly():
            tiny(draw.choice(("bert", "distilbert")), size=len(tokenizer)).save_pretrained(place)
            tokenizer.save_pretrained(place)
        weights = {name: value.copy() for name, value in load_file(place / "model.safetensors").items()}
        name = draw.choice(sorted(weights))
        weights[name].flat[draw.randrange(weights[name].size)] = draw.choice((np.nan, np.inf, -np.inf))
        save_file(weights, place / "model.safetensors", metadata={"format": "pt"})
        data = folder / "data.csv"
        data.write_text("text,label\n" + "".join(f"word{n} x,{n % 2}\n" for n in range(8)), encoding="utf-8")
        _refused(lambda: describe_audit(model=place, data=data, tokenizer=None, challenges=("uniform",)), "finite")


def _texts(draw: Random, model: Model, count: int = 6) -> list[list[str]]:
    return [draw.choices(model.words, k=draw.choice((1, 2, 3, 8, 20))) for _ in range(count)]


def _audited(model: Model, texts: list[list[str]], labels: list[Any], folder: Path, names: tuple[str, ...] = ()) -> Any:
    from attentest import audit

    asked = (
        "instances(explainers=('leave_one_out',))",
        "uniform",
        "permutation(draws=10)",
        "adversary(search=False)",
        "flip_sets",
    )
    return audit(
        model.subject(),
        texts=[" ".join(text) for text in texts],
        labels=labels,
        tokenizer=None,
        challenges=asked,
        max_tokens=10_000,
        runs=folder / "runs",
        **({"classes": names} if names else {}),
    )


def _compared(
    model: Model,
    texts: list[list[str]],
    draw: Random,
    folder: Path,
    *,
    labels: list[int] | None = None,
    scale: float = 1.0,
    names: tuple[str, ...] = (),
) -> Any:
    """Audit, and hold what was found to the numbers of this module."""
    given: list[Any] = labels or [draw.randrange(len(model.bias)) for _ in texts]
    done = _audited(model, texts, [names[label] for label in given] if names else given, folder, names)
    rows = done.folder.findings(done.folder.named("instances")).table.to_pylist()
    uniform = done.folder.findings("uniform").table.to_pylist()
    #: Single precision, of sums of a few numbers of this size.
    near = 1e-5 * max(1.0, scale)
    for row, even, text, label in zip(rows, uniform, texts, given, strict=True):
        own = model.prediction(text)
        _same("tokens", row["tokens"], text)
        _close("attention", row["attention"], model.weights(text), 1e-4)
        if "probabilities" in row:
            _close("probabilities", row["probabilities"], own, near)
        _close("confidence", row["confidence"], own.max(), near)
        if np.sort(own)[-1] - np.sort(own)[-2] > 10 * near:
            _same("predicted", row["predicted"], int(own.argmax()))
            _same("correct", row["correct"], int(own.argmax()) == label)
        if len(text) == 1:
            _same("not judged", even["not_judged"], "fewer than two tokens")
            continue
        other = model.prediction(text, np.full(len(text), 1 / len(text)))
        _close("change under uniform weights", even["change"], np.abs(own - other).sum() / 2, 4 * near)
        if len(text) <= SHORT:
            shorter = [model.prediction(text[:place] + text[place + 1 :]) for place in range(len(text))]
            wanted = [np.abs(own - one).sum() / 2 for one in shorter]
            _close("leave one out", row["leave_one_out"], wanted, 4 * near)
    for name in done.folder.challenges:
        _finite_or_said(name, done.folder.findings(name).table.to_pylist())
    return done


def _finite_or_said(name: str, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        numbers = [value for value in row.values() if isinstance(value, float)]
        if row.get("not_judged") is None and not np.isfinite(numbers).all():
            raise Fault(f"{name}: {row['id']} is judged by a number that is none: {row}"[:500])


def _same(what: str, found: Any, wanted: Any) -> None:
    if found != wanted:
        raise Fault(f"{what}: {str(found)[:200]}, and {str(wanted)[:200]} is true")


def _close(what: str, found: Any, wanted: Any, apart: float) -> None:
    found, wanted = np.asarray(found, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    if found.shape != wanted.shape or not np.allclose(found, wanted, rtol=1e-4, atol=apart):
        where = "" if found.shape != wanted.shape else f" by up to {np.nanmax(np.abs(found - wanted)):.2g}"
        raise Fault(
            f"{what}: {found.ravel()[:6]} of {found.shape}, and {wanted.ravel()[:6]} of {wanted.shape} is true{where}"
        )


def _refused(work: Callable[[], Any], words: str) -> None:
    from attentest.errors import AttentestError, line_of

    try:
        work()
    except AttentestError as error:
        line = line_of(error)
        if words not in line or "\n" in str(error) or len(line) > 1000:
            raise Fault(f"refused by {line[:300]!r}, which does not say {words!r}") from error
        return
    raise Fault(f"not refused, where {words!r} was to be said")
