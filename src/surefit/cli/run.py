"""`surefit run`."""

import atexit
from dataclasses import dataclass
from os import environ
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from surefit.did_you_mean import nearest
from surefit.doctor.cells import Cells
from surefit.doctor.findings import COMMAND_LINE, Fix, Severity
from surefit.doctor.rule import refusal
from surefit.errors import WrongCall
from surefit.render import console, outcome

from . import watched_laws
from .notebooks import cells_in

if TYPE_CHECKING:
    from surefit.examination import Examination

NO_SCRIPT = refusal("SF014", "no-such-script", "There is no script of that name to run.")


@dataclass(frozen=True, kw_only=True)
class Run:
    """How a script is run and what is done about its faults. These flags stand before it."""

    fix: bool = False
    """Write the patches that held to your files, after showing them."""

    proof: bool = True
    """Try fixes on a copy of the folder."""

    proof_seconds: float = 60.0
    """Seconds that all tries together take at most."""

    hang_after: float | None = None
    """Seconds without an event of training after which the run counts as hung: the stack of every
    process is taken, and the run is ended."""

    exit_zero: bool = False
    """Exit with 0 if the script does, whatever was found."""

    record: Path | None = None
    """A file that keeps all observations, as JSON Lines."""

    laws: bool = False
    """Say of each law whether it holds, on what it was measured, or why it was not."""


DEFAULTS = Run()


def run(*command: str, settings: Annotated[Run, Parameter(name="*")] = DEFAULTS) -> int:
    """Run a training script as it is, and say what went wrong in it, loudly or silently.

    surefit run train.py --lr 3e-4
    surefit run train.ipynb
    surefit run -m package.train
    surefit run torchrun --nproc-per-node 2 train.py
    torchrun --nproc-per-node 2 -m surefit run train.py

    The script's output and exit code are its own; what surefit has to say follows on stderr.
    A notebook's cells run in order as one script, in the current folder and without Jupyter;
    magics and shell lines are left out.

    Parameters
    ----------
    command
        The script and its arguments; or `-m`, a module and its arguments; or a launcher.
    """
    refuse_missing(command)
    cells = cells_in(command[0])

    from surefit.examination import examine
    from surefit.observe.script import Launch, python_command

    script = command[0] if Path(command[0]).is_file() else None
    outcome.script = script or " ".join(command)
    examined = examine(
        Launch(python_command(command), Path.cwd(), script, surroundings(cells)),
        prove_fixes=settings.proof,
        proof_seconds=settings.proof_seconds,
        hang_after=settings.hang_after,
        progress=console.working,
    )
    if examined.seat is not None:
        if not examined.seat.reports:
            outcome.told_elsewhere = True
            return examined.code
        atexit.register(examined.seat.close)  # when all is told, on stderr and in files
    tell(examined, cells, each_law=settings.laws)
    if settings.record is not None:
        keep(examined, settings.record)
    if settings.fix:
        mend(examined)
    failed = any(one.severity is Severity.ERROR for one in examined.findings)
    return examined.code or int(failed and not settings.exit_zero)


def refuse_missing(command: tuple[str, ...], name_of_command: str = "run") -> None:
    """Before anything is started."""
    from surefit.observe.script import program

    if not command or command == ("-m",):
        raise WrongCall(
            NO_SCRIPT.finding(
                COMMAND_LINE,
                f"`surefit {name_of_command}` was given no script.",
                fixes=(Fix(f"Name one:  surefit {name_of_command} train.py"),),
            )
        )
    name = command[0]
    if name == "-m" or Path(name).is_file() or program(name):
        return
    beside = [str(path) for kind in ("*.py", "*.ipynb") for path in Path(name).parent.glob(kind)]
    meant = nearest(name, beside)
    fixes = (Fix(f"Write `{meant}`, the nearest name."),) if meant else ()
    headline = f"There is no file `{name}`, and no command of that name."
    raise WrongCall(NO_SCRIPT.finding(COMMAND_LINE, headline, fixes=fixes))


def surroundings(cells: Cells | None) -> dict[str, str]:
    """Of a notebook: its pictures are drawn to nowhere, as no browser shows them."""
    return {} if cells is None or "MPLBACKEND" in environ else {"MPLBACKEND": "agg"}


def tell(examined: "Examination", cells: Cells | None = None, *, each_law: bool = False) -> None:
    """What was watched, findings, then what was not observed, then faults of surefit itself, a line
    each."""
    outcome.exception = examined.exception
    outcome.not_observed = [*examined.not_observed]
    findings = examined.findings
    if cells is not None:
        findings = tuple(map(cells.finding, findings))
        outcome.not_observed = [*map(cells.text, examined.not_observed), *cells.left_out()]
    tell_of_laws(examined, cells, each_law)
    if findings:
        console.errors.print()
    outcome.tell(*findings)
    for line in outcome.not_observed:
        console.errors.print(f"surefit: not observed: {line}", soft_wrap=True)
    for line in examined.faults:
        console.errors.print(f"surefit: {line}", soft_wrap=True)


def tell_of_laws(examined: "Examination", cells: Cells | None, each_law: bool) -> None:
    """Which laws were measured; of a script that failed, only in the JSON document."""
    from surefit.laws.runs import states

    known = states(examined.recording)
    outcome.add_part("laws", watched_laws.part(known, cells))
    if examined.code or console.quiet:
        return
    said = [*watched_laws.lines(known, examined.steps, cells)]
    said += watched_laws.detail(known, cells) if each_law else []
    for line in said:
        console.errors.print(f"surefit: {line}", soft_wrap=True, style="dim")


def keep(examined: "Examination", file: Path) -> None:
    from surefit.doctor.recording import as_line
    from surefit.writing import put

    lines = [as_line(one) + "\n" for one in examined.recording.observations]
    put(file, "".join(lines).encode())


def mend(examined: "Examination") -> None:
    """Writes what held; the diffs have been shown with the findings."""
    from surefit.proof.trial import apply

    for line in apply(examined.findings, Path.cwd()) or ["no fix held, so no file was changed"]:
        console.errors.print(f"surefit: {line}", soft_wrap=True)
