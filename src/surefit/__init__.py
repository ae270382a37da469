"""Training runs you can trust."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surefit.asking import ask
    from surefit.asking import evaluate as eval
    from surefit.callbacks import Watch
    from surefit.data.batches import PadRows
    from surefit.data.features.loaders import loaders
    from surefit.doctor.findings import Finding
    from surefit.errors import SurefitError
    from surefit.inspector import inspect
    from surefit.projecting import projection_for
    from surefit.recipes.distill import run as distill
    from surefit.recipes.distill_settings import Distillation
    from surefit.recipes.pretrain import run as pretrain
    from surefit.recipes.pretrain_settings import FeaturePretraining
    from surefit.recipes.sft import run as sft
    from surefit.recipes.sft_settings import LoraSft
    from surefit.trainer import AnswerF1
    from surefit.watching import check, watch

__version__ = "0.1.0"

__all__ = [
    "AnswerF1",
    "Distillation",
    "FeaturePretraining",
    "Finding",
    "LoraSft",
    "PadRows",
    "SurefitError",
    "Watch",
    "__version__",
    "ask",
    "check",
    "distill",
    "eval",
    "inspect",
    "loaders",
    "pretrain",
    "projection_for",
    "sft",
    "watch",
]

_WHERE = {
    "AnswerF1": ("surefit.trainer", "AnswerF1"),
    "Distillation": ("surefit.recipes.distill_settings", "Distillation"),
    "FeaturePretraining": ("surefit.recipes.pretrain_settings", "FeaturePretraining"),
    "Finding": ("surefit.doctor.findings", "Finding"),
    "LoraSft": ("surefit.recipes.sft_settings", "LoraSft"),
    "PadRows": ("surefit.data.batches", "PadRows"),
    "SurefitError": ("surefit.errors", "SurefitError"),
    "Watch": ("surefit.callbacks", "Watch"),
    "ask": ("surefit.asking", "ask"),
    "check": ("surefit.watching", "check"),
    "distill": ("surefit.recipes.distill", "run"),
    "eval": ("surefit.asking", "evaluate"),
    "inspect": ("surefit.inspector", "inspect"),
    "loaders": ("surefit.data.features.loaders", "loaders"),
    "pretrain": ("surefit.recipes.pretrain", "run"),
    "projection_for": ("surefit.projecting", "projection_for"),
    "sft": ("surefit.recipes.sft", "run"),
    "watch": ("surefit.watching", "watch"),
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


def load_ipython_extension(shell: object) -> None:
    """For `%load_ext surefit`."""
    import_module("surefit.jupyter.extension").load(shell)


def unload_ipython_extension(shell: object) -> None:
    """For `%unload_ext surefit`."""
    import_module("surefit.jupyter.extension").unload(shell)
