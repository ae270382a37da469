"""Where modules, parameters, optimizers, schedulers, loaders, collators and tokenizers were made.

A side table by object, never an attribute on it: that would enter pickles, copies and fingerprints.
Everything is numbered in the order it was made.
"""

import itertools
import os
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType, ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.identity import identity
from surefit.observe.inside.own_code import own_frame
from surefit.observe.inside.unseen import around


@dataclass(slots=True)
class Origin:
    """The user's line that made an object, or that called the library which did."""

    serial: int
    code: CodeType | None
    line: int
    alive: Callable[[], object]

    @property
    def place(self) -> Place | None:
        if self.code is None:
            return None
        return Place(os.path.abspath(self.code.co_filename), self.line)


_made: dict[int, Origin] = {}
_serials = itertools.count(1)

IMPORTING = ("importlib._bootstrap", "_frozen_importlib")


def note(thing: object) -> None:
    """Writes down where a thing is being made; the first call for an object counts."""
    known = _made.get(identity(thing))
    if known is not None and known.alive() is thing:
        return
    frame = own_frame(thing, 2)
    if _in_an_import(frame):
        return
    code, line = (frame.f_code, frame.f_lineno) if frame else (None, 0)
    _made[identity(thing)] = Origin(next(_serials), code, line, _weakly(thing))


def _in_an_import(own: FrameType | None) -> bool:
    """A library that is being imported makes it, at most once in a process and not in a fork of one
    that had imported it before: numbers are to be the same in both."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame is not own:
        if frame.f_globals.get("__name__") in IMPORTING:
            return True
        frame = frame.f_back
    return False


def _weakly(thing: object) -> Callable[[], object]:
    key = identity(thing)

    def gone(reference: object) -> None:
        origin = _made.get(key)
        if origin is not None and origin.alive is reference:
            del _made[key]

    try:
        return weakref.ref(thing, gone)
    except TypeError:  # no weak references to it: it is kept by nobody here, and not looked up
        return lambda: None


def origin(thing: object) -> Origin | None:
    found = _made.get(identity(thing))
    return found if found is not None and found.alive() is thing else None


def made_at(thing: object) -> Place | None:
    found = origin(thing)
    return found.place if found else None


def serial(thing: object) -> int:
    """Its number in the order of making; 0 where it was not seen."""
    found = origin(thing)
    return found.serial if found else 0


def number(thing: object) -> int:
    """Its serial; what was not seen being made, as a copy is not, gets one now, without a place."""
    known = serial(thing)
    if not known:
        known = next(_serials)
        _made[identity(thing)] = Origin(known, None, 0, _weakly(thing))
    return known


def alive(kind: type[Any]) -> Iterator[Any]:
    """Everything of a class, or of one derived from it, that was noted and still exists."""
    for found in list(_made.values()):
        thing = found.alive()
        if kind in type(thing).__mro__:
            yield thing


def noted_when_made(kind: type[Any]) -> None:
    """Wraps a class's `__init__` so that every object of it is noted."""
    kind.__init__ = around(kind.__init__, _is_made)


def _is_made(args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    note(args[0])
    return False


@after_import("torch.nn.modules.module")
def modules(module: ModuleType) -> None:
    noted_when_made(module.Module)
    if hasattr(module, "register_module_parameter_registration_hook"):
        module.register_module_parameter_registration_hook(_parameter)


def _parameter(_module: Any, _name: str, parameter: Any) -> None:
    if parameter is not None:
        note(parameter)


@after_import("torch.optim.optimizer")
def optimizers(module: ModuleType) -> None:
    noted_when_made(module.Optimizer)


@after_import("torch.optim.lr_scheduler")
def schedulers(module: ModuleType) -> None:
    noted_when_made(module.LRScheduler)
    noted_when_made(module.ReduceLROnPlateau)  # its own does without that of its base


@after_import("torch.utils.data.dataloader")
def loaders(module: ModuleType) -> None:
    noted_when_made(module.DataLoader)


@after_import("torch.utils.data.sampler")
def samplers(module: ModuleType) -> None:
    """A loader that stands in the head of a loop is soon gone; what draws its batches stays."""
    noted_when_made(module.BatchSampler)


@after_import("torch.utils.data.dataset")
def datasets(module: ModuleType) -> None:
    for name in ("TensorDataset", "Subset", "ConcatDataset"):
        noted_when_made(getattr(module, name))


@after_import("datasets.arrow_dataset")
def tables(module: ModuleType) -> None:
    noted_when_made(module.Dataset)


@after_import("transformers.tokenization_utils_base")
def tokenizers(module: ModuleType) -> None:
    noted_when_made(module.PreTrainedTokenizerBase)


@after_import("transformers.data.data_collator")
def collators(module: ModuleType) -> None:
    for name, kind in list(vars(module).items()):
        own = (
            isinstance(kind, type) and name.startswith("DataCollator") and "__init__" in vars(kind)
        )
        if own:
            noted_when_made(kind)


@after_import("transformers.trainer")
def trainers(module: ModuleType) -> None:
    noted_when_made(module.Trainer)
