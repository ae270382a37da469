"""Rows of an evaluation are the same each time it is made."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.repeated_rows import LoaderPasses, RepeatedRows
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.operations.operation_calls import line_of

LAW = Law("repeated_rows", "an evaluation sees the same rows each time")
FEWEST = 2
"""Ways through the loader after the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRowsChange(BrokenLaw):
    """A loader of evaluation rows gives other inputs for the same labels each time."""

    loader: LoaderPasses


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    for seen in case.recording.all(RepeatedRows):
        for loader in seen.loaders:
            always = loader.changed == loader.passes >= FEWEST
            if not always or loader.place is None or not loader.shared:
                continue
            yield EvaluationRowsChange(
                use=line_of(case, loader.place),
                said="The inputs of an evaluation change from one time to the next, for the same"
                " rows: they are augmented at random, as in training.",
                facts=(
                    Fact("looked at", f"the first {counted(loader.rows, 'row')} of the loader"),
                    Fact("same labels, other inputs", f"{loader.changed} of {loader.passes} times"),
                    Fact(f"same {loader.shared}", "as the loader of the training rows"),
                ),
                fault=f"evaluation rows change {loader.place}",
                loader=loader,
            )


def watched(recording: Recording) -> MeasuredOn:
    loaders = [loader for seen in recording.all(RepeatedRows) for loader in seen.loaders]
    passes = sum(loader.passes for loader in loaders)
    if passes:
        return MeasuredOn(on=f"{counted(len(loaders), 'loader')}, read again {passes} times")
    return MeasuredOn(why_not="no loader of evaluation rows was read twice")
