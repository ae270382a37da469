"""The user's script as the main program, observed: the interpreter runs it, its code is swapped.

Before Python runs a file it asks `sys.path_hooks` whether that file is an importable place, so that
zip files run. A hook that says yes for exactly this file hands out the probed code. These, and
`runpy._run_code`, are internals of CPython 3.11 and later; where one is missing, the script runs
unobserved and the spool says so.
"""

import os
import runpy
import sys
import traceback
from functools import wraps
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any

from surefit.observe.inside import own_code, own_modules
from surefit.observe.inside.autopsy import crash
from surefit.observe.inside.unseen import strip, without_surefit
from surefit.observe.inside.untouched import abspath

_file: str | None = None
"""The script, where the main program is one, as Python names it: absolute, but not tidied."""
_started_with = ""


class MainPath:
    """An importable place that is the main script itself."""

    def __init__(self, path: str) -> None:
        global _started_with
        if abspath(path) != _started_with or not os.path.isfile(path) or _is_zip(path):
            raise ImportError(path)
        _started_with = ""  # asked once; Python goes through the hooks, so that this one stays
        try:
            self.code = own_modules.code_of(path, main=True)
        except Exception as error:
            _look_when_shown()
            raise ImportError(path) from error  # Python reads it itself, and says what is wrong
        self.path = path

    def find_spec(self, name: str, target: ModuleType | None = None) -> ModuleSpec | None:  # noqa: ARG002
        if name != "__main__":
            return None
        return ModuleSpec(name, MainLoader(name, self.path, self.code), origin=self.path)


def _is_zip(path: str) -> bool:
    with open(path, "rb") as opened:
        return opened.read(2) == b"PK" or path.endswith(".pyc")


class MainLoader(SourceFileLoader):
    """Gives the probed code of the script, and puts back what Python would have set up."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self.code = code

    def get_code(self, name: str) -> CodeType:  # noqa: ARG002
        global _file
        _file = self.path
        sys.path_hooks[:] = [hook for hook in sys.path_hooks if hook is not MainPath]
        sys.path_importer_cache.pop(self.path, None)
        if sys.path and sys.path[0] == self.path:
            if sys.flags.safe_path:
                del sys.path[0]
            else:
                sys.path[0] = os.path.dirname(os.path.realpath(self.path))
        return self.code


def install() -> None:
    global _started_with
    if sys.argv[0] not in ("", "-", "-c", "-m"):
        _started_with = abspath(sys.argv[0])
        sys.path_hooks.insert(0, MainPath)
    plain = runpy._run_code  # type: ignore[attr-defined]

    def _run_code(code: CodeType, run_globals: dict[str, Any], *rest: Any) -> Any:
        mod_name = rest[1] if len(rest) > 1 else None
        if mod_name == "__mp_main__":
            return _run_again(plain, code, run_globals, *rest)
        if mod_name != "__main__":
            return plain(code, run_globals, *rest)
        runpy._run_code = plain  # type: ignore[attr-defined]
        try:
            if _file is None:
                return plain(code, run_globals, *rest)
            _as_a_script(run_globals)
            exec(code, run_globals)
        except (KeyboardInterrupt, SystemExit):
            _strip_when_shown()
            raise
        except BaseException:
            _look_when_shown()
            raise

    runpy._run_code = _run_code  # type: ignore[attr-defined]
    _probe_in_spawned_workers()


def _run_again(plain: Any, *given: Any) -> Any:
    """In a spawned process, which imports the script before it runs its function."""
    try:
        return plain(*given)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        _look_when_shown()
        raise


def _probe_in_spawned_workers() -> None:
    """These run the script again, under another name, from its file."""
    plain = runpy._get_code_from_file  # type: ignore[attr-defined]

    @wraps(plain)
    def _get_code_from_file(*args: Any) -> Any:
        found = plain(*args)
        code = found[0] if isinstance(found, tuple) else found
        file = code.co_filename
        if own_code.is_own(file) and not _is_zip(file):
            code = own_modules.code_of(file, main="__mp_main__" in args)
        return (code, *found[1:]) if isinstance(found, tuple) else code

    runpy._get_code_from_file = _get_code_from_file  # type: ignore[attr-defined]


def _as_a_script(names: dict[str, Any]) -> None:
    """What `__main__` of `python script.py` holds; without these, spawned workers look for a
    module of that name."""
    names.update(
        __name__="__main__",
        __file__=_file,
        __cached__=None,
        __doc__=None,
        __loader__=SourceFileLoader("__main__", _file or ""),
        __package__=None,
        __spec__=None,
    )
    notebook = _notebook()
    if notebook is not None:
        names.update(notebook.names())


def _notebook() -> ModuleType | None:
    """What tells of a notebook, if the script is one."""
    if _file is None or not _file.lower().endswith(".ipynb"):
        return None
    return sys.modules.get("surefit.observe.inside.notebook")


def _stripped(shown: TracebackType | None) -> TracebackType | None:
    """Without the frames that plain Python would not show: surefit's, and those of `runpy`."""
    if _file is not None:
        while shown is not None and shown.tb_frame.f_code.co_filename == "<frozen runpy>":
            shown = shown.tb_next
    return without_surefit(shown)


def _strip_when_shown() -> None:
    _around_the_hook(look=False)


def _look_when_shown() -> None:
    _around_the_hook(look=True)


def _show_both(raised: Exception, error: BaseException) -> None:
    """As Python does where a hook fails, without a frame of surefit."""
    raised.__context__ = None
    raised.__traceback__ = without_surefit(raised.__traceback__)
    print("Error in sys.excepthook:", file=sys.stderr)
    traceback.print_exception(raised)
    print("\nOriginal exception was:", file=sys.stderr)
    traceback.print_exception(error)


def _around_the_hook(look: bool) -> None:
    """Around whatever hook the script has set by now: an earlier one would have been lost."""
    plain = sys.excepthook

    def excepthook(
        kind: type[BaseException], error: BaseException, raised_at: TracebackType | None
    ) -> None:
        sys.excepthook = plain
        shown = _stripped(raised_at)
        error.__traceback__ = shown  # Python's own hook prints this one
        strip(error)
        try:
            notebook = _notebook()
            if notebook is not None and plain is sys.__excepthook__:
                notebook.show(error, shown)
            else:
                plain(kind, error, shown)
        except Exception as raised:  # noqa: BLE001 - by a hook of the user's
            _show_both(raised, error)
        finally:
            error.__traceback__ = shown
            if look:
                crash.look_and_answer(error)

    sys.excepthook = excepthook
