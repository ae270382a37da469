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
names in your code, lists in your code. Where a library was reading a file, its size is told, and
for a `.npy` reading in place is tried. A list whose tensors keep their graphs is named, and taking
the graphs off is tried; how many rows fit is a choice, and never called proved.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.conditions.read_in_place import ReadInPlace
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Death, Ended, Held, Memory, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import bytes_of, code, counted, shape_of
from surefit.evidence.whole_files import WholeFile, whole_file
from surefit.source.edits import appended, argument_added
from surefit.source.reading import Source

RULE = Rule(
    "SF801",
    "out-of-memory",
    Severity.ERROR,
    __doc__,
    symptoms=(
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
    ),
)

KEPT = "kept in a list of yours, each with its graph"
FOR_BACKWARD = "results kept for backward"
"""As the autopsy names them."""
MOST_HOLDERS = 5
ONLY_YOU = "how many rows, and how large a model, only you can choose"


@dataclass(frozen=True, slots=True)
class PassesInLess:
    """The patched run does not run out of memory, and has less in use at its peak."""

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs()

    def judge(self, before: Recording, after: Recording) -> Judgement:
        failed = [crash for crash in after.all(Crash) if crash.memory is not None]
        was, now = peak(before), peak(after)
        if failed or was is None or now is None:
            return Judgement(False, "memory ran out again" if failed else "no peak was measured")
        said = f"at most {bytes_of(now)} in use, {bytes_of(was)} in the first run"
        return Judgement(now < was, said)


def peak(seen: Recording) -> int | None:
    return max((ended.peak for ended in seen.all(Ended) if ended.peak), default=None)


@RULE.on(Crash)
def allocation_failed(crash: Crash, seen: Recording) -> Iterator[Finding]:
    memory, frame = crash.memory, crash.own_frame
    if memory is None or frame is None or crash.swallowed or not is_cause(crash, seen):
        return
    kept = next((held for held in memory.held if held.what == KEPT), None)
    whole = whole_file(crash, seen) if kept is None else None
    if whole is not None:
        yield read_whole(crash, memory, whole)
        return
    call = kept_at(kept.holder, crash, seen) if kept else None
    yield RULE.finding(
        call.place if call else frame.place,
        headline(memory, kept),
        facts=(*facts(memory), *(() if kept else would_fit(memory))),
        why="" if kept is None else "Each of them keeps all results that backward would need.",
        fixes=tuple(fixes(crash, memory, kept, call)),
        python_said=crash.said,
        about=crash.id,
    )


def read_whole(crash: Crash, memory: Memory, whole: WholeFile) -> Finding:
    """A file is larger than the memory that is left for it."""
    holds = f": {whole.dtype} {shape_of(whole.shape)}" if whole.shape else ""
    more = bytes_of(memory.asked) if memory.asked else "what it asked for"
    return RULE.finding(
        whole.frame.place,
        f"`{whole.written}` reads the whole of {whole.file}, {bytes_of(whole.bytes)}, and {more}"
        " did not fit in memory.",
        facts=(Fact(whole.file, f"{bytes_of(whole.bytes)}{holds}"), *facts(memory)),
        why="A batch needs a few rows of it; what is read in place takes memory only for these.",
        fixes=tuple(read_in_place(whole)),
        python_said=crash.said,
        about=crash.id,
    )


def read_in_place(whole: WholeFile) -> Iterator[Fix]:
    if whole.library == "numpy" and whole.shape:
        yield mapped(whole)
        yield Fix(
            "Or let `surefit.loaders(data_path=..., batch_size=..., max_memory_gb=...)` read"
            " batches from the folder, within a budget.",
            why_not_tried="how your script takes its batches only you can choose",
        )
    elif whole.library == "torch":
        yield Fix(
            f"Map it instead: `{whole.written}({whole.given}, mmap=True)`; tensors are then read"
            " from the file where they are used.",
            why_not_tried="files saved before torch 1.6 cannot be mapped, and it was not looked at",
        )
    elif whole.library == "pandas":
        yield Fix(
            "Read it in parts (`chunksize=`), or only the columns that are used (`usecols=`,"
            " `columns=`).",
            why_not_tried="which parts are needed only you know",
        )
    else:
        yield Fix(
            "Save the arrays as `.npy`, one file each, and read them with"
            ' `np.load(path, mmap_mode="r")`: other files cannot be read in place.',
            why_not_tried="the file itself must be written anew",
        )


