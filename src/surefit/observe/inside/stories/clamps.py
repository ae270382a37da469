"""Operations that hold values between bounds, and how many of the values they hold back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WITHIN_BOUNDS = {"clamp", "clamp_", "clip", "clip_", "hardtanh", "hardtanh_", "relu6"}
BY_TENSOR = {"minimum", "maximum", "min", "max", "fmin", "fmax"}
SIGMOID = {"hardsigmoid", "hardsigmoid_"}


@dataclass(frozen=True, slots=True)
class Clamped:
    """What went into a clamp; where an element lies beyond a bound, no gradient passes."""

    elements: int
    saturated: int
    least: float
    greatest: float
    bounds: tuple[float, ...]
    """Lower and upper; one alone where there is one."""


def clamped(
    torch: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Clamped | None:
    """Looked at before the operation runs, which may change its input in place."""
    if name not in WITHIN_BOUNDS | BY_TENSOR | SIGMOID:
        return None
    given, lower, upper = bounds(torch, name, args, kwargs)
    if given is None or (lower is None and upper is None):
        return None
    values = given.detach()
    least, greatest = (float(one) for one in torch.aminmax(values))
    beyond = torch.zeros_like(values, dtype=torch.bool)
    if lower is not None:
        beyond |= values < lower if strictly(name) else values <= lower
    if upper is not None:
        beyond |= values > upper if strictly(name) else values >= upper
    limits = tuple(float(one) for one in (lower, upper) if one is not None)
    return Clamped(values.numel(), int(beyond.sum()), least, greatest, limits)


def strictly(name: str) -> bool:
    """At the bound itself `clamp` lets a gradient through; `hardtanh` and `hardsigmoid` do not."""
    return not name.startswith(("hard", "relu6"))


def bounds(
    torch: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Any, Any, Any]:
    """The tensor that is held back, and its bounds as numbers."""
    given = args[0] if args else kwargs.get("input")
    if name in BY_TENSOR:
        return by_tensor(torch, name, given, args[1] if len(args) > 1 else kwargs.get("other"))
    if not is_looked_at(torch, given):
        return None, None, None
    if name in SIGMOID:
        return given, -3.0, 3.0
    if name == "relu6":
        return given, 0.0, 6.0
    low, high = ("min_val", "max_val") if name.startswith("hardtanh") else ("min", "max")
    default = (-1.0, 1.0) if name.startswith("hardtanh") else (None, None)
    lower = args[1] if len(args) > 1 else kwargs.get(low, default[0])
    upper = args[2] if len(args) > 2 else kwargs.get(high, default[1])
    return given, as_number(torch, lower), as_number(torch, upper)


def by_tensor(torch: Any, name: str, given: Any, other: Any) -> tuple[Any, Any, Any]:
    """`torch.minimum(x, torch.tensor(10.0))`: a bound is a single number without a graph."""
    if not isinstance(given, torch.Tensor) or not isinstance(other, torch.Tensor):
        return None, None, None
    if other.requires_grad and not given.requires_grad:
        given, other = other, given
    bound = None if other.requires_grad else as_number(torch, other)
    if bound is None or not is_looked_at(torch, given):
        return None, None, None
    return (given, None, bound) if "min" in name else (given, bound, None)


def is_looked_at(torch: Any, given: Any) -> bool:
    return (
        isinstance(given, torch.Tensor)
        and given.is_floating_point()
        and given.numel() > 0
        and not given.is_meta
        and given.requires_grad
    )


def as_number(torch: Any, bound: Any) -> float | None:
    if isinstance(bound, torch.Tensor):
        return float(bound.detach()) if bound.numel() == 1 and not bound.is_meta else None
    return float(bound) if isinstance(bound, int | float) else None
