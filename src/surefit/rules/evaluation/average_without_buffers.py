"""An averaged model (EMA, SWA) is evaluated, and its batch norm statistics were never copied.

## What happens
The update of a moving average walks over `parameters()`. Running mean and variance of batch norm
are buffers and no parameters: in the average they stay at 0 and 1, as they were created.

## Why it matters
In evaluation mode batch norm divides by these statistics. The averaged model is near chance while
the one that learns is fine.

## What to do
Copy buffers in the update: `for b_ema, b in zip(ema.buffers(), model.buffers()): b_ema.copy_(b)`.
`torch.optim.swa_utils.AveragedModel` does so by itself, and `update_bn` computes the statistics
of the average itself.

## How it is recognised
A model that is never trained was called in evaluation mode. All its batch norms have mean 0 and
variance 1, those of a trained model with the same batch norms have not, and the source has a loop
in which parameters of one model follow those of another.
"""

from collections.abc import Iterator

from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, counted
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.copies_follow import StatisticsStayInitial
from surefit.laws.runs import law_holds
from surefit.laws.training.averaging_loops import AveragingLoop
from surefit.remedies.change import Change
from surefit.source.edits import inserted_after
from surefit.source.line_edits import shares_lines

RULE = Rule("SF357", "average-without-buffers", Severity.ERROR, __doc__)


@RULE.on(StatisticsStayInitial)
def average_is_evaluated_with_new_batch_norms(broken: StatisticsStayInitial, case: Case) -> Finding:
    copy, loop = broken.copy, broken.loop
    return case.finding(
        Place(loop.source.file, loop.statement.lineno, loop.statement.end_lineno),
        f"The average {code(loop.follower)} follows parameters alone, not buffers: the running mean"
        f" and variance of {counted(copy.norms, 'batch norm')} stay at their initial 0 and 1.",
        facts=(*broken.facts, *fact_at("evaluated at", broken.use)),
        why="Running statistics of batch norm are buffers, which `parameters()` does not give. In"
        " evaluation mode the average normalises by statistics that no batch has shaped.",
        remedies=list(ways(broken)),
    )


def ways(broken: StatisticsStayInitial) -> Iterator[Remedy]:
    loop = broken.loop
    if not shares_lines(loop.source, loop.statement):
        yield Change(
            to=inserted_after(loop.source, loop.statement, buffers_copied(loop)),
            words="Copy buffers in the update, too.",
            must=law_holds(broken),
        )


def buffers_copied(loop: AveragingLoop) -> str:
    slow, fast = (f"{name}_buffer" for name in loop.names)
    return (
        f"for {slow}, {fast} in zip({loop.follower}.buffers(), {loop.leader}.buffers()):\n"
        f"    {slow}.copy_({fast})"
    )
