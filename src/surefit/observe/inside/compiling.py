"""Whether torch's compiler is tracing: what is done then would become part of the user's graph."""

from collections.abc import Callable
from types import ModuleType

from surefit.observe.inside.after_import import after_import


def _not_loaded() -> bool:
    return False


is_compiling: Callable[[], bool] = _not_loaded
"""torch's own function, by itself: the compiler knows it and takes it for a constant."""


@after_import("torch.compiler")
def loaded(module: ModuleType) -> None:
    global is_compiling
    is_compiling = module.is_compiling
