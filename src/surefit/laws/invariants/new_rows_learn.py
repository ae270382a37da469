"""New rows of a table of embeddings learn."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.measures.weights_learn import GrownTable, GrownTables
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn

LAW = Law("new_rows_learn", "embeddings of new tokens learn")
PROOF_STEPS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRowsFrozen(BrokenLaw):
    """A table was given rows for new tokens, they are used, and no optimizer holds them."""

    table: GrownTable


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    for measure in case.recording.all(GrownTables):
        for table in measure.tables if measure.process.rank in (None, 0) else ():
            if table.used and not table.held:
                yield NewRowsFrozen(
                    use=Expression(table.resized_at or case.recording.main_script()),
                    said=f"`{table.name}` was given {counted(table.added, 'row')} for new tokens,"
                    " which are among the inputs, and the table is frozen: no optimizer holds it,"
                    " and the new rows keep the numbers that they were created with.",
                    steps=table.step + PROOF_STEPS,
                    fault="new rows of a frozen table",
                    table=table,
                )


def watched(recording: Recording) -> MeasuredOn:
    tables = [table for measure in recording.all(GrownTables) for table in measure.tables]
    if not tables:
        return MeasuredOn(why_not="no table was given rows for new tokens")
    return MeasuredOn(on=counted(len(tables), "table"))
