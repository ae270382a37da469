"""Workers that begin anew are sent a part of the loader that cannot be sent.

## What happens
Where processes are started by `spawn` (on macOS and Windows, or because the script says so), each
worker is a new Python: the dataset and the functions of the loader are pickled and sent to it. A
lambda, a function or class inside a function, an open file and a lock cannot be pickled.

## Why it matters
With `fork`, as on most Linux machines, the same script runs; it fails on another machine. Without
workers it runs everywhere, and slowly.

## What to do
Make the function one of the module. Open files where they are first read, in the worker, and not in
`__init__`.

## How it is recognised
An exception was raised while a loader started a worker, inside the pickling of it, and of the parts
of the loader those that cannot be pickled are known. The text of the exception is not looked at.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.rows import RowsArrive
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Question
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code
from surefit.evidence.arrivals import LOADER, arrival, asking_frame, loader_call
from surefit.source.edits import both, inserted_before, replaced
from surefit.source.patches import Edit
from surefit.source.reading import Source

RULE = Rule(
    "SF803",
    "not-picklable",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"[Cc]an't pickle|cannot pickle|Can't get local object|PicklingError",
            "which part of the loader cannot be pickled",
        ),
    ),
)

PICKLING = "multiprocessing/reduction.py"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the loader, or what it holds, that cannot be pickled."""

    part: str
    attribute: str
    kind: str
    name: str
    file: str
    line: int
    needs: tuple[str, ...]

    @property
    def is_lambda(self) -> bool:
        return self.name.endswith("<lambda>")


@RULE.on(Crash)
def a_part_could_not_be_sent(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = asking_frame(crash)
    pickled = any(one.place.file.replace("\\", "/").endswith(PICKLING) for one in crash.frames)
    started = any(one.place.file.endswith(LOADER) for one in crash.frames)
    if frame is None or not pickled or not started or not is_cause(crash, seen):
        return
    said = seen.ask(Question("unpicklable", crash.id))
    parts = [
        Part(
            str(one["part"]),
            str(one["attribute"]),
            str(one["kind"]),
            str(one["name"]),
            str(one["file"]),
            int(one["line"]),
            tuple(one["needs"]),
        )
        for one in (said or {}).get("parts", ())
    ]
    if not parts:
        return
    first = parts[0]
    source = seen.source(frame.place)
    place = place_of(first, source, crash, seen) or frame.place
    yield RULE.finding(
        place,
        f"{subject(first)} cannot be pickled, and the workers of this loader begin anew: what they"
        " work with is pickled and sent to them.",
        facts=tuple(Fact(of_loader(one), what(one)) for one in parts),
        why="Only what a module has under a name can be found again by a new Python, and only"
        " values, not open files or locks, can be sent.",
        fixes=tuple(fixes(first, source, crash, seen)),
        python_said=crash.said,
        about=crash.id,
    )


def subject(one: Part) -> str:
    if one.attribute:
        return f"`{one.attribute}` of the dataset, a {code(one.kind)},"
    return f"The `{one.part}`, {what(one)},"


def of_loader(one: Part) -> str:
    return f"`{one.part}.{one.attribute}`" if one.attribute else f"`{one.part}`"


def what(one: Part) -> str:
    if one.is_lambda:
        return "a lambda"
    if one.kind in ("function", "method"):
        return f"a function inside a function, `{one.name}`"
    return f"a `{one.name}`"


def place_of(one: Part, source: Source | None, crash: Crash, seen: Recording) -> Place | None:
    """Where the function stands, where the attribute gets its value, or where the class is."""
    if source is None:
        return None
    if one.line:
        return Place(source.file, one.line)
    if one.attribute:
        for node in source.every(ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and target.attr == one.attribute:
                    return Place(source.file, node.lineno)
    for definition in source.definitions.get(one.name.rpartition(".")[2], ()):
        return Place(source.file, definition.lineno)
    found = loader_call(crash, seen)
    return Place(found[0].file, found[1].lineno) if found else None


def fixes(one: Part, source: Source | None, crash: Crash, seen: Recording) -> Iterator[Fix]:
    if one.attribute and not one.line:
        yield Fix(
            f"Open `{one.attribute}` in `__getitem__` where it is first needed, once in each"
            " worker, and not in `__init__`.",
            why_not_tried="how it is opened and closed is your own code",
        )
        return
    edit = of_the_module(one, source) if source else None
    rows = rows_of_a_batch(crash, seen)
    came = arrival(crash, seen)
    must = RowsArrive(rows, came.place, came.names, came.after) if rows and came else None
    why_not = "it uses names of the function that it stands in" if one.needs else ""
    if not edit and not why_not:
        why_not = "how it can stand alone only you know"
    yield Fix(
        "Make a function of the module of it: a worker finds that by its name.",
        edit,
        must,
        why_not if edit is None else "",
    )


def of_the_module(one: Part, source: Source) -> Edit | None:
    """`lambda rows: f(rows)` becomes a function before the statement that it stands in."""
    if not one.is_lambda or one.needs:
        return None
    found = [node for node in source.every(ast.Lambda) if node.lineno == one.line]
    if len(found) != 1:
        return None
    node = found[0]
    top = [outer for outer in source.up(node) if isinstance(outer, ast.stmt)][-1]
    name = one.part if one.part not in names_of(source) else f"{one.part}_of_loader"
    body = ast.unparse(node.body)
    text = f"def {name}({source.segment(node.args) or ast.unparse(node.args)}):\n    return {body}"
    try:
        edit = inserted_before(source, top, f"{text}\n\n")
    except ValueError:
        return None
    return both(edit, replaced(source, node, name))


def names_of(source: Source) -> set[str]:
    return {node.id for node in source.every(ast.Name)} | set(source.definitions)


def rows_of_a_batch(crash: Crash, seen: Recording) -> int | None:
    found = loader_call(crash, seen)
    size = found[0].argument(found[1], "batch_size", 1) if found else None
    value = found[0].value_of(size) if found and size else None
    number = value.value if isinstance(value, ast.Constant) else None
    return number if isinstance(number, int) else None
