"""A copy that is evaluated follows the model that learns, with its running statistics."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.copied_statistics import CopiedStatistics, StatisticsOfCopy
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, counted
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.operations.operation_calls import line_of
from surefit.laws.training.averaging_loops import AveragingLoop, averaging_loops

LAW = Law("copies_follow", "a copy that is evaluated follows the model that learns")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsStayInitial(BrokenLaw):
    """Batch norms of an average still have the statistics that they were created with."""

    copy: StatisticsOfCopy
    loop: AveragingLoop
    """Where its parameters follow."""


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    for measure in case.recording.all(CopiedStatistics):
        for copy in measure.copies:
            if copy.initial == copy.norms:
                yield from of_copy(copy, case)


def of_copy(copy: StatisticsOfCopy, case: Case) -> Iterator[StatisticsStayInitial]:
    """Nothing of a copy whose parameters do not follow either: it may be there to be compared
    with."""
    loops = list(averaging_loops(case.recording))
    if not loops or copy.site is None:
        return
    yield StatisticsStayInitial(
        use=line_of(case, copy.site.place),
        said=f"The running statistics of {counted(copy.initial, 'batch norm')} of an averaged"
        f" {code(copy.kind)} are still 0 and 1 when it is evaluated; those of the model that learns"
        f" have seen {counted(copy.batches, 'batch')}.",
        facts=(
            Fact("batch norms", f"{copy.initial} of {copy.norms} with mean 0 and variance 1"),
            Fact("model that learns", f"{counted(copy.batches, 'batch')} tracked"),
        ),
        steps=copy.step + 1,
        fault=f"statistics stay initial: {copy.serial}",
        copy=copy,
        loop=loops[0],
    )


def watched(recording: Recording) -> MeasuredOn:
    copies = [copy for measure in recording.all(CopiedStatistics) for copy in measure.copies]
    if not copies:
        return MeasuredOn(why_not="no copy of a model with batch norms was evaluated")
    return MeasuredOn(on=f"{len(copies)} evaluated beside a model that learns")
