"""Workers that start as a new Python are sent a part of the loader that cannot be pickled.

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
An exception was raised while a loader started a worker, inside the pickling of it, and the parts of
the loader that cannot be pickled are known.
"""

import ast
import re
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.processes import PartNotPicklable, Unpicklable
from surefit.laws.rows.arrivals import batch_arrives, loader_call
from surefit.remedies.arguments import SetArgument
from surefit.remedies.to_module import FunctionsToModule, InnerFunction
from surefit.source.reading import Source

SYMPTOM = Symptom(
    r"[Cc]an't pickle|cannot pickle|Can't get local object|PicklingError",
    "which part of the loader cannot be pickled",
)
RULE = Rule("SF803", "not-picklable", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

ONLY_WITH_WORKERS = {"multiprocessing_context", "prefetch_factor", "persistent_workers"}
"""Arguments of a loader that it refuses without workers."""


@RULE.on(PartNotPicklable)
def a_part_cannot_be_sent(broken: PartNotPicklable, case: Case) -> Finding:
    first = broken.parts[0]
    return case.finding(
        place_of(first, broken, case),
        f"{subject(first)} cannot be pickled, and the workers of this loader start as a new Python:"
        " what they work with is pickled and sent to them.",
        facts=(Fact(code(whole_path(part)), what(part)) for part in broken.parts),
        why="Only what a module has under a name can be found again by a new Python, and only"
        " values, not open files or locks, can be sent.",
        remedies=remedies(first, broken, case),
    )


def whole_path(part: Unpicklable) -> str:
    """`dataset.transform.steps[0]`."""
    dot = "." if part.attribute and not part.attribute.startswith("[") else ""
    return f"{part.part}{dot}{part.attribute}"


def subject(part: Unpicklable) -> str:
    article = "" if part.attribute else "The "
    return f"{article}{code(whole_path(part))}, {what(part)},"


def what(part: Unpicklable) -> str:
    if part.is_lambda:
        return "a lambda"
    if part.kind in ("function", "method"):
        return f"a function inside a function, `{part.name}`"
    return f"a `{part.name}`"


def source_of(part: Unpicklable, broken: PartNotPicklable, case: Case) -> Source | None:
    """The file that a function stands in; without one, the file of the loop."""
    return case.recording.source(part.file or None) or case.source(broken.use.place)


def place_of(part: Unpicklable, broken: PartNotPicklable, case: Case) -> Place:
    """Where the function stands, where the attribute gets its value, or where the class is."""
    source = source_of(part, broken, case)
    if source is None:
        return broken.use.place
    if part.line:
        return Place(source.file, part.line)
    names = re.findall(r"\w+", part.attribute)
    for node in source.every(ast.Assign) if names else ():
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr == names[-1]:
                return Place(source.file, node.lineno)
    for definition in source.definitions.get(part.name.rpartition(".")[2], ()):
        return Place(source.file, definition.lineno)
    assert case.crash is not None
    loader = loader_call(case.crash, case.recording)
    return Place(loader[0].file, loader[1].lineno) if loader else broken.use.place


def remedies(
    part: Unpicklable, broken: PartNotPicklable, case: Case
) -> Iterator[Remedy | Fix | None]:
    source, crash = source_of(part, broken, case), case.crash
    assert crash is not None
    must = batch_arrives(crash, case.recording)
    if part.attribute and not part.line:
        where = "in `__getitem__` where it is first needed, once in each worker"
        yield Fix(f"Open `{part.attribute}` {where}, and not in `__init__`.", choice=True)
    elif source is not None and part.line:
        yield FunctionsToModule(source=source, functions=inner_functions(broken), must=must)
    else:
        yield Fix("Make a function or class of the module of it.", choice=True)
    loader = loader_call(crash, case.recording)
    if loader is not None and not {word.arg for word in loader[1].keywords} & ONLY_WITH_WORKERS:
        yield SetArgument(
            at=case.expression(*loader),
            name="num_workers",
            value="0",
            words="Load in the process itself: `num_workers=0`; it is slower.",
            must=must,
            choice=True,
        )


def inner_functions(broken: PartNotPicklable) -> tuple[InnerFunction, ...]:
    """Every function that cannot be sent: where one is moved, the next one fails."""
    found = [part for part in broken.parts if part.line and part.file == broken.parts[0].file]
    return tuple(
        dict.fromkeys(InnerFunction(part.line, name_of(part), part.needs) for part in found)
    )


def name_of(part: Unpicklable) -> str:
    """Its own name; of a lambda, what holds it: `transform_steps` for `transform.steps[0]`."""
    if not part.is_lambda:
        return part.name.rpartition(".")[2]
    return "_".join(re.findall(r"[A-Za-z]\w*", part.attribute)) or part.part
