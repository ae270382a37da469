"""A cell that failed, diagnosed in the process that still holds its frames."""

from collections.abc import Iterable, Sequence
from types import TracebackType

from surefit.doctor.findings import Finding
from surefit.doctor.observations import Answer, Question
from surefit.observe.in_process import InProcess
from surefit.observe.inside.autopsy import crash, questions
from surefit.source.kernel import as_seen, cells
from surefit.watching import Findings, untried_findings


def diagnose_crash(error: BaseException) -> Findings:
    """Nothing where the process is watched from outside, by `surefit run`."""
    process = InProcess()
    process.begin()
    if not process.is_watching:
        return Findings()
    whole = error.__traceback__
    try:
        error.__traceback__ = from_first_cell(whole)
        crash.look(error)
        frames = [stood.frame for stood in crash.stack(error)]

        def answer(asked: Sequence[Question]) -> Iterable[Answer]:
            return [questions.answer(question, frames) for question in asked]

        findings = untried_findings(process.recording(), answer)
        return Findings(filter(tells_more_than_python, findings))
    finally:
        error.__traceback__ = whole
        process.end()


def tells_more_than_python(finding: Finding) -> bool:
    """Most cells that fail have a name misspelt; the traceback above has said it all."""
    return bool(finding.facts or finding.ruled_out or finding.fixes or finding.why)


def from_first_cell(traceback: TracebackType | None) -> TracebackType | None:
    """Without the frames of IPython before it."""
    files = {cell.file for cell in cells()}
    rest = traceback
    while rest is not None and as_seen(rest.tb_frame.f_code.co_filename) not in files:
        rest = rest.tb_next
    return rest or traceback
