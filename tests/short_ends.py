"""Ends a fork without taking apart the libraries that it shares with all others.

Imported before them, so that this is the last that happens: a script's own objects and files still
end as they would, and the exit code is the script's.
"""

import atexit
import ctypes
import os
import sys
import weakref
from functools import cache

C = ctypes.CDLL(None)


@cache
def libraries() -> tuple[str, ...]:
    """What was imported before the first fork, whose finalizers are left to the process that
    imported it: torch has one for each library of operators."""
    for finalizer in weakref.finalize._registry:  # type: ignore[attr-defined]
        finalizer.atexit = False
    return tuple(name for name in sys.modules if name != "__main__")


os.register_at_fork(before=libraries)


@atexit.register
def keep_libraries() -> None:
    """Python clears what it finds in `sys.modules`; C, what asked for it when it was loaded."""
    kept = [sys.modules.pop(name, None) for name in libraries()]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    C.on_exit(C._exit, None)
    C.__cxa_atexit(C.fflush, None, None)
