"""Starts observing this process: import hooks only, before the first line of the program."""

import atexit
import os
import sys
from contextlib import suppress
from importlib import import_module

from surefit.observe.inside import finishing, main_program, measuring, own_modules, spool
from surefit.observe.inside.after_import import Watcher, catch_up, find_holders

PARTS = (
    "autopsy.stacks",
    "autopsy.memory",
    "chance",
    "libraries",
    "origins",
    "epochs",
    "small_batches",
    "training.steps",
    "reaching",
    "workers",
    "children",
    "caught.swallowed",
    "caught.suppressed",
    "watchpoints",
    "given",
    "traces.traces",
    "stories.stories",
    "fingerprints",
    "measuring",
)
"""Modules that register patches for when torch and its kin are imported."""


def import_parts() -> None:
    """Of a process that becomes one which is observed: each `forgets` what it read here."""
    for name in PARTS:
        with suppress(Exception):  # said where it is observed
            import_module(f"surefit.observe.inside.{name}")
    measuring.install()
    find_holders()


def install() -> None:
    if os.environ.get("SUREFIT_SANDBOX"):
        import_module("surefit.observe.inside.traces.walls").build()  # perhaps in another process
    if os.environ.get("SUREFIT_MAIN_PID") is None:
        os.environ["SUREFIT_MAIN_PID"] = str(os.getpid())
    finishing.forget()
    sys.meta_path.insert(0, Watcher())
    for name in PARTS:
        try:
            part = import_module(f"surefit.observe.inside.{name}")
            getattr(part, "install", lambda: None)()
        except Exception as error:  # noqa: BLE001 - the others still observe
            spool.could_not(name, error)
    catch_up()
    own_modules.install()
    main_program.install()
    atexit.register(finishing.finish)
    finishing.install()
