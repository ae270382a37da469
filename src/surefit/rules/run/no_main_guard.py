"""Workers that begin anew run the script again, because nothing keeps its training from them.

## What happens
Where processes are started by `spawn` or `forkserver` (on macOS and Windows, or because the script
says so), each worker is a new Python that first imports the script. Without
`if __name__ == "__main__":` it comes to the training loop itself, and is not allowed to start
workers of its own: "An attempt has been made to start a new process before the current process has
finished its bootstrapping phase". The main process only says that a worker exited unexpectedly.

## Why it matters
With `fork`, as on most Linux machines, the same script runs; it fails on another machine. What
stands above the loop, the reading of data and the making of models, is done once more in each
worker.

A `Process`, a `Pool`, an executor or `mp.spawn` that stands at the top of a script fails in the
same way; a pool starts new workers for ever.

## What to do
Put what trains under `if __name__ == "__main__":`, best in a function `main()`. Classes and
functions that workers need stay outside.

## How it is recognised
A loader's worker has ended by an exception before any batch came, its kind is that of workers which
begin anew, and the statement of the main script that asked for the batch stands under no such test.
Of other processes: one that imported the script came to a statement at its top that starts a
process, and was refused. The text of the exception is not looked at.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause, is_refused
from surefit.doctor.conditions.refused import NoProcessRefused
from surefit.doctor.conditions.rows import RowsArrive
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Question, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import spoken
from surefit.evidence.arrivals import LOADER, arrival, loader_call
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source
from surefit.source.spans import Span

RULE = Rule(
    "SF804",
    "no-main-guard",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"finished its\s+bootstrapping phase|worker \(pid.*exited unexpectedly",
            'whether the training stands under `if __name__ == "__main__":`',
        ),
    ),
)

BEGIN_ANEW = {"SpawnProcess": "spawn", "ForkServerProcess": "forkserver"}
GUARD = 'if __name__ == "__main__":'
STEP = "    "


@RULE.on(Crash)
def workers_ran_the_script_again(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = next((one for one in crash.frames if one.own), None)
    asked = any(one.place.file.replace("\\", "/").endswith(LOADER) for one in crash.frames)
    if frame is None or not asked or not is_cause(crash, seen) or crash.process.role != "main":
        return
    source = main_script(frame, seen)
    statement = source.statement_at(frame.place.line or 0) if source else None
    if source is None or statement is None:
        return
    top = [statement, *(one for one in source.up(statement) if isinstance(one, ast.stmt))][-1]
    if isinstance(top, ast.If) and is_guard(top):
        return
    how = begun(crash, seen)
    if how is None:
        return
    yield RULE.finding(
        Place(source.file, top.lineno),
        f"This stands under no `{GUARD}`, and each worker of the loader runs the script from its"
        " first line.",
        facts=(Fact("workers are started by", spoken(f"`{one}`" for one in how)),),
        why="A worker that begins anew imports the script to find the dataset; it comes to this"
        " line, may start no workers of its own there, and ends.",
        fixes=(fix(crash, seen, source, top),),
        python_said=crash.said,
        about=crash.id,
    )


@RULE.on(Crash)
def a_process_ran_the_script_again(crash: Crash, seen: Recording) -> Iterator[Finding]:
    """A process that was started to run one function, and was refused when it started others."""
    frame = next((one for one in crash.frames if one.own), None)
    if frame is None or not is_refused(crash) or not is_cause(crash, seen):
        return
    source = main_script(frame, seen)
    statement = source.statement_at(frame.place.line or 0) if source else None
    if source is None or statement is None:
        return
    top = [statement, *(one for one in source.up(statement) if isinstance(one, ast.stmt))][-1]
    if isinstance(top, ast.If) and is_guard(top):
        return
    edit = guarded(source, top)
    yield RULE.finding(
        Place(source.file, top.lineno),
        f"This stands under no `{GUARD}`, and each process that it starts runs the script from its"
        " first line.",
        facts=(
            Fact("started at", f"{frame.place}  {' '.join(frame.line.split())}"),
            Fact("refused", "in a process that was importing the script"),
        ),
        why="A process that begins anew imports the script to find the function; it comes to this"
        " line, may start no process of its own there, and ends.",
        fixes=(
            Fix(
                f"Put it, and what follows, under `{GUARD}`.",
                edit,
                NoProcessRefused() if edit else None,
                "" if edit else "what of the script the processes need only you know",
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def main_script(frame: Frame, seen: Recording) -> Source | None:
    """Of a line that runs when the script itself is run, or imported."""
    main = any(one.main and one.file == frame.place.file for one in seen.all(Script))
    return seen.source(frame.place) if main and frame.function == "<module>" else None


def is_guard(node: ast.If) -> bool:
    names = [one.id for one in ast.walk(node.test) if isinstance(one, ast.Name)]
    return "__name__" in names


def begun(crash: Crash, seen: Recording) -> list[str] | None:
    """How the workers were started, where they begin anew and one has failed."""
    said = seen.ask(Question("workers-begun", crash.id)) or {}
    kinds, codes = said.get("kinds", ()), said.get("codes", ())
    if not kinds or any(one not in BEGIN_ANEW for one in kinds) or 1 not in codes:
        return None
    return [BEGIN_ANEW[one] for one in kinds]


def fix(crash: Crash, seen: Recording, source: Source, top: ast.stmt) -> Fix:
    edit = guarded(source, top)
    came = arrival(crash, seen)
    rows = rows_of_a_batch(crash, seen)
    must = RowsArrive(rows, came.place, came.names, came.after) if rows and came else None
    return Fix(
        f"Put it, and what follows, under `{GUARD}`.",
        edit if must else None,
        must if edit else None,
        "" if edit and must else "what of the script the workers need only you know",
    )


def guarded(source: Source, top: ast.stmt) -> Edit | None:
    """From a statement to the end of the file; None where that would change a text of several
    lines, or hide a definition."""
    module = source.scope_of(top)
    body = module.body if isinstance(module, ast.Module) else []
    behind = body[body.index(top) :] if top in body else []
    inside = [one for node in behind for one in ast.walk(node)]
    texts = [one for one in inside if isinstance(one, ast.Constant | ast.JoinedStr)]
    if not behind or any(one.end_lineno != one.lineno for one in texts):
        return None
    if any(isinstance(one, ast.FunctionDef | ast.ClassDef) for one in behind):
        return None
    first, last = top.lineno, behind[-1].end_lineno or top.lineno
    lines = [line for line in range(first, last + 1) if source.lines[line - 1].strip()]
    head = Replace(Span(first, 0, first, 0), f"{GUARD}{source.newline}{STEP}")
    return Edit(source.file, (head, *(Replace(Span(n, 0, n, 0), STEP) for n in lines[1:])))


def rows_of_a_batch(crash: Crash, seen: Recording) -> int | None:
    found = loader_call(crash, seen)
    size = found[0].argument(found[1], "batch_size", 1) if found else None
    value = found[0].value_of(size) if found and size else None
    number = value.value if isinstance(value, ast.Constant) else None
    return number if isinstance(number, int) else None
