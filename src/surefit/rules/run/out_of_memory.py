"""Memory ran out: what held it, what was asked for, and what would fit.

## What happens
An allocation failed, or the kernel ended the process because the machine had no memory left.

## Why it matters
The line that fails is the one that came last, not the one that took the memory. A list that keeps
every loss with its graph fails in whatever line happens to follow.

## What to do
Look at who holds most. A list of losses: keep numbers (`loss.item()`) or `loss.detach()`.
Evaluation: `torch.no_grad()`. A file that is read whole: `np.load(path, mmap_mode="r")`, or
`surefit.loaders`, which keeps to a budget. Otherwise fewer rows at once, with gradients gathered
over more batches.

## How it is recognised
The exception is one of memory, or the kernel's own count of such kills rose. Every tensor that is
alive is counted once, under the first that holds it: parameters, gradients, the optimizer's state,
names in your code, lists in your code. Tried are: reading a file in place, keeping the tensors of a
list without their graphs and, as a choice, half the rows of a loader.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.memory import PassesInLess
from surefit.doctor.conditions.read_in_place import ReadInPlace
from surefit.doctor.conditions.training import TrainingGoesOn
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Death, Held, Memory
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import bytes_of, code, counted, shape_of
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.memory import MemoryRanOut, WholeFileRead
from surefit.laws.rows.arrivals import loader_call
from surefit.remedies.append import Append
from surefit.remedies.arguments import SetArgument

SYMPTOMS = (
    Symptom(
        r"out of memory|OutOfMemoryError|can't allocate memory|Unable to allocate|^MemoryError"
        r"|CUBLAS_STATUS_ALLOC_FAILED|Cannot allocate memory",
        "which tensors hold the memory when the allocation fails, and whether a list keeps"
        " their graphs",
    ),
    Symptom(
        r"^Killed|SIGKILL|signal: Killed|Killed process|exited unexpectedly",
        "whether the kernel ended the process for its memory, and what held that",
    ),
)
RULE = Rule("SF801", "out-of-memory", Severity.ERROR, __doc__, symptoms=SYMPTOMS)

MOST_HOLDERS = 5


@RULE.on(MemoryRanOut)
def allocation_failed(broken: MemoryRanOut, case: Case) -> Finding:
    memory, kept = broken.memory, broken.kept
    fits = broken.would_fit if kept is None else ""
    return case.finding(
        (broken.filled or broken.use).place,
        headline(memory, kept),
        facts=(*facts(memory), *((Fact("what would fit", fits),) if fits else ())),
        why="Each of them keeps all results that backward would need." if kept else "",
        remedies=less_kept(broken, kept) if kept else fewer_rows(broken, case),
    )


def headline(memory: Memory, kept: Held | None) -> str:
    asked = bytes_of(memory.asked) if memory.asked else "What was asked for"
    if kept is None:
        most = f": {who(memory.held[0])} held most of it" if memory.held else ""
        return f"{asked} more did not fit in memory{most}."
    tensors = f"keeps tensors with their graphs, {bytes_of(kept.bytes)} in all"
    return f"`{kept.holder}` {tensors}, and {asked} more did not fit in memory."


def who(held: Held) -> str:
    return f"`{held.holder}`" if held.holder else held.what


def facts(memory: Memory) -> Iterator[Fact]:
    if memory.asked:
        yield Fact("asked for", bytes_of(memory.asked))
    if memory.total and memory.free is not None:
        room = f"{bytes_of(memory.total)}, {bytes_of(memory.free)} of it free"
        yield Fact(f"memory of {memory.device}", room)
    elif memory.total:
        yield Fact("limit of this process", bytes_of(memory.total))
    if memory.resident and memory.device == "cpu":
        yield Fact("in use by this process", bytes_of(memory.resident))
    for held in memory.held[:MOST_HOLDERS]:
        what = f", {held.what}" if held.holder else ""
        yield Fact(who(held), f"{bytes_of(held.bytes)} in {counted(held.tensors, 'tensor')}{what}")


def less_kept(broken: MemoryRanOut, kept: Held) -> Iterator[Remedy]:
    text = f"{broken.filled.text}.detach()" if broken.filled else f"{kept.holder}: `.detach()`"
    yield Append(
        at=broken.filled,
        suffix=".detach()",
        words=f"Keep the value without its graph: {code(text)}.",
        must=PassesInLess(),
        alike=False,
    )


def fewer_rows(broken: MemoryRanOut, case: Case) -> Iterator[Remedy | Fix]:
    if broken.with_graph:
        yield Fix(
            "The model is in evaluation mode and results keep their graphs: evaluate inside"
            " `with torch.no_grad():`.",
            choice=True,
        )
    rows, crash = broken.memory.batch, case.crash
    loader = loader_call(crash, case.recording) if crash is not None and rows else None
    if rows and rows > 1 and loader is not None:
        going_on = TrainingGoesOn(changes_the_past=True, rows_change=True)
        yield SetArgument(
            at=case.expression(*loader),
            name="batch_size",
            value=str(rows // 2),
            words=f"Take {rows // 2:,} rows at once, and gather gradients over two batches.",
            must=All((PassesInLess(changes_the_past=True), going_on)),
            choice=True,
        )
        return
    fewer = f"fewer rows at once{f' than {rows}' if rows else ''}"
    yield Fix(f"Give it {fewer}, and gather gradients over more batches.", choice=True)


@RULE.on(WholeFileRead)
def a_file_is_read_whole(broken: WholeFileRead, case: Case) -> Finding:
    read, memory = broken.read, broken.memory
    holds = f": {read.dtype} {shape_of(read.shape)}" if read.shape else ""
    more = bytes_of(memory.asked) if memory.asked else "what it asked for"
    return case.finding(
        broken.use.place,
        f"`{function_of(broken)}` reads the whole of {read.file}, {bytes_of(read.bytes)}, and"
        f" {more} did not fit in memory.",
        facts=(Fact(read.file, f"{bytes_of(read.bytes)}{holds}"), *facts(memory)),
        why="A batch needs a few rows of it; what is read in place takes memory only for these.",
        remedies=in_place(broken, case),
    )


def function_of(broken: WholeFileRead) -> str:
    """`np.load`, as the user's line has it."""
    written = broken.call.text.partition("(")[0] if broken.call is not None else ""
    return written or f"{broken.library}.{broken.function}"


