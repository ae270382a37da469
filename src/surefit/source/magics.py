"""A notebook's cell as Python: what only IPython understands is taken out, line for line.

No line moves and, where a statement stays, no column does.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from surefit.source.reading import parse

RUNS_THE_CELL = ("time", "timeit", "capture", "prun", "memit", "memray_flamegraph", "wandb")
"""Cell magics that are about how the Python under them is run."""
SILENT = (
    *("matplotlib", "load_ext", "reload_ext", "unload_ext", "autoreload", "config", "pylab"),
    *("precision", "who", "whos", "history", "reset", "autosave", "xmode", "pdb", "tensorboard"),
    *("time", "timeit", "capture", "prun", "memit", "wandb", "html", "javascript", "js", "latex"),
    *("markdown", "svg"),
)
"""Magics without which a training runs as it does with them."""
NAME = re.compile(r"[%!]+\s*([\w.]*)")
TIMED = re.compile(r"^(\s*)%(time|timeit)(?=\s+[A-Za-z_(\[])")
ENVIRONMENT = re.compile(r"^(\s*)%(?:set_)?env\s+(\w+)(?:\s*=\s*|\s+)(\S.*?)\s*$")
FOLDER = re.compile(r"^(\s*)%cd\s+(?:-q\s+)?(\S.*?)\s*$")
ASSIGNED = re.compile(r"^(\s*)([\w.,\s\[\]'\"]+?)\s*=\s*[!%](?!=)")
MARKS = re.compile(
    r"'''|\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|#.*|[()\[\]{}]|\\$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A line that was not run, from 1, as it is written."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Plain:
    """Lines of Python, as many as the cell has, and those whose effect is missing."""

    lines: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()


def without_magics(lines: Sequence[str]) -> Plain:
    """What parses as it is stays as it is, whatever its lines begin with."""
    if is_python("\n".join(lines)):
        return Plain(tuple(lines))
    if lines and lines[0].startswith("%%"):
        return with_cell_magic(lines)
    return Plain(tuple(plain_lines(lines)), tuple(missing(lines, starts(lines))))


def is_python(text: str) -> bool:
    try:
        parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def with_cell_magic(lines: Sequence[str]) -> Plain:
    """Its name decides whether the rest is Python."""
    name = name_of(lines[0])
    first = commented(lines[0])
    if name in RUNS_THE_CELL:
        rest = without_magics(lines[1:])
        moved = tuple(LeftOut(one.line + 1, one.text) for one in rest.left_out)
        return Plain((first, *rest.lines), moved)
    left_out = () if name in SILENT else (LeftOut(1, lines[0].strip()),)
    return Plain((first, *(f"# {line}" for line in lines[1:])), left_out)


def name_of(line: str) -> str:
    found = NAME.match(line.strip())
    return found[1] if found else ""


def commented(line: str) -> str:
    """`pass`, so that a block with nothing else in it stays one."""
    body = line.lstrip()
    return f"{line[: len(line) - len(body)]}pass  # {body}"


def plain_lines(lines: Sequence[str]) -> Iterator[str]:
    magic = starts(lines)
    continued = False
    for number, line in enumerate(lines, start=1):
        if continued:
            yield f"# {line}"
        elif number in magic:
            yield as_python(line)
        else:
            yield line
            continue
        continued = line.endswith("\\")


def as_python(line: str) -> str:
    """The statement behind `%time`, an environment variable, a change of folder; else nothing."""
    if timed := TIMED.match(line):
        indent = timed[1]
        return indent + "0;".ljust(timed.end() - len(indent)) + line[timed.end() :]
    if setting := ENVIRONMENT.match(line):
        return f'{setting[1]}__import__("os").environ[{setting[2]!r}] = {setting[3]!r}'
    if folder := FOLDER.match(line):
        return f'{folder[1]}__import__("os").chdir({folder[2]!r})'
    if assigned := ASSIGNED.match(line):
        return f"{assigned[1]}{assigned[2]} = []  # {line.strip()}"
    return commented(line)


def starts(lines: Sequence[str]) -> frozenset[int]:
    """Lines that begin a statement and are none of Python's: `%magic`, `!command`, `?help`."""
    found: set[int] = set()
    depth, string, continued = 0, "", False
    for number, line in enumerate(lines, start=1):
        if not (depth or string or continued) and is_magic(line):
            found.add(number)
            continued = line.endswith("\\")
            continue
        depth, string, continued = after(line, depth, string)
    return frozenset(found)


def is_magic(line: str) -> bool:
    body = line.strip()
    if body.startswith(("%", "!", "?")) or ASSIGNED.match(line):
        return True
    return body.endswith("?") and not body.startswith("#")


def after(line: str, depth: int, string: str) -> tuple[int, str, bool]:
    """Open brackets, the quotes of an open string, and whether the line goes on."""
    at, continued = 0, False
    while at <= len(line):
        if string:
            end = line.find(string, at)
            if end < 0:
                return depth, string, False
            at, string = end + 3, ""
        found = MARKS.search(line, at)
        if found is None:
            break
        at = max(found.end(), at + 1)
        mark = found[0]
        if mark in ("'''", '"""'):
            string = mark
        elif mark == "\\":
            continued = True
        else:
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(mark, 0)
    return max(depth, 0), string, continued


def missing(lines: Sequence[str], magic: frozenset[int]) -> Iterator[LeftOut]:
    """Shell lines, and magics that a training can depend on."""
    for number in sorted(magic):
        line = lines[number - 1]
        body = line.strip()
        known = TIMED.match(line) or ENVIRONMENT.match(line) or FOLDER.match(line)
        if known or body.startswith("?") or body.endswith("?"):
            continue
        if body.startswith("%") and name_of(line) in SILENT:
            continue
        yield LeftOut(number, body)
