"""The user's own source as it is compiled: probed where it catches exceptions, and written down."""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

from surefit.doctor.observations import Script
from surefit.observe.inside import own_code, spool
from surefit.observe.inside.caught import swallowed
from surefit.observe.inside.untouched import abspath

LARGEST = 2_000_000
"""Bytes of a source file that is still written to the spool."""


def code_of(file: str, *, main: bool = False) -> CodeType:
    """The code of a file, with probes in its handlers; a syntax error is raised as by Python."""
    raw = _read(file)
    try:
        if len(raw) <= LARGEST:
            spool.saw(Script(abspath(file), _decoded(raw), main))
        return swallowed.probed(raw, file)
    except (SyntaxError, ValueError):
        pass
    except Exception as error:  # noqa: BLE001 - unprobed is better than not run
        spool.could_not(f"handlers in {file}", error)
    return compile(raw, file, "exec", dont_inherit=True)


def _read(file: str) -> bytes:
    with open(file, "rb") as opened:
        raw = opened.read()
    if not file.lower().endswith(".ipynb"):
        return raw
    from surefit.observe.inside import notebook  # for few programs, so that the others do not wait

    return notebook.script_of(file, raw)


def _decoded(raw: bytes) -> str:
    from importlib.util import decode_source

    return decode_source(raw)


class OwnLoader(SourceFileLoader):
    """Has compiled the user's module from its source; no cached bytecode has probes."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self.code = code

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        return self.code


class OwnModules:
    """Finds modules in folders of the user's, in the order in which Python would."""

    @staticmethod
    def find_spec(
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,  # noqa: ARG004
    ) -> ModuleSpec | None:
        try:
            return _own_spec(name, list(sys.path if path is None else path))
        except (SyntaxError, ValueError, OSError):
            return None  # Python's own finder comes next, and says so in its own way
        except Exception as error:  # noqa: BLE001 - it is imported, unobserved
            spool.could_not(f"the module {name}", error)
            return None


def _own_spec(name: str, path: list[str]) -> ModuleSpec | None:
    entries = [entry for entry in path if isinstance(entry, str)]
    mine = [entry for entry in entries if own_code.is_own(abspath(entry) + os.sep)]
    spec = PathFinder.find_spec(name, mine) if mine else None
    if spec is None or type(spec.loader) is not SourceFileLoader or not spec.origin:
        return None
    if not own_code.is_own(spec.origin) or _found_earlier(name, entries, spec.origin):
        return None
    spec.loader = OwnLoader(spec.loader.name, spec.loader.path, code_of(spec.loader.path))
    return spec


def _found_earlier(name: str, entries: Sequence[str], origin: str) -> bool:
    """A folder of a library stands before the one where the user's file lies, and has it too."""
    before = []
    for entry in entries:
        if origin.startswith(os.path.join(abspath(entry or "."), "")):
            break
        before.append(entry)
    found = PathFinder.find_spec(name, before) if before else None
    return found is not None and found.loader is not None


def install() -> None:
    places = [at for at, finder in enumerate(sys.meta_path) if finder is PathFinder]
    sys.meta_path.insert(places[0] if places else len(sys.meta_path), OwnModules)