def in_place(broken: WholeFileRead, case: Case) -> Iterator[Remedy | Fix]:
    if broken.library == "numpy" and broken.read.shape:
        yield SetArgument(
            at=broken.call,
            name="mmap_mode",
            value='"r"',
            words='Read it in place: `mmap_mode="r"`.',
            must=read_in_place(broken, case),
        )
        yield Fix(
            "Or let `surefit.loaders(data_path=..., batch_size=..., max_memory_gb=...)` read"
            " batches from the folder, within a budget.",
            choice=True,
        )
    elif broken.library == "torch":
        yield SetArgument(
            at=broken.call,
            name="mmap",
            value="True",
            words="Map it: `mmap=True`; tensors are then read from the file where they are used.",
            must=PassesInLess(),
        )
    elif broken.library == "pandas":
        yield Fix(
            "Read it in parts (`chunksize=`), or only the columns that are used (`usecols=`,"
            " `columns=`).",
            choice=True,
        )
    else:
        yield Fix(
            "Save the arrays as `.npy`, one file each, and read them with"
            ' `np.load(path, mmap_mode="r")`: other files cannot be read in place.',
            choice=True,
        )


def read_in_place(broken: WholeFileRead, case: Case) -> ReadInPlace | None:
    """The array under the name that the line gives it."""
    node, source = case.node(broken.call), case.source(broken.use.place)
    match source.statement_of(node) if source is not None and node is not None else None:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
            if value is node:
                read, name = broken.read, ast.unparse(target)
                return ReadInPlace(broken.use.place, name, read.shape, read.dtype)
    return None


@RULE.on(Death)
def kernel_ended_the_process(death: Death, recording: Recording) -> Iterator[Finding]:
    if not death.oom_killed:
        return
    used = f": {bytes_of(death.peak)} in use" if death.peak else ""
    of = f" of {bytes_of(death.limit)}" if death.peak and death.limit else ""
    last = (Fact("last seen", death.last),) if death.last else ()
    steps = (Fact("before that", counted(death.steps, "optimizer step")),) if death.steps else ()
    yield RULE.finding(
        death.place or recording.main_script(),
        f"The system ended the process because memory ran out{used}{of}.",
        facts=(*last, *steps),
        why="The kernel ends a process without an exception when the machine has no memory left.",
        fixes=(
            Fix("Give it fewer rows at once, or read data in place instead of whole.", choice=True),
        ),
    )
