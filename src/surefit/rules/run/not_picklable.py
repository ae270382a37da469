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
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.processes import PartNotPicklable, Unpicklable
from surefit.laws.rows.arrivals import batch_arrives, loader_call
from surefit.remedies.arguments import SetArgument
from surefit.remedies.to_module import LambdaToModule

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
        facts=(
            Fact(code(f"{part.part}.{part.attribute}".rstrip(".")), what(part))
            for part in broken.parts
        ),
        why="Only what a module has under a name can be found again by a new Python, and only"
        " values, not open files or locks, can be sent.",
        remedies=remedies(first, broken, case),
    )


def subject(part: Unpicklable) -> str:
    if part.attribute:
        return f"`{part.attribute}` of the dataset, a {code(part.kind)},"
    return f"The `{part.part}`, {what(part)},"


def what(part: Unpicklable) -> str:
    if part.is_lambda:
        return "a lambda"
    if part.kind in ("function", "method"):
        return f"a function inside a function, `{part.name}`"
    return f"a `{part.name}`"


def place_of(part: Unpicklable, broken: PartNotPicklable, case: Case) -> Place:
    """Where the function stands, where the attribute gets its value, or where the class is."""
    source = case.source(broken.use.place)
    if source is None:
        return broken.use.place
    if part.line:
        return Place(source.file, part.line)
    for node in source.every(ast.Assign) if part.attribute else ():
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr == part.attribute:
                return Place(source.file, node.lineno)
    for definition in source.definitions.get(part.name.rpartition(".")[2], ()):
        return Place(source.file, definition.lineno)
    assert case.crash is not None
    loader = loader_call(case.crash, case.recording)
    return Place(loader[0].file, loader[1].lineno) if loader else broken.use.place


def remedies(
    part: Unpicklable, broken: PartNotPicklable, case: Case
) -> Iterator[Remedy | Fix | None]:
    source, crash = case.source(broken.use.place), case.crash
    assert crash is not None
    must = batch_arrives(crash, case.recording)
    if part.attribute and not part.line:
        where = "in `__getitem__` where it is first needed, once in each worker"
        yield Fix(f"Open `{part.attribute}` {where}, and not in `__init__`.", choice=True)
    elif part.is_lambda and not part.needs and source is not None:
        yield LambdaToModule(source=source, line=part.line, name=part.part, must=must)
    else:
        needs = f"; it uses {spoken(map(code, part.needs))} from there" if part.needs else ""
        yield Fix(f"Make a function or class of the module of it{needs}.", choice=True)
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
