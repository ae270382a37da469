"""Ends a fork without taking apart the libraries that it shares with all others.

Imported before them, so that this is the last that happens: a script's own objects and files still
end as they would, and the exit code is the script's.
"""

import atexit
import ctypes
import sys

C = ctypes.CDLL(None)


@atexit.register
def keep_libraries() -> None:
    """Python clears what it finds in `sys.modules`; C, what asked for it when it was loaded."""
    libraries = [name for name, module in sys.modules.items() if _is_library(module)]
    kept = [sys.modules.pop(name) for name in libraries]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    C.on_exit(C._exit, None)
    C.__cxa_atexit(C.fflush, None, None)


def _is_library(module: object) -> bool:
    return "site-packages" in (getattr(module, "__file__", None) or "")
