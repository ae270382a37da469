"""Processes that start as a new Python run the script again: nothing keeps its training from them.

## What happens
Where processes are started by `spawn` or `forkserver` (on macOS and Windows, or because the script
says so), each worker is a new Python that first imports the script. Without
`if __name__ == "__main__":` it comes to the training loop itself, and is not allowed to start
workers of its own: "An attempt has been made to start a new process before the current process has
finished its bootstrapping phase". The main process only says that a worker exited unexpectedly.

## Why it matters
With `fork`, as on most Linux machines, the same script runs; it fails on another machine. A
`Process`, a `Pool`, an executor or `mp.spawn` at the top of a script fails in the same way; a pool
starts new workers for ever.

## What to do
Put what trains under `if __name__ == "__main__":`, best in a function `main()`. Classes and
functions that workers need stay outside.

## How it is recognised
A loader's worker has ended by an exception before any batch came, it was started as a new Python,
and the statement of the main script that asked for the batch stands under no such test. Of other
processes: one that imported the script came to a statement at its top that starts a process, and
was refused.
"""

from surefit.doctor.conditions.refused import NoProcessRefused
from surefit.doctor.findings import Fact, Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, spoken
from surefit.laws.case import Case
from surefit.laws.contracts.processes import ScriptRunAgain
from surefit.laws.rows.arrivals import batch_arrives
from surefit.remedies.main_guard import GUARD, GuardMain

SYMPTOM = Symptom(
    r"finished its\s+bootstrapping phase|worker \(pid.*exited unexpectedly",
    'whether the training stands under `if __name__ == "__main__":`',
)
RULE = Rule("SF804", "no-main-guard", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(ScriptRunAgain)
def the_script_is_run_again(broken: ScriptRunAgain, case: Case) -> Finding | None:
    workers = broken.started_by
    assert case.crash is not None
    must = batch_arrives(case.crash, case.recording) if workers else NoProcessRefused()
    who, starts = (
        ("worker of the loader", "workers") if workers else ("process that it starts", "process")
    )
    return case.finding(
        Place(broken.source.file, broken.top.lineno),
        f"This stands under no `{GUARD}`, and each {who} runs the script from its first line.",
        facts=(
            (Fact("workers are started by", spoken(map(code, workers))),)
            if workers
            else (
                *fact_at("started at", broken.use),
                Fact("refused", "in a process that was importing the script"),
            )
        ),
        why="A new Python imports the script to find what it works with; it comes to this line, may"
        f" start no {starts} of its own there, and ends.",
        remedies=(GuardMain(source=broken.source, top=broken.top, must=must),),
    )
