"""Captum's methods, on every subject.

Gradient methods of captum's get the embeddings. Perturbation methods get one feature per token, whether it is there,
text by text, so that what is drawn for a text does not depend on its neighbours. Start and end symbols stay as they
are. Captum is optional.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attentest.data.batches import Batch
from attentest.errors import InputError, NotApplicable
from attentest.explainers.budget import positions
from attentest.explainers.explainer import Attribution, Explainer, margin
from attentest.explainers.gradient.slopes import Baselines, check_baselines, differentiable, target_of
from attentest.measures.chance import uniforms
from attentest.measures.packing import ordinals
from attentest.measures.packing import positions as packed_positions
from attentest.models.copies import copies
from attentest.models.subject import Reading, Subject
from attentest.parameters import SEEDS, Within

__all__ = ["METHODS", "REFUSED", "Captum"]

GRADIENTS = ("Saliency", "InputXGradient", "IntegratedGradients", "GradientShap")
HOOKS = ("DeepLift", "GuidedBackprop", "Deconvolution")
PERTURBATIONS = ("FeatureAblation", "FeaturePermutation", "ShapleyValueSampling", "KernelShap", "Lime")
METHODS = (*GRADIENTS, *HOOKS, *PERTURBATIONS)

#: Why captum's other methods are not here.
REFUSED = {
    "DeepLiftShap": "it needs a distribution of baselines. Use method='GradientShap' or kernel_shap",
    "GuidedGradCam": "it needs a convolutional layer whose map is the input's. Use method='InputXGradient'",
    "LRP": "it has no rule for recurrent layers or attention. Use lrp",
    "NoiseTunnel": "it wraps another method. Use smooth_grad",
    "Occlusion": "with windows of one token it is method='FeatureAblation'. Use that or occlusion",
    "ShapleyValues": "it asks every order of the tokens. Use kernel_shap, which is exact for short texts",
}
#: Methods whose scores should add up to F(text) − F(baseline).
COMPLETE = ("IntegratedGradients", "DeepLift", "ShapleyValueSampling", "KernelShap")
#: Those that make them so, by a constraint or by the order of words, and sample: the sum proves nothing.
IMPOSED = ("ShapleyValueSampling", "KernelShap")
#: DeepLift is refused where its scores miss that difference by more than this share.
MISSED = 0.01

#: Captum draws from the process's generators and hooks modules: one call at a time.
_ALONE = threading.Lock()


@dataclass(frozen=True)
class Captum(Explainer):
    """A method of captum.attr by its own name; F is the margin, scores are summed over the embedding.

    Methods of the [captum](https://captum.ai) library by their own names: `Saliency`, `InputXGradient`,
    `IntegratedGradients`, `GradientShap`, `FeatureAblation`, `FeaturePermutation`, `ShapleyValueSampling`,
    `KernelShap`, `Lime`; for models made of modules also `DeepLift`, `GuidedBackprop` and `Deconvolution`, which
    are refused where they cannot see what they must change. It needs `attentest[captum]`. For the same method,
    attentest's own is faster. `FeaturePermutation` exchanges a token for another one of its own text, so that its
    neighbours in a batch do not matter.
    """

    name: ClassVar[str] = "captum"
    summary: ClassVar[str] = "a method of the captum library"
    reference: ClassVar[str] = "Kokhlikyan et al. 2020"
    cost: ClassVar[str] = "that of the method; perturbation methods go text by text"
    checked: ClassVar[str] = "completeness, where the method promises it"
    signed: ClassVar[bool] = True
    method: Annotated[str, "The method's name in `captum.attr`."] = "KernelShap"
    baselines: Baselines = "zero"
    n_samples: Annotated[int, "For methods that draw: how often.", Within(1, 100_000)] = 100
    n_steps: Annotated[int, "For `IntegratedGradients`: its steps.", Within(1, 10_000)] = 50
    stdevs: Annotated[
        float, "For `GradientShap`: the standard deviation of the noise on the embeddings.", Within(0, 1000)
    ] = 0.0
    perturbations_per_eval: Annotated[
        int,
        "For methods that switch tokens off: copies of a text that go through the model at a time.",
        Within(1, 100_000),
    ] = 64
    seed: Annotated[int, "For methods that draw: another seed, other draws.", SEEDS] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_baselines(self.name, self.baselines)
        if reason := REFUSED.get(self.method):
            raise InputError(f"captum: method={self.method!r} is not to be had: {reason}.")
        if self.method not in METHODS:
            raise InputError(f"captum: method={self.method!r} must be one of {', '.join(METHODS)}.")

    def has_sign(self) -> bool:
        """Of captum's methods, all but the absolute gradient."""
        return self.method != "Saliency"

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """One call of captum for the batch, or one for each text where chance is involved."""
        make = _library(self.method)
        if self.method in HOOKS:
            subject = _hooked(subject, self.method)
        task = _Task.of(subject, batch, target_of(reading, target), self.baselines)
        with _ALONE, warnings.catch_warnings(), differentiable(subject):
            warnings.simplefilter("ignore")
            scores = self._scores(make, task)
        scores = (scores * batch.mask).detach()
        if self.method not in COMPLETE:
            return Attribution(scores)
        rise = task.rise()
        gap = (scores.double().sum(-1) - rise).abs()
        if self.method == "DeepLift" and bool((gap > MISSED * rise.abs() + 1e-4).any()):
            raise NotApplicable(
                f"captum's DeepLift misses F(text) − F(baseline) by up to {float(gap.max()):.2g} here: some "
                "non-linearity of this model is no module that it can hook. Use deep_lift."
            )
        certificate = {"completeness_gap": gap}
        if self.method in IMPOSED:
            certificate["exact"] = torch.zeros_like(gap)
        return Attribution(scores, certificate)

    def _scores(self, make: Callable[..., Any], task: _Task) -> Float[Tensor, "batch token"]:
        if self.method == "FeaturePermutation":
            return self._permuted(make, task)
        if self.method in PERTURBATIONS:
            return task.text_by_text(self.seed, lambda row: self._perturbed(make, task, row))
        if self.method == "GradientShap":
            return task.text_by_text(self.seed, lambda row: self._sloped(make, task, row[None])[0])
        return self._sloped(make, task, torch.arange(len(task.batch), device=task.embeddings.device))

    def _sloped(self, make: Callable[..., Any], task: _Task, rows: Tensor) -> Float[Tensor, "row token"]:
        """Methods that differentiate at the embeddings."""
        width = int(task.batch.text.lengths[rows].max())
        inputs, start = (x[rows, :width].detach() for x in (task.embeddings, task.start))
        options: dict[str, Any] = {}
        if self.method in ("IntegratedGradients", "DeepLift", "GradientShap"):
            options["baselines"] = start
        if self.method == "IntegratedGradients":
            room = max(len(rows), positions(inputs.device) // width)
            options |= {"n_steps": self.n_steps, "internal_batch_size": room}
        if self.method == "GradientShap":
            options |= {"n_samples": self.n_samples, "stdevs": self.stdevs}
        found = make(_Outputs(task)).attribute(inputs.requires_grad_(), additional_forward_args=(rows,), **options)
        return nn.functional.pad(found.sum(-1), (0, task.embeddings.shape[1] - width))

    def _perturbed(self, make: Callable[..., Any], task: _Task, row: Tensor) -> Float[Tensor, " token"]:
        """Methods that switch tokens on and off."""
        out = task.embeddings.new_zeros(task.embeddings.shape[1])
        places = task.batch.mask[row].nonzero()[:, 0]
        if len(places) < 2:
            out[places] = task.rise(row[None]).to(out)
            return out
        options: dict[str, Any] = {"perturbations_per_eval": self.perturbations_per_eval}
        if self.method != "FeatureAblation":
            options["n_samples"] = self.n_samples
        there = torch.ones(1, len(places), device=out.device)
        with torch.no_grad():
            out[places] = make(_Presence(task, row, places)).attribute(there, **options)[0].to(out)
        return out

    def _permuted(self, make: Callable[..., Any], task: _Task) -> Float[Tensor, "batch token"]:
        """Each token exchanged for another one of its text: captum's own shuffle is among the texts of a batch."""
        # Captum skips batches of one text.
        rows = torch.arange(len(task.batch), device=task.embeddings.device).repeat(2 if len(task.batch) == 1 else 1)
        others = task.others(self.seed)[rows, :, None].expand(-1, -1, task.embeddings.shape[-1])
        features = torch.arange(task.embeddings.shape[1], device=rows.device)[None, :, None]

        def exchanged(inputs: Tensor, feature: Tensor) -> Tensor:
            return torch.where(feature, inputs.gather(1, others), inputs)

        with torch.no_grad():
            found = make(_Outputs(task), perm_func=exchanged).attribute(
                task.embeddings[rows],
                additional_forward_args=(rows,),
                feature_mask=features.expand(1, -1, task.embeddings.shape[-1]),
            )
        scores: Tensor = found[: len(task.batch), :, 0]
        return scores


@dataclass(frozen=True)
class _Task:
    """What is explained: texts, the class, the embeddings and what stands for no word."""

    subject: Subject
    batch: Batch
    target: Int[Tensor, " batch"]
    embeddings: Float[Tensor, "batch position embedding"]
    start: Float[Tensor, "batch position embedding"]

    @classmethod
    @torch.no_grad()
    def of(cls, subject: Subject, batch: Batch, target: Tensor, baselines: str) -> _Task:
        embeddings = subject.embed(batch).detach()
        start = torch.where(batch.mask[..., None], subject.baseline(baselines).to(embeddings), embeddings)
        return cls(subject, batch, target, embeddings, start)

    def outputs(self, inputs: Float[Tensor, "row position embedding"], rows: Int[Tensor, " row"]) -> Tensor:
        """The margins of these texts with other embeddings at their tokens."""
        batch = copies(self.batch, rows)
        width = batch.mask.shape[1]
        pinned = torch.where(batch.mask[..., None], inputs[:, :width], self.embeddings[rows, :width])
        return margin(self.subject.read(batch, embeddings=pinned).logits, self.target[rows])

    @torch.no_grad()
    def rise(self, rows: Tensor | None = None) -> Float[Tensor, " row"]:
        """F(text) − F(baseline)."""
        some = torch.arange(len(self.batch), device=self.embeddings.device) if rows is None else rows
        return (self.outputs(self.embeddings[some], some) - self.outputs(self.start[some], some)).double()

    def text_by_text(self, seed: int, work: Callable[[Tensor], Tensor]) -> Float[Tensor, "batch token"]:
        """``work`` on each row, the process's generators seeded with the seed and the text, and restored."""
        seeds = (uniforms(self.batch.keys, 1, 1, seed, "captum")[:, 0, 0] * 2**32).long().tolist()
        rows = torch.arange(len(self.batch), device=self.embeddings.device)
        found = []
        for row, own in zip(rows, seeds, strict=True):
            with _seeded(own, self.embeddings.device):
                found.append(work(row))
        return torch.stack(found) if found else self.embeddings[..., 0]

    def others(self, seed: int) -> Int[Tensor, "batch position"]:
        """For every token another one of its text, drawn; elsewhere the position itself."""
        mask, count = self.batch.mask, self.batch.mask.sum(-1, keepdim=True)
        drawn = uniforms(self.batch.keys, 1, mask.shape[1], seed, "captum/others", mask)[:, 0]
        place = (ordinals(mask) + 1 + (drawn * (count - 1)).long()) % count.clamp(min=1)
        return torch.where(mask, packed_positions(mask).gather(1, place), torch.arange(mask.shape[1]).to(place))


class _Outputs(nn.Module):
    """The margins as captum wants them: a module of embeddings and rows."""

    def __init__(self, task: _Task) -> None:
        super().__init__()
        self.subject, self.task = task.subject, task

    def forward(self, inputs: Tensor, rows: Tensor) -> Tensor:
        """One margin per row."""
        return self.task.outputs(inputs, rows)


class _Presence(nn.Module):
    """The margins of one text as a function of which of its tokens are there."""

    def __init__(self, task: _Task, row: Tensor, places: Tensor) -> None:
        super().__init__()
        self.task, self.row, self.places = task, row, places

    def forward(self, there: Float[Tensor, "sample token"]) -> Tensor:
        """One margin per sample."""
        kept = torch.ones(len(there), self.task.embeddings.shape[1], dtype=torch.bool, device=there.device)
        kept[:, self.places] = there > 0.5
        inputs = torch.where(kept[..., None], self.task.embeddings[self.row], self.task.start[self.row])
        return self.task.outputs(inputs, self.row.expand(len(there)))


def _library(method: str) -> Any:
    """The class of this name in captum.attr."""
    for module, needed in (("captum.attr", METHODS), ("sklearn", ("KernelShap", "Lime"))):
        try:
            if method in needed:
                importlib.import_module(module)
        except ImportError as error:
            library = {"captum.attr": "the captum library"}.get(module, "scikit-learn")
            raise InputError(f"captum(method={method!r}) needs {library}: install 'attentest[captum]'.") from error
    return getattr(importlib.import_module("captum.attr"), method)


def _hooked(subject: Subject, method: str) -> Subject:
    """A copy for captum to hook, if there is anything that its hooks can see."""
    instead = "deep_lift" if method == "DeepLift" else "method='InputXGradient'"
    if not isinstance(subject, nn.Module):
        raise NotApplicable(f"captum's {method} hooks modules, and this subject is no torch module. Use {instead}.")
    seen = (nn.ReLU,) if method != "DeepLift" else _rescaled()
    recurrent = any(isinstance(module, nn.RNNBase) for module in subject.modules())
    if recurrent or not any(type(module) in seen for module in subject.modules()):
        why = "it cannot see inside a recurrent layer" if recurrent else "this model has none that it can see"
        raise NotApplicable(
            f"captum's {method} changes the gradients of activation modules, and {why}: its scores would be plain "
            f"gradients. Use {instead}."
        )
    return copy.deepcopy(subject)


def _rescaled() -> tuple[type[nn.Module], ...]:
    return tuple(importlib.import_module("captum.attr._core.deep_lift").SUPPORTED_NON_LINEAR)


@contextlib.contextmanager
def _seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Torch's and NumPy's own generators seeded, and afterwards as they were."""
    state = np.random.get_state()  # captum's GradientShap draws from NumPy
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        np.random.seed(seed)
        try:
            yield
        finally:
            np.random.set_state(state)
