"""`surefit.Watch`: the doctor as a callback of the Hugging Face Trainer and of Lightning."""

import sys
from typing import Any

from surefit.doctor.findings import Finding, Severity
from surefit.laws.runs import LawState
from surefit.watching import watch

LIBRARIES = (
    ("transformers", "TrainerCallback"),
    ("lightning.pytorch.callbacks", "Callback"),
    ("pytorch_lightning.callbacks", "Callback"),
)
"""Base classes by which a trainer knows its callbacks; only what is imported already is asked."""


def bases() -> tuple[type, ...]:
    modules = [(sys.modules.get(module), name) for module, name in LIBRARIES]
    found = [getattr(module, name, None) for module, name in modules if module is not None]
    return tuple(kind for kind in found if isinstance(kind, type))


class WatchHooks:
    """What both trainers call: the beginning and the end of training, evaluations and epochs."""

    def __init__(self, *, stop_on: Severity | str | None = None, quiet: bool = False) -> None:
        super().__init__()
        self.watch = watch(stop_on=stop_on, quiet=quiet)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.watch.findings

    @property
    def laws(self) -> tuple[LawState, ...]:
        return self.watch.laws

    def on_train_begin(self, *_args: Any, **_kwargs: Any) -> None:
        """Of the Hugging Face Trainer."""
        self.watch.__enter__()

    on_fit_start = on_train_begin
    """Of Lightning, before its sanity check."""

    def on_evaluate(self, *_args: Any, **_kwargs: Any) -> None:
        self.watch.look()

    on_validation_end = on_evaluate

    def on_epoch_end(self, *_args: Any, **_kwargs: Any) -> None:
        self.watch.look()

    on_train_epoch_end = on_epoch_end

    def on_train_end(self, *_args: Any, **_kwargs: Any) -> None:
        self.watch.__exit__(None, None, None)


def Watch(*, stop_on: Severity | str | None = None, quiet: bool = False) -> Any:  # noqa: N802
    """A callback for the Hugging Face Trainer or Lightning, whichever is imported.

    `findings` holds the findings and `laws` the laws that were measured. With `stop_on="error"`
    training stops with `StoppedByFinding` at the first finding of that severity.
    """
    kind = type("Watch", (WatchHooks, *bases()), {})
    return kind(stop_on=stop_on, quiet=quiet)
