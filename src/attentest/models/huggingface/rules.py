"""The rules by which a pass's gradients become relevance (AttnLRP, Achtibat et al. 2024).

Relevance is gradient × input, where some steps have another slope than their own: a factor of a product gets half, a
divisor is held fixed, an activation is the line from zero to where it is. Every operation of a pass is seen as torch is
asked for it, whatever module asks, so that none goes unnoticed: one without a rule is named, and the caller refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

__all__ = ["SHARES", "Rules", "activated"]

#: What takes a share of the relevance and is no input: what is added to it (positions, types of text, the word that a
#: decoder begins with), biases of maps and norms, and the constants of the softmax's expansion.
SHARES = ("positions", "bias", "softmax")
#: Nearer to zero than this, the slope of the line from zero to an activation is that at this distance.
NEAR = 1e-4
#: What two numbers are multiplied by in a sum and in a difference.
SIGNS = {"add": (1, 1), "sub": (1, -1), "subtract": (1, -1), "rsub": (-1, 1)}


def activated(function: Callable[[Tensor], Tensor], value: Tensor) -> Tensor:
    """A function of each number by itself, which rules see whole."""
    return function(value)


class Rules(TorchFunctionMode):
    """While it is entered, in its thread alone: every operation by its rule, and what constants take is added up."""

    def __init__(self, texts: int) -> None:
        super().__init__()
        self._texts = texts
        #: What constants take of the relevance of each text, known once gradients have been asked for.
        self.absorbed: dict[str, Float[Tensor, " batch"]] = {}
        #: Operations on what depends on the input that no rule is known for.
        self.unknown: set[str] = set()

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """The operation, on weights that are constants, by the rule of its name."""
        args, kwargs = _constant(args), {name: _constant(value) for name, value in (kwargs or {}).items()}
        if not _dependent((args, *kwargs.values())):
            return func(*args, **kwargs)
        if not args and "input" in kwargs:
            args = (kwargs.pop("input"),)
        return RULES.get(func.__name__.strip("_"), Rules._unknown)(self, func, args, kwargs)

    def _unknown(self, func: Any, args: Any, kwargs: Any) -> Any:
        output = func(*args, **kwargs)
        if _dependent(output):
            self.unknown.add(func.__name__.strip("_"))
        return output

    def _linear(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Its own slope is right."""
        return func(*args, **kwargs)

    def _held(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What others are divided by is a constant."""
        return func(*args, **kwargs).detach()

    def _product(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Of two factors that both depend on the input, each gets half; a bias keeps its share."""
        factors, name = len(_dependent((args, *kwargs.values()))), func.__name__
        if factors > 1 and (factors > 2 or _is_in_place(name)):
            return self._unknown(func, args, kwargs)
        output = func(*args, **kwargs)
        added = (args[2] if len(args) > 2 else kwargs.get("bias")) if name == "linear" else None
        if added is not None:
            self._absorb("bias", output, added)
        if factors == 2:
            output.register_hook(_halved)
        return output

    def _added_product(self, func: Any, args: Any, kwargs: Any) -> Any:
        """A map whose bias is its first argument."""
        if kwargs or len(args) != 3 or len(_dependent(args)) > 1 or _dependent(args[0]):
            return self._unknown(func, args, kwargs)
        return self._absorb("bias", func(*args), args[0])

    def _quotient(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The divisor is a constant."""
        below = 0 if "rdiv" in func.__name__ or "rtruediv" in func.__name__ else 1
        if _is_in_place(func.__name__) and _dependent(args[below]):
            return self._unknown(func, args, kwargs)
        return func(*(_detached(value) if at == below else value for at, value in enumerate(args)), **kwargs)

    def _sum(self, func: Any, args: Any, kwargs: Any) -> Any:
        """A constant that is added keeps its share."""
        if kwargs:
            return self._unknown(func, args, kwargs)
        output = func(*args)
        name = func.__name__.strip("_").removeprefix("i")
        signs = SIGNS["add" if name == "radd" else name]
        for value, sign in zip(args, signs, strict=True):
            if not _dependent(value):
                self._absorb("positions", output, value * sign)
        return output

    def _power(self, func: Any, args: Any, kwargs: Any) -> Any:
        exponent = args[1] if len(args) > 1 else kwargs.get("exponent")
        divides = isinstance(exponent, int | float) and exponent < 0
        return (self._held if divides else self._activation)(func, args, kwargs)

    def _activation(self, func: Any, args: Any, kwargs: Any) -> Any:
        """f(x) as f(0) + x · (f(x) − f(0))/x, the factor held fixed; f(0) keeps its share."""
        others = {name: value for name, value in kwargs.items() if name != "inplace"}
        if func is activated:
            func, args = args[0], args[1:]
        if _dependent((args[1:], *others.values())) or _is_in_place(func.__name__):
            return self._unknown(func, args, kwargs)
        with torch.no_grad():
            given = args[0].detach()
            zero, below, above = func(given.new_tensor([0.0, -NEAR, NEAR]), *args[1:], **others).unbind()
            beside = torch.where(given < 0, (zero - below) / NEAR, (above - zero) / NEAR)
            slope = torch.where(given.abs() < NEAR, beside, (func(given, *args[1:], **others) - zero) / given)
        return self._absorb("bias", args[0] * slope + zero, zero)

    def _softmax(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Its own slope at where it is: of the line that this makes, the constant keeps its share."""
        given = args[0].view_as(args[0])
        output = func(given, *args[1:], **kwargs)
        scores, weights = given.detach(), output.detach()
        given.register_hook(lambda slope: self._take("softmax", -_times(slope, scores)))
        output.register_hook(lambda slope: self._take("softmax", slope * weights))
        return output

    def _layer_norm(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The mean is taken off, which is linear; the divisor is held fixed."""
        given, axes, weight, bias, eps = _layer_norm(*args, **kwargs)
        return self._scaled(given - given.mean(axes, keepdim=True), axes, weight, bias, eps)

    def _rms_norm(self, func: Any, args: Any, kwargs: Any) -> Any:
        given, axes, weight, eps = _rms_norm(*args, **kwargs)
        return self._scaled(given, axes, weight, None, torch.finfo(given.dtype).eps if eps is None else eps)

    def _scaled(
        self, given: Tensor, axes: tuple[int, ...], weight: Tensor | None, bias: Tensor | None, eps: float
    ) -> Tensor:
        output = given * (given.detach().square().mean(axes, keepdim=True) + eps).rsqrt()
        output = output if weight is None else output * weight
        return output if bias is None else self._absorb("bias", output + bias, bias)

    def _masked_fill(self, func: Any, args: Any, kwargs: Any) -> Any:
        output = func(*args, **kwargs)
        filled = torch.zeros_like(args[0]).masked_fill(*args[1:], **kwargs)
        return self._absorb("bias", output, filled.detach())

    def _where(self, func: Any, args: Any, kwargs: Any) -> Any:
        output = func(*args, **kwargs)
        every: list[Any] = [*args, *kwargs.values()]
        if every[0].dtype != torch.bool:
            every[:2] = every[1::-1]
        for value, here in ((every[1], every[0]), (every[2], ~every[0])):
            if not _dependent(value):
                self._absorb("bias", output, torch.where(here, value, 0.0))
        return output

    def _absorb(self, what: str, output: Tensor, constant: Any) -> Tensor:
        """Add up what a constant, added on the way to an output, takes of its relevance."""

        def note(slope: Tensor) -> None:
            if isinstance(constant, Tensor) and constant.ndim > 1:
                taken = _times(slope, constant)
            elif isinstance(constant, Tensor) and constant.ndim == 1:
                taken = slope.reshape(self._texts, -1, slope.shape[-1]).sum(1) * constant
            else:
                taken = slope.reshape(self._texts, -1).sum(1) * constant
            self._take(what, taken)

        if output.requires_grad:
            output.register_hook(note)
        return output

    def _take(self, what: str, taken: Tensor) -> None:
        each = taken.detach().reshape(self._texts, -1).sum(1, dtype=torch.float64)
        self.absorbed[what] = self.absorbed[what] + each if what in self.absorbed else each


#: The operations that a rule is for, as torch calls them, less the underscores round their names.
_NAMES: dict[Callable[[Rules, Any, Any, Any], Any], str] = {
    Rules._linear: """neg view view_as reshape reshape_as flatten unflatten squeeze unsqueeze transpose t swapaxes
        permute movedim contiguous clone to type type_as float double half bfloat16 cpu cuda get getitem setitem cat
        concat stack split chunk unbind expand expand_as broadcast_to repeat repeat_interleave gather take_along_dim
        index_select index_add scatter scatter_add select narrow sum mean cumsum roll flip pad unfold tril triu dropout
        max amax min amin topk sort""",
    Rules._product: "mul imul rmul multiply matmul rmatmul bmm mm mv dot einsum linear",
    Rules._added_product: "addmm baddbmm",
    Rules._quotient: "div truediv itruediv rtruediv rdiv divide true_divide",
    Rules._sum: "add iadd radd sub isub subtract rsub",
    Rules._held: "rsqrt sqrt reciprocal norm vector_norm std var",
    Rules._power: "pow",
    Rules._activation: """activated gelu silu relu relu6 leaky_relu elu celu selu mish tanh sigmoid logsigmoid softplus
        softsign hardtanh hardswish hardsigmoid tanhshrink erf square abs clamp clip""",
    Rules._softmax: "softmax",
    Rules._layer_norm: "layer_norm",
    Rules._rms_norm: "rms_norm",
    Rules._masked_fill: "masked_fill",
    Rules._where: "where",
}
RULES = {name: rule for rule, names in _NAMES.items() for name in names.split()}


def _layer_norm(
    given: Tensor, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> tuple[Tensor, tuple[int, ...], Tensor | None, Tensor | None, float]:
    return given, tuple(range(-len(normalized_shape), 0)), weight, bias, eps


def _rms_norm(
    given: Tensor, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None
) -> tuple[Tensor, tuple[int, ...], Tensor | None, float | None]:
    return given, tuple(range(-len(normalized_shape), 0)), weight, eps


def _times(slope: Tensor, constant: Tensor) -> Tensor:
    """Their product, zero where the slope is, though the constant may be a mask's −∞."""
    return torch.where(slope == 0, 0.0, slope * constant)


def _halved(slope: Tensor) -> Tensor:
    return slope / 2


def _is_in_place(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


def _constant(value: Any) -> Any:
    """Weights of the model as constants, in lists too."""
    if isinstance(value, nn.Parameter):
        return value.detach()
    if type(value) in (list, tuple):
        return type(value)(_constant(each) for each in value)
    return value


def _dependent(value: Any) -> list[Tensor]:
    """The tensors that depend on the input."""
    return [each for each in _tensors(value) if each.requires_grad]


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _tensors(each)
