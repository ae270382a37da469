"""Where the random streams of a program began, so that a second run can begin there too.

A script that sets no seed is another run every time, and a second one would prove nothing. In the
first run the states are only read; in a second one they are set.
"""

import json
import os
import random
from pathlib import Path
from types import ModuleType
from typing import Any

from surefit.doctor.observations import Chance
from surefit.observe.inside import spool
from surefit.observe.inside.after_import import after_import

AGAIN = "SUREFIT_CHANCE"
"""Environment: a file with the states of the first run."""


def _known() -> dict[str, Any]:
    file = os.environ.get(AGAIN)
    known: dict[str, Any] = json.loads(Path(file).read_text()) if file else {}
    return known


def _is_main() -> bool:
    """Children of a program differ from one another by chance, and must go on to."""
    return spool.process().role == "main"


def install() -> None:
    if not _is_main():
        return
    state = _known().get("random")
    if state is not None:
        version, numbers, gauss = state
        random.setstate((version, tuple(numbers), gauss))
    else:
        version, numbers, gauss = random.getstate()
        spool.saw(Chance("random", [version, list(numbers), gauss]))


@after_import("numpy.random.mtrand")
def numpy_begins(module: ModuleType) -> None:
    if not _is_main():
        return
    state = _known().get("numpy")
    if state is not None:
        kind, numbers, *rest = state
        module.set_state((kind, numbers, *rest))
    else:
        kind, numbers, *rest = module.get_state()
        spool.saw(Chance("numpy", [kind, [int(number) for number in numbers], *rest]))


@after_import("torch")
def torch_begins(module: ModuleType) -> None:
    if not _is_main():
        return
    state = _known().get("torch")
    if state is not None:
        module.default_generator.manual_seed(state[0])
    else:
        spool.saw(Chance("torch", [module.default_generator.initial_seed()]))
