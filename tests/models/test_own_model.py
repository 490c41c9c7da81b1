"""Models written as a user would: three functions, a named nn.MultiheadAttention, a module of one's own."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from tests.conftest import WORDS, made_up_split, whole
from torch import Tensor, nn

from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.explainers import EXPLAINERS
from attentest.models.custom.own_model import OwnModel, self_tested, subject_of_functions
from attentest.models.custom.own_module import subject_of_module
from attentest.models.subject import AffineReading, DecodedReading

INDEX = {"<pad>": 0, "<unk>": 1, **{word: place + 2 for place, word in enumerate(WORDS)}}
SPLIT = made_up_split(6, 1, 9)
VOCABULARY = Vocabulary.from_split(SPLIT)
BATCH = whole(Encoded.of(SPLIT, VOCABULARY))


class Scores(nn.Module):
    """Weights over the words, and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.score = nn.Linear(8, 1)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        return self.score(states)[..., 0].masked_fill(~mask, -1e9).softmax(-1)


class Plain(nn.Module):
    """Embedding, a recurrent layer, attention, a head."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(INDEX), 6, padding_idx=0)
        self.encoder = nn.GRU(6, 8, batch_first=True)
        self.attention = Scores()
        self.head = head

    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        states, _ = self.encoder(self.embedding(words))
        weights = self.attention(states, mask)
        return self.head((weights[:, None] @ states)[:, 0])


class Transformer(nn.Module):
    """PyTorch's own encoder, its output pooled."""

    def __init__(self, pooling: str = "mean", batch_first: bool = True) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(INDEX), 8, padding_idx=0)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=batch_first, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(8, 3)
        self.pooling, self.batch_first = pooling, batch_first

    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        embedded = self.embedding(words)
        embedded = embedded if self.batch_first else embedded.transpose(0, 1)
        states = self.encoder(embedded, src_key_padding_mask=~mask)
        states = states if self.batch_first else states.transpose(0, 1)
        if self.pooling == "first":
            return self.head(states[:, 0])
        return self.head((states * mask[..., None]).sum(1) / mask.sum(-1, keepdim=True).clamp(min=1))


def functions_of(model: Plain, classes: int = 2) -> OwnModel:
    return subject_of_functions(
        encode=lambda embedded, mask: model.encoder(embedded)[0],
        attend=model.attention,
        decode=model.head,
        embedding=model.embedding,
        words=INDEX,
        classes=classes,
        module=model,
    )


def seeded(build, **choices) -> nn.Module:
    torch.manual_seed(0)
    model = build(**choices)
    with torch.no_grad():
        for value in model.parameters():
            value.mul_(2)
    return model.eval()


def own_words(model: nn.Module) -> Tensor:
    """What the model itself says of the same texts, one by one."""
    found = []
    for words in SPLIT.table["tokens"].to_pylist():
        ids = torch.tensor([[INDEX[word] for word in words]])
        with torch.no_grad():
            found.append(model(ids, torch.ones_like(ids, dtype=torch.bool)))
    return torch.cat(found)


@pytest.mark.parametrize(("head", "kind"), [("affine", AffineReading), ("bent", DecodedReading)])
def test_three_functions(head: str, kind: type) -> None:
    model = seeded(lambda: Plain(nn.Linear(8, 2) if head == "affine" else nn.Sequential(nn.Tanh(), nn.Linear(8, 2))))
    subject = functions_of(model).over(VOCABULARY)
    with torch.no_grad():
        reading = subject.read(BATCH)
    assert isinstance(reading, kind)
    torch.testing.assert_close(reading.logits, own_words(model), atol=1e-5, rtol=1e-4)
    again = reading.reread(reading.weights[:, None])[:, 0]
    torch.testing.assert_close(again, reading.logits, atol=1e-5, rtol=1e-5)


def test_one_sigmoid_is_two_classes() -> None:
    model = seeded(lambda: Plain(nn.Linear(8, 1)))
    reading = functions_of(model).over(VOCABULARY).read(BATCH)
    torch.testing.assert_close(reading.logits[:, 1:], own_words(model), atol=1e-5, rtol=1e-4)
    assert (reading.logits[:, 0] == 0).all()


