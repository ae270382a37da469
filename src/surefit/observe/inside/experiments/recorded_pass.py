"""One forward pass with its operations looked at: what laws judge by names and sizes alone."""

import sys
from collections.abc import Callable
from typing import Any

from surefit.doctor.measures.experiments import OperationSeen
from surefit.observe.inside import own_code
from surefit.observe.inside.autopsy.values import is_tensor
from surefit.observe.inside.experiments.live import Live, Tree
from surefit.observe.inside.experiments.operations import operation_seen
from surefit.observe.inside.training import readable

MOST = 40
"""Operations that are told of."""
ROUNDING = 1e-6
VIEWS = frozenset(("view", "reshape", "view_as", "reshape_as"))
PICKS = frozenset(("__getitem__", "select"))

Check = Callable[[str, Any, Any], bool]
"""Name, first tensor and result of an operation -> whether a law may have to say something."""


def operations(live: Live, tree: Tree) -> tuple[OperationSeen, ...]:
    """Of the user's own lines, each once."""
    return _recorded(live, tree, CHECKS)


def pick_of_zeros(live: Live, tree: Tree) -> OperationSeen | None:
    """What picks a position at which the first of two rows has nothing but zeros, and the second
    has not."""
    return next(iter(_recorded(live, tree, (picks_zeros,))), None)


def loses_rows(live: Live, tree: Tree, rows: int) -> OperationSeen | None:
    """The first that is given so many different rows and gives back as many equal ones."""

    def loses(_name: str, tensor: Any, result: Any) -> bool:
        with readable.looking():
            return differ(tensor, rows) and are_equal(result, rows)

    return next(iter(_recorded(live, tree, (loses,))), None)


def differ(tensor: Any, rows: int) -> bool:
    return _has_rows(tensor, rows) and not _equal(tensor)


def are_equal(tensor: Any, rows: int) -> bool:
    return _has_rows(tensor, rows) and bool(tensor.is_floating_point()) and _equal(tensor)


def _has_rows(tensor: Any, rows: int) -> bool:
    return bool(tensor.dim() and tensor.shape[0] == rows and tensor.numel())


def _equal(tensor: Any) -> bool:
    """Up to rounding."""
    numbers = tensor.detach().float()
    spread = (numbers - numbers[:1]).abs().max()
    return bool(spread <= ROUNDING * numbers.abs().max())


def _recorded(live: Live, tree: Tree, checks: tuple[Check, ...]) -> tuple[OperationSeen, ...]:
    mode = readable.torch().overrides.TorchFunctionMode
    known: dict[str, OperationSeen] = {}

    class RecordedPass(mode):  # type: ignore[misc,valid-type]
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            del types
            result = func(*args, **(kwargs or {}))
            frame = sys._getframe(1)
            own = own_code.is_own(frame.f_code.co_filename)
            if own and len(known) < MOST and _is_telling(checks, func, args, result):
                seen = operation_seen(live, func, args, kwargs or {}, result, frame)
                known.setdefault(f"{seen.place} {seen.inputs} {seen.output}", seen)
            return result

    with RecordedPass():
        live.run(tree)
    return tuple(known.values())


def _is_telling(checks: tuple[Check, ...], func: Any, args: Any, result: Any) -> bool:
    if not args or not (is_tensor(args[0]) and is_tensor(result)):
        return False
    name = str(getattr(func, "__name__", ""))
    return any(check(name, args[0], result) for check in checks)


def sizes_move(name: str, tensor: Any, result: Any) -> bool:
    """A view in which an axis lies elsewhere, or is parted or joined."""
    return name in VIEWS and _sizes(tensor) != _sizes(result)


def picks_zeros(name: str, tensor: Any, result: Any) -> bool:
    """`out[:, -1]` after rows were unpacked."""
    if name not in PICKS or not result.is_floating_point() or tuple(result.shape[:1]) != (2,):
        return False
    if tensor.dim() != result.dim() + 1:
        return False
    with readable.looking():
        return not bool(result[0].any()) and bool(result[1].any())


def _sizes(tensor: Any) -> list[int]:
    return [size for size in tensor.shape if size != 1]


CHECKS: tuple[Check, ...] = (sizes_move,)
