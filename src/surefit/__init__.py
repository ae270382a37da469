"""Training runs you can trust."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surefit.doctor.findings import Finding
    from surefit.errors import SurefitError
    from surefit.recipes.sft_settings import LoraSft

__version__ = "0.1.0"

__all__ = ["Finding", "LoraSft", "SurefitError", "__version__"]

_WHERE = {
    "Finding": ("surefit.doctor.findings", "Finding"),
    "LoraSft": ("surefit.recipes.sft_settings", "LoraSft"),
    "SurefitError": ("surefit.errors", "SurefitError"),
}


def __getattr__(name: str) -> object:
    """Public names are imported when they are first used, so that `import surefit` is fast."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _WHERE[name]
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
