"""Loader workers read through a file handle that was opened before they were forked.

## What happens
A dataset opens a file, an archive or a database in `__init__`. Each forked worker inherits the
handle, and with it the file position, which all of them share: one worker seeks while another
reads. What comes back are bytes of another place: `zlib.error`, `BadZipFile: Bad CRC-32`,
`struct.error`, `UnpicklingError`, `database disk image is malformed`.

## Why it matters
The file is intact, and with `num_workers=0` all is well. Which row fails differs from run to run,
and bytes that decode by chance become wrong rows without any error.

## What to do
Open the handle in each worker: in `__getitem__` where it is first used, or once more where
`os.getpid()` is another one.

## How it is recognised
The crash is in one of several workers of a loader, in a function that reads through an object whose
file descriptor leads to the same open file in the parent process. A missing key, an index or a type
is not what wrong bytes lead to, and is left to other rules.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.training import TrainingGoesOn
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.shared_handles import HandleSharedByWorkers
from surefit.laws.rows.arrivals import loader_call
from surefit.remedies.arguments import SetArgument
from surefit.remedies.opened_per_process import OpenedPerProcess
from surefit.source.reading import Source

RULE = Rule(
    "SF988",
    "handle-shared-by-workers",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"while decompressing data|Bad CRC-32|disk image is malformed|invalid load key",
            "whether workers of a loader share a file handle",
        ),
    ),
)

ONLY_WITH_WORKERS = {"multiprocessing_context", "prefetch_factor", "persistent_workers"}
"""Arguments of a loader that it refuses without workers."""


@RULE.on(HandleSharedByWorkers)
def workers_share_a_file_position(broken: HandleSharedByWorkers, case: Case) -> Finding:
    handle = broken.handle
    source = case.source(broken.use)
    opening = opened_at(source, handle.text) if source is not None else None
    place = broken.use.place
    if source is not None and opening is not None:
        place = Place(source.file, opening.lineno)
    return case.finding(
        place,
        f"`{handle.text}`, a `{handle.kind}`, is opened once, before the loader forks its"
        f" {handle.workers} workers: they share its file handle and move each other's position, so"
        " that each reads bytes of another place.",
        facts=(
            Fact("the file", f"{handle.file}, open in the worker and in its parent"),
            Fact("fails at", f"{broken.use.place}  {broken.use.text}"),
        ),
        why="A fork copies the descriptor and not the open file: its position is one for all"
        " processes. The file itself is intact.",
        remedies=tuple(remedies(broken, case, source, opening)),
    )


def opened_at(source: Source, text: str) -> ast.Assign | None:
    """The only statement with a call that gives the handle its value."""
    found = [
        node
        for node in source.every(ast.Assign)
        if isinstance(node.value, ast.Call)
        and len(node.targets) == 1
        and ast.unparse(node.targets[0]) == text
    ]
    return found[0] if len(found) == 1 else None


def remedies(
    broken: HandleSharedByWorkers, case: Case, source: Source | None, opening: ast.Assign | None
) -> Iterator[Remedy | Fix]:
    must = TrainingGoesOn(changes_the_past=True)
    if source is not None and opening is not None:
        yield OpenedPerProcess(
            source=source,
            opening=opening,
            function=broken.function,
            must=must,
            words=f"Open `{broken.handle.text}` in each process that reads it.",
        )
    else:
        yield Fix("Open it in each worker, where it is first read.", choice=True)
    loader = loader_call(case.crash, case.recording) if case.crash is not None else None
    if loader is not None and not {word.arg for word in loader[1].keywords} & ONLY_WITH_WORKERS:
        yield SetArgument(
            at=case.expression(*loader),
            name="num_workers",
            value="0",
            words="Load in the process itself: `num_workers=0`; it is slower.",
            must=must,
            choice=True,
        )
