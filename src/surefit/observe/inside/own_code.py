"""Which files are the user's own code, and the line of theirs that is being run."""

import os
import sys
import sysconfig
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

from surefit.doctor.findings import Place
from surefit.observe.inside.untouched import abspath, realpath

SUREFIT = str(Path(abspath(__file__)).parents[2]) + os.sep
"""As code objects name it: a symbolic link on the way stays one."""


def _library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    names = ("stdlib", "platstdlib", "purelib", "platlib", "scripts")
    found = {realpath(paths[name]) + os.sep for name in names if name in paths}
    found |= {paths[name] + os.sep for name in names if name in paths}
    return tuple(found)


LIBRARIES = _library_folders()
ELSEWHERE = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
GENERATED = f"{os.sep}torchinductor_"
"""Where torch's compiler keeps what it writes, unless the environment says otherwise."""


@cache
def _packages_of_others() -> tuple[str, ...]:
    """Entries of PYTHONPATH beside the user's project: packages that are used without being
    installed. What lies below the project, or holds it, is its own."""
    entries = [abspath(entry) for entry in _python_path() if entry]
    projects = {_project(Path.cwd()), _project(Path(abspath(sys.argv[0] or ".")).parent)}
    return tuple(
        entry + os.sep
        for entry in entries
        if not any(
            Path(entry).is_relative_to(project) or project.is_relative_to(entry)
            for project in projects
        )
    )


def _python_path() -> list[str]:
    return os.environ.get("PYTHONPATH", "").split(os.pathsep)


def _project(folder: Path) -> Path:
    """The nearest folder above that holds a repository or a package; else the folder itself."""
    for above in (folder, *folder.parents):
        if any((above / name).exists() for name in (".git", "pyproject.toml", "setup.py")):
            return above
    return folder


@cache
def is_own(file: str) -> bool:
    """The user's: a real file outside the standard library, installed packages and surefit."""
    if os.path.basename(file).startswith("<") or not file:
        return False
    if file.startswith((*LIBRARIES, SUREFIT, *_packages_of_others())) or any(
        part in file for part in ELSEWHERE
    ):
        return False
    kept = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if GENERATED in file or (kept and file.startswith(abspath(kept))):
        return False
    return os.path.isabs(file) or os.path.exists(file)


def own(code: CodeType) -> bool:
    """Asked by file: a code object takes many times longer to look up, because it is hashed."""
    return is_own(code.co_filename)


def place(frame: FrameType) -> Place:
    """Where a frame stands, by absolute file."""
    return Place(abspath(frame.f_code.co_filename), frame.f_lineno)


def own_frame(skip: object = None, depth: int = 1) -> FrameType | None:
    """The innermost frame of the user's code; `skip`: not an `__init__` of this object itself."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        if _can_be_own(frame):
            code = frame.f_code
            if own(code) and not (
                skip is not None
                and code.co_name == "__init__"
                and code.co_varnames
                and frame.f_locals.get(code.co_varnames[0]) is skip
            ):
                return frame
        frame = frame.f_back
    return None


def _can_be_own(frame: FrameType) -> bool:
    """By its globals: unlike `f_code`, reading them is no event that Python audits."""
    file = frame.f_globals.get("__file__")
    return type(file) is not str or is_own(file)


def own_place(skip: object = None) -> Place | None:
    frame = own_frame(skip, 2)
    return place(frame) if frame else None


def own_class(kind: type) -> bool:
    """A class that the user's own code defines."""
    for member in vars(kind).values():
        if type(member).__name__ == "function":
            return own(member.__code__)
    return False
