"""A script on its way to its first evaluation and its first save: in the child of a check, and
nowhere else. It is ended when it has come there, or when its time is up.

Epochs are cut to a few batches where batches are cut to a few rows, once a step was taken.
"""

import os
import time
from functools import wraps
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from surefit.doctor.measures.reaching import Reached
from surefit.observe.inside import epochs, events, finishing, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.small_batches import ROWS
from surefit.observe.inside.training import stepping
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.unseen import around

FURTHER = "SUREFIT_FURTHER"
"""Environment: seconds after the first step; without it, a script is not ended here."""
BATCHES = 8
"""Of an epoch."""


class CheckedWay:
    """What was come to so far."""

    def __init__(self) -> None:
        self.ends = 0.0
        self.evaluating = False
        self.evaluated = False
        self.saved = False
        self.ended = False
        self.drawn: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        """Batches of each way through the rows of a loader."""


way = CheckedWay()


def seconds() -> float:
    try:
        return float(os.environ.get(FURTHER, ""))
    except ValueError:
        return 0.0


def install() -> None:
    if not seconds():
        return
    events.on(events.step_ended)(stepped)
    events.on(events.forward_begun)(called)
    events.on(events.batch_came)(came)
    after_import("torch.serialization")(files)
    after_import("safetensors.torch")(safetensors_files)
    if spool.number(ROWS):
        after_import(epochs.LOADER)(loaders)
    finishing.at_end(write)


def stepped(_optimizer: Any) -> None:
    if not way.ends:
        way.ends = time.monotonic() + seconds()
    consider()


def called(module: Any, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> None:
    if not way.ends:
        return
    if not vars(module).get("training", True):
        way.evaluating = True
    elif way.evaluating:
        way.evaluated = True
        consider()


def came(_iterator: Any, batch: Any) -> None:
    if way.ends and batch is None and way.evaluating:
        way.evaluated = True
    consider()


def consider() -> None:
    """Ends the script where there is no more to see."""
    if way.ends and ((way.evaluated and way.saved) or time.monotonic() > way.ends):
        way.ended = True
        stepping.stop()


def files(module: ModuleType) -> None:
    vars(module)["save"] = around(vars(module)["save"], _saves, _saved)


def safetensors_files(module: ModuleType) -> None:
    vars(module)["save_file"] = around(vars(module)["save_file"], _saves, _saved)


def _saves(_args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    return bool(way.ends)


def _saved(_args: tuple[Any, ...], _result: Any) -> None:
    way.saved = True


def loaders(module: ModuleType) -> None:
    kind = module._BaseDataLoaderIter
    plain = kind._next_index

    @wraps(plain)
    def _next_index(self: Any) -> Any:
        drawn = way.drawn[self] = way.drawn.get(self, 0) + 1
        if noted.steps and drawn > BATCHES:
            raise StopIteration
        return plain(self)

    kind._next_index = _next_index


@spool.guarded("how far a check came")
def write() -> None:
    spool.saw(
        Reached(
            process=spool.process(),
            evaluation=way.evaluated or way.evaluating,
            save=way.saved,
            ended=way.ended,
            batches=BATCHES if spool.number(ROWS) else None,
        )
    )


@finishing.after_fork
def forget_parent() -> None:
    way.__init__()  # type: ignore[misc]
