"""What a Python can import before it becomes a script, going by that script's first run.

When in doubt, nothing: a run that starts plainly takes seconds more, and is what it is.
"""

import ast
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from surefit.doctor.observations import Chance, Imported, Script, Trace
from surefit.doctor.recording import Recording
from surefit.observe.launch import Launch

READ_LATE = ("mlflow", "trackio")
"""Libraries that read where to write to while they are imported; every copy has a folder of its
own for that."""
CHANGES = frozenset(
    (
        "Thread",
        "ThreadPoolExecutor",
        "addaudithook",
        "load_dotenv",
        "meta_path",
        "path_hooks",
        "putenv",
        "setprofile",
        "settrace",
        "start_new_thread",
        "unsetenv",
    )
)
"""Names in a script with which it can change what an import does, or that goes on during one."""
READS = frozenset(("copy", "get", "items", "keys", "values"))
"""Methods of `os.environ` that leave it as it is."""
SETTINGS_OF_PYTHON = ("PYTHONSAFEPATH", "PYTHONINSPECT", "PYTHONPROFILEIMPORTTIME")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preload:
    """What is imported, and what tells that it is the same as in the first run."""

    script: str
    """Absolute, as Python names it."""
    imports: tuple[str, ...]
    """Statements at the top level of the user's own files, of libraries that the run imported."""
    parts: tuple[str, ...]
    """Modules of these libraries that the run imported when it needed them."""
    libraries: Mapping[str, str]
    """Name -> file, of parts, too."""
    sources: tuple[str, ...]
    """The user's own files, as the recording names them."""
    imports_first: bool
    """The main file imports before it does anything else."""
    random: Sequence[object] | None
    """Where the stream of `random` began."""


def preload_for(launch: Launch, seen: Recording) -> Preload | None:
    """None where every run of this launch must start plainly."""
    scripts = list({script.file: script for script in seen.all(Script)}.values())
    trees = {script.file: tree for script in scripts if (tree := parsed(script.text))}
    main = next((script for script in scripts if script.main), None)
    if main is None or main.file not in trees or len(trees) < len(scripts):
        return None
    if not is_plain(launch) or next(seen.all(Trace), None) is not None:
        return None
    if any(Path(name).is_absolute() for name in trees):  # elsewhere: where a copy lies is not known
        return None
    if any(map(changes_what_is_imported, trees.values())):
        return None
    libraries = {library.name: library.path for library in seen.all(Imported)}
    statements = [one for tree in trees.values() for one in imports_in(tree.body, libraries)]
    if not statements:
        return None
    began = {stream.stream: stream.state for stream in seen.all(Chance)}
    return Preload(
        script=os.path.join(launch.cwd, launch.command[1]),
        imports=tuple(map(ast.unparse, statements)),
        parts=tuple(name for name in libraries if "." in name),
        libraries=libraries,
        sources=tuple(trees),
        imports_first=imports_before_all_else(trees[main.file], libraries) and len(trees) == 1,
        random=began.get("random"),
    )


def is_plain(launch: Launch) -> bool:
    """`python script.py ...`, on a system where a fork can be looked into."""
    options = any(os.environ.get(name) for name in SETTINGS_OF_PYTHON)
    one_of_several = "RANK" in os.environ or "WORLD_SIZE" in os.environ
    is_script = len(launch.command) > 1 and launch.command[1].endswith(".py")
    is_python = Path(launch.command[0]).name.startswith("python")
    can_fork = Path("/proc/self/task").is_dir() and hasattr(os, "fork")
    return is_script and is_python and can_fork and not options and not one_of_several


def parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def imports_in(body: Sequence[ast.stmt], libraries: Mapping[str, str]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, ast.Import):
            names = [name for name in statement.names if root_of(name.name) in libraries]
            if names:
                yield ast.copy_location(ast.Import(names), statement)
        elif isinstance(statement, ast.ImportFrom) and not statement.level:
            if root_of(statement.module or "") in libraries:
                yield statement
        elif isinstance(statement, ast.Try):
            yield from imports_in(statement.body, libraries)


def root_of(name: str) -> str:
    return name.partition(".")[0]


def imports_before_all_else(tree: ast.Module, libraries: Mapping[str, str]) -> bool:
    last = max((one.lineno for one in imports_in(tree.body, libraries)), default=0)
    earlier = [statement for statement in tree.body if statement.lineno < last]
    return all(isinstance(one, ast.Import | ast.ImportFrom) or is_text(one) for one in earlier)


def is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def changes_what_is_imported(tree: ast.AST) -> bool:
    """Whether the source writes to the environment, or does something else of that kind."""
    reads = {id(node) for parent in ast.walk(tree) for node in read_in(parent)}
    return any(id(node) not in reads and is_a_change(node) for node in ast.walk(tree))


def is_a_change(node: ast.AST) -> bool:
    """Of what is not only read."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return any(alias.name in CHANGES for alias in node.names)
    if isinstance(node, ast.Name):
        return node.id == "environ" or node.id in CHANGES
    if not isinstance(node, ast.Attribute):
        return False
    of_python = isinstance(node.value, ast.Name) and node.value.id == "sys"
    return node.attr == "environ" or node.attr in CHANGES or (of_python and node.attr == "modules")


def read_in(node: ast.AST) -> Iterator[ast.AST]:
    """`os.environ` in `os.environ["A"]`, `os.environ.get("A")` and `"A" in os.environ`."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield node.value
    if isinstance(node, ast.Attribute) and node.attr in READS:
        yield node.value
    if isinstance(node, ast.Compare):
        yield from node.comparators


def still_fits(preload: Preload, cwd: Path) -> bool:
    """Whether the user's files, as they lie in a copy, still change nothing of what is imported: a
    patch can."""
    return all(fits(cwd / name) for name in preload.sources)


def fits(file: Path) -> bool:
    try:
        tree = parsed(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return False
    return tree is not None and not changes_what_is_imported(tree)
