"""Whether torch's compiler is tracing: what is done then would become part of the user's graph.

Asked in every call of a module, as `is_traced() or state._is_compiling_flag`: what
`torch.compiler.is_compiling` says, in a third of its time.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from surefit.observe.inside.after_import import after_import


class NotCompiling:
    """Stands for `torch.compiler` until there is one."""

    _is_compiling_flag = False


def _not_loaded() -> bool:
    return False


is_traced: Callable[[], bool] = _not_loaded
"""torch's own function, by itself: the compiler knows it and takes it for a constant."""
state: Any = NotCompiling


@after_import("torch.compiler")
def loaded(module: ModuleType) -> None:
    global is_traced, state
    if hasattr(module, "is_dynamo_compiling") and hasattr(module, "_is_compiling_flag"):
        is_traced, state = module.is_dynamo_compiling, module
    else:
        is_traced = module.is_compiling