@pytest.mark.parametrize("row", ["all", "first"])
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("layer", [0, 1])
def test_a_named_multihead_attention(row: str, batch_first: bool, layer: int) -> None:
    model = seeded(Transformer, pooling="first" if row == "first" else "mean", batch_first=batch_first)
    wanted = own_words(copy.deepcopy(model))
    name = f"encoder.layers.{layer}.self_attn"
    subject = subject_of_module(model, name, words=INDEX, classes=3, row=row).over(VOCABULARY)
    with torch.no_grad():
        reading = subject.read(BATCH)
        even = BATCH.mask / BATCH.mask.sum(-1, keepdim=True)
        changed = reading.reread(torch.stack([reading.weights, even], dim=1))
    torch.testing.assert_close(reading.logits, wanted, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(changed[:, 0], reading.logits, atol=1e-5, rtol=1e-4)
    assert (changed[:, 1] - reading.logits).abs().max() > 1e-3
    torch.testing.assert_close(own_words(model), wanted)  # by itself it is the model it was


def test_a_module_of_ones_own_that_returns_weights() -> None:
    """It says the same as the three functions of the same model."""
    model = seeded(lambda: Plain(nn.Sequential(nn.Tanh(), nn.Linear(8, 2))))
    functions = functions_of(copy.deepcopy(model)).over(VOCABULARY)
    subject = subject_of_module(model, "attention", words=INDEX, classes=2).over(VOCABULARY)
    new = torch.rand(len(BATCH), 4, BATCH.mask.shape[1]).double() * BATCH.mask[:, None]
    new = new / new.sum(-1, keepdim=True)
    with torch.no_grad():
        one, other = functions.read(BATCH), subject.read(BATCH)
        torch.testing.assert_close(one.weights, other.weights, atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(one.reread(new), other.reread(new), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("make", ["multihead, all", "multihead, first", "weights", "functions"])
def test_slopes_are_those_of_the_model_itself(make: str) -> None:
    """At the embeddings, by autograd through the module as it was before anything was mixed into it."""
    rows = make.removeprefix("multihead, ")
    model = (
        seeded(Transformer, pooling="first" if rows == "first" else "mean")
        if rows != make
        else seeded(lambda: Plain(nn.Sequential(nn.Tanh(), nn.Linear(8, 3))))
    ).double()
    plain = copy.deepcopy(model)
    if make == "functions":
        subject = functions_of(model, classes=3)
    else:
        name, row = ("encoder.layers.0.self_attn", rows) if rows != make else ("attention", "all")
        subject = subject_of_module(model, name, words=INDEX, classes=3, row=row)
    subject.over(VOCABULARY)
    leaf = subject.embed(BATCH).detach().requires_grad_()
    logits = subject.read(BATCH, embeddings=leaf).logits
    (found,) = torch.autograd.grad((logits[:, 0] - logits[:, 1]).sum(), leaf)
    for text, words in enumerate(SPLIT.table["tokens"].to_pylist()):
        ids, given = torch.tensor([[INDEX[word] for word in words]]), list[Tensor]()
        hook = plain.embedding.register_forward_hook(lambda module, args, output, given=given: given.append(output))
        out = plain(ids, torch.ones_like(ids, dtype=torch.bool))[0]
        hook.remove()
        (wanted,) = torch.autograd.grad(out[0] - out[1], given[0])
        torch.testing.assert_close(found[text, 1 : len(words) + 1], wanted[0], atol=1e-10, rtol=1e-8)


@pytest.mark.parametrize("make", ["functions", "multihead", "weights"])
def test_the_usual_explainers_apply(make: str) -> None:
    if make == "multihead":
        model = seeded(Transformer)
        subject = subject_of_module(model, "encoder.layers.1.self_attn", words=INDEX, classes=3)
    else:
        model = seeded(lambda: Plain(nn.Linear(8, 2)))
        subject = (
            functions_of(model)
            if make == "functions"
            else subject_of_module(model, "attention", words=INDEX, classes=2)
        )
    subject.over(VOCABULARY)
    with torch.no_grad():
        reading = subject.read(BATCH)
    for name in (
        "attention",
        "gradient",
        "gradient_state",
        "gradient_norm",
        "integrated_gradients(path='detached')",
        "occlusion",
        "leave_one_out",
        "state_erasure",
    ):
        scores = EXPLAINERS.parse(name).scores(subject, BATCH, reading)
        several = BATCH.mask & (BATCH.mask.sum(-1) > 1)[:, None]
        assert torch.isfinite(scores[several]).all(), name


def test_what_differs_is_said() -> None:
    model = seeded(lambda: Plain(nn.Linear(8, 2)))
    with pytest.raises(InputError, match="weights over the words sum to"):
        subject_of_functions(
            encode=lambda embedded, mask: model.encoder(embedded)[0],
            attend=lambda states, mask: model.attention(states, mask) * 2,
            decode=model.head,
            embedding=model.embedding,
            words=INDEX,
            classes=2,
        )

    class Deaf(Plain):
        def forward(self, words: Tensor, mask: Tensor) -> Tensor:
            states, _ = self.encoder(self.embedding(words))
            self.attention(states, mask)
            return self.head(states[:, 0])

    deaf = subject_of_module(seeded(lambda: Deaf(nn.Linear(8, 2))), "attention", words=INDEX, classes=2)
    several = int((SPLIT.lengths > 1).sum())
    with pytest.raises(InputError, match=f"leave the output as it is to the last bit, on all {several} texts tried"):
        self_tested(deaf.over(VOCABULARY), Encoded.of(SPLIT, VOCABULARY))
    with pytest.raises(
        InputError, match=r"GRU returns a tuple \(a tensor \[3, 9, 8\], a tensor \[1, 3, 8\]\) for words \[3, 9\]"
    ):
        subject_of_module(seeded(lambda: Plain(nn.Linear(8, 2))), "encoder", words=INDEX, classes=2)
    with pytest.raises(InputError, match=r"no module 'atention'.*attention"):
        subject_of_module(model, "atention", words=INDEX, classes=2)
    with pytest.raises(InputError, match="unknown="):
        subject_of_module(model, "attention", words={"a": 0, "b": 1}, classes=2)
    with pytest.raises(InputError, match="not one logit for 3 classes"):
        subject_of_module(model, "attention", words=INDEX, classes=3)


@pytest.mark.parametrize("by", ["functions", "module"])
def test_a_model_is_tested_on_the_texts_that_are_audited(by: str) -> None:
    """One that attends to the first words of its vocabulary, and takes nothing from them, is as good as any."""
    words = {"<pad>": 0, "<unk>": 1, **{f"rare{place}": place + 2 for place in range(60)}}
    words |= {word: place + len(words) for place, word in enumerate(WORDS)}

    class Without(Plain):
        def __init__(self) -> None:
            super().__init__(nn.Sequential(nn.Tanh(), nn.Linear(8, 2)))
            self.embedding = nn.Embedding(len(words), 8, padding_idx=0)
            self.encoder = nn.Identity()

        def forward(self, words: Tensor, mask: Tensor) -> Tensor:
            states = self.embedding(words)
            return self.head((self.attention(states, mask)[:, None] @ states)[:, 0])

    model = seeded(Without)
    with torch.no_grad():
        model.embedding.weight[:62, 1:] = 0
        model.attention.score.weight[:, 1:] = 0
        model.head[1].weight[:, 0] = 0
    if by == "module":
        subject = subject_of_module(model, "attention", words=words, classes=2)
    else:
        subject = subject_of_functions(
            encode=lambda embedded, mask: embedded,
            attend=model.attention,
            decode=model.head,
            embedding=model.embedding,
            words=words,
            classes=2,
        )
    assert self_tested(subject.over(VOCABULARY), Encoded.of(SPLIT, VOCABULARY)) is subject
    rare = Split.of(SPLIT.ids, [[f"rare{place}" for place in range(size)] for size in SPLIT.lengths], SPLIT.labels)
    known = Vocabulary.from_split(rare)
    with pytest.raises(InputError, match="leave the output as it is"):
        self_tested(subject.over(known), Encoded.of(rare, known))


class Attending(nn.Module):
    """Gives what ``of`` makes of states and weights."""

    def __init__(self, of) -> None:
        super().__init__()
        self.scores, self.of = Scores(), of

    def forward(self, states: Tensor, mask: Tensor):
        return self.of(states, self.scores(states, mask))


class Reader(Plain):
    """A model that takes what its attention gives, whatever that is; ``answer`` is what it returns of its logits."""

    def __init__(self, of, answer=lambda logits: logits) -> None:
        super().__init__(nn.Linear(8, 2))
        self.attention, self.answer = Attending(of), answer

    def forward(self, words: Tensor, mask: Tensor):
        states, _ = self.encoder(self.embedding(words))
        found = self.attention(states, mask)
        context = found[0] if isinstance(found, tuple) else found
        if context.shape[:2] == words.shape and context.ndim == 2:
            context = (context[:, None] @ states)[:, 0]
        return self.answer(self.head(context if context.ndim == 2 else context.sum(1)))


class OfDict(Plain):
    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        return super().forward(batch["words"], batch["mask"])


class Twice(Plain):
    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        return super().forward(words, mask) + super().forward(words, mask)


class Longer(nn.Module):
    """Its attention weighs one thing more than the words."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(INDEX), 8, padding_idx=0)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 2)

    def forward(self, words: Tensor) -> Tensor:
        states = nn.functional.pad(self.embedding(words), (0, 0, 1, 0))
        return self.head(self.attention(states, states, states)[0][:, 0])


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: Reader(lambda h, a: a[..., None] * h), r"returns a tensor \[3, 9, 8\] for words \[3, 9\], and must"),
        (
            lambda: Reader(lambda h, a: ((a[:, None] @ h)[:, 0], a)),
            r"\(a tensor \[3, 8\], a tensor \[3, 9\]\) .*made out",
        ),
        (
            lambda: Reader(lambda h, a: (a[:, None] @ h)[:, 0]),
            r"returns a tensor \[3, 8\] .* or use subject_of_functions",
        ),
        (
            lambda: Reader(lambda h, a: a, lambda z: (z, z)),
            r"Reader returns a tuple .*, not logits \[batch, class\].*call=",
        ),
        (lambda: Reader(lambda h, a: a, lambda z: {"logits": z}), r"Reader returns a dict, not logits"),
        (lambda: Reader(lambda h, a: a, lambda z: z[:, None]), r"shape \(3, 1, 2\), not one logit for 2 classes"),
        (lambda: OfDict(nn.Linear(8, 2)), r"OfDict cannot be called with words \[3, 9\] \(\w+Error.*both.*call=lambda"),
        (lambda: Twice(nn.Linear(8, 2)), r"'attention' was called 2 times"),
        (Longer, r"'attention' weighs 10 things in each of 3 texts, and the texts are \[3, 9\] words"),
    ],
)
def test_what_came_and_what_is_needed_is_said_in_one_line(build, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        subject_of_module(seeded(build), "attention", words=INDEX, classes=2)
    assert "\n" not in str(caught.value)


def test_attention_over_more_than_words_is_refused() -> None:
    model = seeded(Longer)
    model.attention = nn.MultiheadAttention(8, 2, batch_first=True, add_zero_attn=True)
    with pytest.raises(InputError, match="weighs more than the words"):
        subject_of_module(model, "attention", words=INDEX, classes=2)


@pytest.mark.parametrize("shaped", [lambda a: a[:, None], lambda a: a[..., None]])
def test_weights_may_have_one_axis_of_one(shaped) -> None:
    class Shaped(Plain):
        def __init__(self) -> None:
            super().__init__(nn.Linear(8, 2))
            self.attention = Attending(lambda states, weights: shaped(weights))

        def forward(self, words: Tensor, mask: Tensor) -> Tensor:
            states, _ = self.encoder(self.embedding(words))
            return self.head((self.attention(states, mask).reshape(len(words), -1, 1) * states).sum(1))

    model = seeded(Shaped)
    subject = subject_of_module(model, "attention", words=INDEX, classes=2).over(VOCABULARY)
    with torch.no_grad():
        torch.testing.assert_close(subject.read(BATCH).logits, own_words(model), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("place", ["weights", "outputs"])
def test_what_is_not_finite_is_said_to_be_so(place: str) -> None:
    broken = torch.tensor([math.nan, 0.0])
    with pytest.raises(InputError, match="not finite"):
        subject_of_functions(
            lambda embedded, mask: embedded,
            lambda states, mask: (mask / mask.sum(-1, keepdim=True)) * (broken[0] if place == "weights" else 1.0),
            lambda context: context[:, :2] + (broken if place == "outputs" else 0.0),
            embedding=nn.Embedding(5, 3),
            words={"<pad>": 0, "<unk>": 1, "a": 2, "b": 3, "c": 4},
            classes=2,
        )
