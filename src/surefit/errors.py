"""The errors that surefit itself raises; each carries what it found.

SurefitError
├── BadInput     rows, models, folders or checkpoints that cannot be worked on: exit code 1
├── WrongCall    flags, settings or arguments that make no sense: exit code 2
└── Stopped      the user pressed Ctrl-C; what was done is saved: exit code 130
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import ClassVar

from surefit.doctor.findings import Finding


class SurefitError(Exception):
    """An error that the user can fix, with its findings."""

    exit_code: ClassVar[int] = 1

    def __init__(self, *findings: Finding) -> None:
        self.findings = findings
        super().__init__("\n".join(f"{f.place}: {f.headline}" for f in findings))

    def _render_traceback_(self) -> list[str]:
        """In a notebook, in place of the frames that led here: they are surefit's own."""
        from surefit.render.terminal import text

        return text(self.findings).splitlines() or [f"{type(self).__name__}: {self}"]


class BadInput(SurefitError):  # noqa: N818 - it reads as what it is
    """Rows, a model, a folder or a checkpoint that cannot be worked on."""


class WrongCall(SurefitError):  # noqa: N818
    """Flags, settings or arguments that make no sense."""

    exit_code = 2


class Stopped(SurefitError):  # noqa: N818
    """The user stopped the run; what was done is saved."""

    exit_code = 130


def refuse_if(findings: Iterable[Finding]) -> None:
    """Raises `BadInput` with all of the findings, if there are any."""
    found = tuple(findings)
    if found:
        raise BadInput(*found)


@contextmanager
def refused_as(finding: Callable[[Exception], Finding]) -> Iterator[None]:
    """Around the reading of a file of the user's: whatever is raised becomes a refusal of it.

    Libraries raise almost anything on bytes that they were not made for. What is missing in the
    environment is no fault of a file, and passes.
    """
    try:
        yield
    except (SurefitError, ImportError):
        raise
    except Exception as error:
        raise BadInput(finding(error)) from error
