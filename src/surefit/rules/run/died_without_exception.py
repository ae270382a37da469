"""A process ended without an exception: by a signal, by `os._exit`, or it stood still.

## What happens
A crash in compiled code, a kill from outside and a call that never returns leave no traceback.

## Why it matters
A job that is simply gone looks like a full disk, a lost node or a bug in the last line printed.

## What to do
It depends on the signal. SIGSEGV and SIGBUS: compiled code read memory that is not there; look at
the extension that the stack names, at a shared memory that is too small for the loader's workers,
at a file cut short while it was mapped. SIGABRT: a library gave up, and said why just before.
SIGKILL: the system or another person ended it. Standing still: compare where the processes wait.

## How it is recognised
By how the process ended, as its parent saw it. An end by Ctrl-C, by `sys.exit` or with code 0 is
none of this. Ends for want of memory belong to `out-of-memory`.
"""

import re
from collections.abc import Iterator

from surefit.doctor.causes import brings_down, came_later, failed
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Death, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import bytes_of, counted

SYMPTOM = Symptom(
    r"Segmentation fault|Bus error|Floating point exception|Illegal instruction|Aborted"
    r"|^Killed|SIG(SEGV|BUS|ABRT|FPE|ILL|KILL)|is killed by signal|exited unexpectedly",
    "which process ended, by which signal, and the line on which it stood",
)
RULE = Rule("SF802", "died-without-exception", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

MEANS = {
    "SIGSEGV": "compiled code read or wrote memory that is not its own",
    "SIGBUS": "a file or shared memory that was mapped is shorter than what was read of it",
    "SIGABRT": "compiled code gave up; what it printed just before says why",
    "SIGFPE": "compiled code divided an integer by zero",
    "SIGILL": "compiled code holds an instruction that this processor does not have",
    "SIGKILL": "the system or somebody else ended it; the kernel counted no kill for memory",
    "SIGTERM": "somebody else asked it to end: a scheduler, a time limit, `kill`",
    "SIGHUP": "the terminal that it was started from was closed",
    "SIGXCPU": "its limit of processor time was used up",
}
ASKED_TO_END = ("SIGTERM", "SIGHUP", "SIGXCPU")
NO_FAULT = ("SIGINT",)

WHAT_TO_DO = {
    "SIGSEGV": "Look at the extension that was being called: its version, or a file it read.",
    "SIGBUS": "Check the room in shared memory (`df /dev/shm`); in a container, `--shm-size`. With"
    " `num_workers=0` the loader needs none.",
    "SIGILL": "Install a build of that library for this processor.",
}
WHY_NOT = "the cause lies outside of the script's own lines"
MOST_STACK_LINES = 6


@RULE.on(Death)
def process_is_gone(death: Death, seen: Recording) -> Iterator[Finding]:
    deliberate = death.signal in NO_FAULT or (death.how == "exit" and death.code == 0)
    if death.oom_killed or deliberate or is_consequence(death, seen):
        return
    means, advice = MEANS.get(death.signal, ""), WHAT_TO_DO.get(death.signal)
    yield RULE.finding(
        death.place or seen.main_script(),
        headline(death),
        facts=tuple(facts(death, seen)),
        why=f"{death.signal}: {means}." if means else "",
        fixes=(Fix(advice, why_not_tried=WHY_NOT),) if advice else (),
        severity=Severity.WARNING if death.signal in ASKED_TO_END else None,
    )


def is_consequence(death: Death, seen: Recording) -> bool:
    """Something else failed, and the rest was ended after it."""
    others = [
        crash
        for crash in failed(seen)
        if crash.process.pid != death.process.pid and not brings_down(death, crash)
    ]
    ended = death.signal in (*ASKED_TO_END, "SIGKILL")
    return death.how == "signal" and any(ended or came_later(death, crash) for crash in others)


def headline(death: Death) -> str:
    who = whose(death)
    if death.how == "hang":
        return f"{who} stood still, and was ended."
    if death.how == "exit":
        return f"{who} ended with code {death.code} by `os._exit`: no exception, nothing tidied up."
    return f"{who} was ended by {death.signal}, and could raise no exception."


def whose(death: Death) -> str:
    process = death.process
    if process.role == "worker":
        return f"Worker {process.worker} of a loader"
    return "The process" if process.rank is None else f"Rank {process.rank} of {process.world}"


def facts(death: Death, seen: Recording) -> Iterator[Fact]:
    if death.last:
        yield Fact("last seen", death.last)
    elif death.steps:
        yield Fact("before that", counted(death.steps, "optimizer step"))
    if death.peak:
        limit = f" of {bytes_of(death.limit)}" if death.limit else ""
        yield Fact("most memory in use", f"{bytes_of(death.peak)}{limit}")
    for process, text in death.stacks.items():
        stack = "\n".join(innermost(text, seen))
        if stack:
            who = "it" if len(death.stacks) == 1 else process
            yield Fact(f"{who} stood at", stack)


def innermost(text: str, seen: Recording) -> list[str]:
    """The inner lines of the stack of the thread that got the signal."""
    blocks = [block for block in text.split("\n\n") if "File " in block]
    current = [block for block in blocks if block.startswith("Current thread")] or blocks[-1:]
    found = re.findall(r'File "([^"]+)", line (\d+) in (.+)', "".join(current))
    lines = [
        f"{known(file, seen)}:{line} {function}"
        for file, line, function in found
        if "/surefit/observe/" not in file and not file.startswith("<")
    ]
    return lines[:MOST_STACK_LINES]


def known(file: str, seen: Recording) -> str:
    """Under the name that the recording has for it; of a library's, from its package on."""
    own = [one.file for one in seen.all(Script) if file.endswith(f"/{one.file}")]
    return own[0] if own else file.rpartition("/site-packages/")[2]