def mapped(whole: WholeFile) -> Fix:
    text = f'Read it in place: `{whole.written}({whole.given}, mmap_mode="r")`.'
    source, call = whole.source, whole.call
    statement = source.statement_of(call) if source and call else None
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
            name = ast.unparse(target) if value is call else ""
        case _:
            name = ""
    if source is None or call is None or not name:
        return Fix(text, why_not_tried="what it gives back has no name on that line")
    must = ReadInPlace(whole.frame.place, name, whole.shape, whole.dtype)
    return Fix(text, argument_added(source, call, "mmap_mode", '"r"'), must)


@dataclass(frozen=True, slots=True)
class Kept:
    """The call that puts a tensor into a list."""

    source: Source
    given: ast.expr

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.given.lineno)


def kept_at(holder: str, crash: Crash, seen: Recording) -> Kept | None:
    """The one `holder.append(...)` in the functions on the way to the crash."""
    for frame in reversed(crash.frames):
        source = seen.source(frame.place) if frame.own else None
        statement = source.statement_at(frame.place.line or 0) if source else None
        if source is None or statement is None:
            continue
        found = [one for one in ast.walk(source.scope_of(statement)) if appends_to(one, holder)]
        if len(found) == 1 and isinstance(found[0], ast.Call):
            return Kept(source, found[0].args[0])
    return None


def appends_to(node: ast.AST, holder: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[_]):
            return name == holder
    return False


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
        tensors = counted(held.tensors, "tensor")
        yield Fact(who(held), f"{bytes_of(held.bytes)} in {tensors}{what}")


def would_fit(memory: Memory) -> Iterator[Fact]:
    """Rows, by what the batch has taken up to here; the way that is left takes more."""
    batch, asked, free = memory.batch, memory.asked, memory.free
    taken = sum(held.bytes for held in memory.held if held.what == FOR_BACKWARD)
    if not batch or not asked:
        return
    if free is None or asked <= free:
        yield Fact("what would fit", "not known: what was left of the limit was not measured")
        return
    rows = (free + taken) * batch // (taken + asked)
    said = f"at most {rows:,} of these {counted(batch, 'row')} come past this line"
    yield Fact("what would fit", said)


def fixes(crash: Crash, memory: Memory, kept: Held | None, call: Kept | None) -> Iterator[Fix]:
    if call is not None and kept is not None:
        text = code(f"{call.source.segment(call.given)}.detach()")
        yield Fix(
            f"Keep the value without its graph: {text}.",
            appended(call.source, call.given, ".detach()"),
            PassesInLess(),
        )
        return
    if kept is not None:
        yield Fix(
            f"Keep values without their graphs in `{kept.holder}`: `.detach()` or `.item()`.",
            why_not_tried="where it is filled was not found in your source",
        )
        return
    if evaluates_with_graph(crash):
        yield Fix(
            "The model is in evaluation mode and results keep their graphs: evaluate inside"
            " `with torch.no_grad():`.",
            why_not_tried="whether these results are used for backward only you know",
        )
    rows = f" than {memory.batch}" if memory.batch else ""
    yield Fix(
        f"Give it fewer rows at once{rows}, and gather gradients over more batches.",
        why_not_tried=ONLY_YOU,
    )


def evaluates_with_graph(crash: Crash) -> bool:
    graphs = any(value.requires_grad for frame in crash.frames for value in frame.values)
    return crash.layer is not None and not crash.layer.training and graphs


@RULE.on(Death)
def kernel_ended_the_process(death: Death, seen: Recording) -> Iterator[Finding]:
    if not death.oom_killed:
        return
    used = f": {bytes_of(death.peak)} in use" if death.peak else ""
    of = f" of {bytes_of(death.limit)}" if death.peak and death.limit else ""
    last = (Fact("last seen", death.last),) if death.last else ()
    steps = (Fact("before that", counted(death.steps, "optimizer step")),) if death.steps else ()
    yield RULE.finding(
        death.place or script_of(seen),
        f"The system ended the process because memory ran out{used}{of}.",
        facts=(*last, *steps),
        why="The kernel ends a process without an exception when the machine has no memory left.",
        fixes=(
            Fix(
                "Give it fewer rows at once, or read data in place instead of whole.",
                why_not_tried=ONLY_YOU,
            ),
        ),
    )


def script_of(seen: Recording) -> Place:
    files = [script.file for script in seen.all(Script) if script.main]
    return Place(files[0] if files else "the script")
