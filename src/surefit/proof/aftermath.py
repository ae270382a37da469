"""What a patched run comes to when it goes on after it has held: the same fault, or another."""

import ast
from dataclasses import dataclass
from difflib import SequenceMatcher

from surefit.doctor.observations import Crash
from surefit.doctor.recording import Recording
from surefit.source.reading import Source, names_within


@dataclass(frozen=True, slots=True)
class Aftermath:
    """A crash that came later, and whether the fix has to answer for it."""

    crash: Crash
    by_the_fix: bool


def aftermath(
    first: Recording, fault: Crash | None, after: Recording, later: Recording | None
) -> Aftermath | None:
    """`after`: up to the steps that were asked for; `later`: all of the same run."""
    if fault is None or later is None:
        return None
    known = {crash.id for crash in after.all(Crash)}
    came = [crash for crash in later.all(Crash) if crash.id not in known]
    again = next((crash for crash in came if is_again(crash, fault)), None)
    if again is not None:
        return Aftermath(again, by_the_fix=True)
    ended = next((crash for crash in came if not crash.swallowed), None)
    if ended is None:
        return None
    return Aftermath(ended, is_of_the_patch(ended, first, later))


def same_place(crash: Crash) -> tuple[str, str]:
    """By its text: a patch moves lines."""
    return crash.kind, crash.own_frame.line if crash.own_frame else ""


def is_again(crash: Crash, fault: Crash) -> bool:
    """The same line, the same function called from another one, or the same words from the same
    place in a library."""
    if crash.kind != fault.kind or crash.own_frame is None or fault.own_frame is None:
        return False
    if same_place(crash) == same_place(fault):
        return True
    if callee(crash) and callee(crash) == callee(fault):
        return True
    ends = [
        (known.said, known.frames[-1].function, known.frames[-1].line) for known in (crash, fault)
    ]
    return ends[0] == ends[1]


def callee(crash: Crash) -> str:
    """What the user's failing expression calls: `model` of `model(**batch)`."""
    frame = crash.own_frame
    try:
        meant = ast.parse((frame and frame.expression) or "", mode="eval").body
    except SyntaxError:
        return ""
    return ast.unparse(meant.func) if isinstance(meant, ast.Call) else ""


def is_of_the_patch(crash: Crash, first: Recording, later: Recording) -> bool:
    """It came through a new line, or a statement fails that reads what a new line sets."""
    for number, frame in enumerate(reversed([frame for frame in crash.frames if frame.own])):
        before, source = first.source(frame.place), later.source(frame.place)
        if before is None or source is None or frame.place.line is None:
            continue
        new = new_lines(before, source)
        if frame.place.line in new:
            return True
        if number == 0 and reads_what_is_set(source, frame.place.line, new):
            return True
    return False


def new_lines(before: Source, after: Source) -> set[int]:
    matcher = SequenceMatcher(None, before.lines, after.lines, autojunk=False)
    changes = [change for change in matcher.get_opcodes() if change[0] != "equal"]
    return {line + 1 for *_, begin, end in changes for line in range(begin, end)}


def reads_what_is_set(source: Source, line: int, new: set[int]) -> bool:
    """Names of one scope: a loss of another function is another loss."""
    failing = source.statement_at(line)
    if failing is None:
        return False
    scope, read = source.scope_of(failing), set(names_within(failing, ast.Load))
    changed = (source.statement_at(number) for number in new)
    setting = [known for known in changed if isinstance(known, ast.Assign | ast.AnnAssign)]
    return any(
        source.scope_of(known) is scope and read & set(names_within(known, ast.Store))
        for known in setting
    )
