"""Found first on PYTHONPATH by every Python of an observed run: starts observing, then steps aside.

Nothing of surefit is imported from here but by its place beside this file, so that the program may
run in another environment than surefit's own.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress


def _serve(here: str) -> Callable[[], None]:
    """Of a Python that runs fork from: returns in each fork, which goes on as if just started."""
    from importlib.util import module_from_spec, spec_from_file_location

    file = os.path.join(os.path.dirname(here), "fork_server.py")
    spec = spec_from_file_location("surefit_fork_server", file)
    assert spec is not None
    assert spec.loader is not None
    server = module_from_spec(spec)
    spec.loader.exec_module(server)
    begin: Callable[[], None] = server.serve()
    return begin


def _observe(here: str) -> None:
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(here))))
    sys.path.insert(0, package)
    try:
        from surefit.observe.inside import install

        install.install()
    finally:
        sys.path.remove(package)


def _say_unobserved(error: BaseException) -> None:
    line = f"surefit: this run is not observed: {type(error).__name__}: {error}\n"
    with (
        suppress(OSError),
        open(os.path.join(os.environ["SUREFIT_SPOOL"], "unobserved"), "a") as out,
    ):
        out.write(line)


def _step_aside(here: str) -> None:
    """The user's own `sitecustomize`, if there is one, runs as if this one were not here."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    mine = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        if mine is not None:
            sys.modules["sitecustomize"] = mine


def _runs_nothing_of_the_users() -> bool:
    """A process that only counts the shared memory of others."""
    return any("multiprocessing.resource_tracker" in word for word in sys.orig_argv)


_here = os.path.dirname(os.path.abspath(__file__))
_begin_fork = _serve(_here) if os.environ.get("SUREFIT_FORKS") else None
if os.environ.get("SUREFIT_SPOOL") and not _runs_nothing_of_the_users():
    try:
        _observe(_here)
    except Exception as error:  # noqa: BLE001 - the user's program runs, observed or not
        _say_unobserved(error)
_step_aside(_here)
if _begin_fork is not None:
    _begin_fork()
