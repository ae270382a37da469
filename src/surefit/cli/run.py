"""`surefit run`."""

import atexit
from collections.abc import Sequence
from dataclasses import dataclass
from os import environ
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from surefit.did_you_mean import nearest
from surefit.doctor.cells import Cells
from surefit.doctor.findings import COMMAND_LINE, Finding, Fix, Severity
from surefit.doctor.rule import refusal
from surefit.errors import WrongCall
from surefit.render import console, outcome

from . import watched_laws
from .notebooks import cells_in

if TYPE_CHECKING:
    from surefit.examination import Examination
    from surefit.laws.in_time import InTime

NO_SCRIPT = refusal("SF014", "no-such-script", "The script does not exist.")


@dataclass(frozen=True, kw_only=True)
class Run:
    """How to run the script and what to do with the findings. These flags go before the script."""

    fix: bool = False
    """Show the patches whose trial held, then apply them to your files."""

    proof: bool = True
    """Try each fix on a copy of the folder."""

    proof_seconds: float = 60.0
    """Time limit for all trials together, in seconds."""

    trust_trial: bool = False
    """Try fixes even if this system cannot sandbox the trial run."""

    hang_after: float | None = None
    """Treat the run as hung after this many seconds without training activity: record the stack of
    every process, then end the run."""

    exit_zero: bool = False
    """Exit with 0 if the script does, even if there are findings of severity error."""

    record: Path | None = None
    """Write all observations of the run to this file, as JSON Lines."""

    html: Path | None = None
    """Write an HTML page of this run: verdict, findings with patches and proofs, losses, laws."""

    in_time: bool = True
    """Print findings as soon as they are certain, while the script still runs."""

    stop_on: Literal["error", "warning"] | None = None
    """End the run with exit code 1 at the first certain finding of at least this severity."""

    laws: bool = False
    """List every law: whether it holds, what it was measured on, or why it was not measured."""


DEFAULTS = Run()


def run(*command: str, settings: Annotated[Run, Parameter(name="*")] = DEFAULTS) -> int:
    """Run a training script unchanged and diagnose crashes and silent failures.

    surefit run train.py --lr 3e-4
    surefit run train.ipynb
    surefit run -m package.train
    surefit run torchrun --nproc-per-node 2 train.py
    torchrun --nproc-per-node 2 -m surefit run train.py

    The script keeps its output and its exit code; findings are printed to stderr.
    The exit code is 1 if the script succeeds but a finding has severity error. The
    cells of a notebook run in order as one script, in the current folder, without
    Jupyter; magics and shell commands are skipped.

    Parameters
    ----------
    command
        A script, `-m MODULE`, or a launcher such as `torchrun`, followed by its arguments.
    """
    refuse_missing(command)
    if settings.html is not None:
        refuse_no_page(settings.html)
    cells = cells_in(command[0])

    from surefit.examination import examine
    from surefit.observe.inside.traces.walls import TRUSTED
    from surefit.observe.script import Launch, python_command
    from surefit.observe.watching import FINDING

    if settings.trust_trial:
        environ[TRUSTED] = "1"
    script = command[0] if Path(command[0]).is_file() else None
    outcome.script = script or " ".join(command)
    in_time = watcher(settings, cells)
    examined = examine(
        Launch(python_command(command), Path.cwd(), script, surroundings(cells)),
        prove_fixes=settings.proof,
        proof_seconds=settings.proof_seconds,
        hang_after=settings.hang_after,
        progress=console.working,
        in_time=in_time,
    )
    if examined.seat is not None:
        if not examined.seat.reports:
            outcome.told_elsewhere = True
            return examined.code
        atexit.register(examined.seat.close)  # when all is told, on stderr and in files
    if examined.stopped == FINDING:
        said = f"stopped at the first certain {settings.stop_on} (--stop-on)"
        console.errors.print(f"surefit: {said}", soft_wrap=True)
    tell(examined, cells, in_time, each_law=settings.laws)
    if settings.record is not None:
        keep(examined, settings.record)
    if settings.html is not None:
        write_html(examined, command, settings.html)
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
                f"`surefit {name_of_command}` needs a script.",
                fixes=(Fix(f"Name one:  surefit {name_of_command} train.py"),),
            )
        )
    name = command[0]
    if name == "-m" or is_program(Path(name)) or program(name):
        return
    beside = [str(path) for kind in ("*.py", "*.ipynb") for path in Path(name).parent.glob(kind)]
    meant = nearest(name, beside)
    fixes = (Fix(f"Write `{meant}`, the nearest name."),) if meant else ()
    headline = f"There is no file and no command named `{name}`."
    raise WrongCall(NO_SCRIPT.finding(COMMAND_LINE, headline, fixes=fixes))


def is_program(path: Path) -> bool:
    """A script, or a folder that Python runs by its `__main__.py`."""
    return path.is_file() or (path / "__main__.py").is_file()


def watcher(settings: Run, cells: Cells | None) -> "InTime | None":
    """Who prints what is certain while the run goes on."""
    from surefit.laws.in_time import InTime

    def shown(findings: Sequence[Finding]) -> None:
        console.errors.print()
        outcome.show(*(findings if cells is None else map(cells.finding, findings)))

    if not (settings.in_time or settings.stop_on):
        return None
    return InTime(shown, Severity(settings.stop_on) if settings.stop_on else None)


def surroundings(cells: Cells | None) -> dict[str, str]:
    """Of a notebook: its pictures are drawn to nowhere, as no browser shows them."""
    return {} if cells is None or "MPLBACKEND" in environ else {"MPLBACKEND": "agg"}


def tell(
    examined: "Examination",
    cells: Cells | None = None,
    in_time: "InTime | None" = None,
    *,
    each_law: bool = False,
) -> None:
    """What was watched, findings, then what was not observed, then faults of surefit itself, a line
    each. What was shown while the run went on is a line, unless there is a proof to show."""
    outcome.exception = examined.exception
    outcome.not_observed = [*examined.not_observed]
    findings = examined.findings
    if cells is not None:
        findings = tuple(map(cells.finding, findings))
        outcome.not_observed = [*map(cells.text, examined.not_observed), *cells.left_out()]
    tell_of_laws(examined, cells, each_law)
    if findings:
        console.errors.print()
    outcome.keep(*findings)
    for plain, finding in zip(examined.findings, findings, strict=True):
        again = in_time is not None and shown_enough(plain, in_time)
        (outcome.show_in_a_line if again else outcome.show)(finding)
    for line in outcome.not_observed:
        console.errors.print(f"surefit: not observed: {line}", soft_wrap=True)
    for line in examined.faults:
        console.errors.print(f"surefit: {line}", soft_wrap=True)


def shown_enough(finding: Finding, in_time: "InTime") -> bool:
    """It was shown in full, and nothing was tried since."""
    tried = [fix.proof for fix in finding.fixes if fix.proof and fix.proof.status != "not-tried"]
    return in_time.was_said(finding) and not tried


def tell_of_laws(examined: "Examination", cells: Cells | None, each_law: bool) -> None:
    """Which laws were measured; of a script that failed, only in the JSON document."""
    from surefit.laws.runs import states

    known = states(examined.recording)
    outcome.add_part("laws", watched_laws.part(known, cells))
    if (examined.code and not examined.stopped) or console.quiet:
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


def refuse_no_page(file: Path) -> None:
    """Before the run, not after it."""
    from surefit.render.page.html import check_parts
    from surefit.render.page.write import refuse_other_file

    check_parts()
    refuse_other_file(file)


def write_html(examined: "Examination", command: Sequence[str], file: Path) -> None:
    from surefit.render.json_document import as_struct
    from surefit.render.page.write import write_page

    from .script_page import page_of_script

    findings = [as_struct(finding) for finding in outcome.findings]
    laws: Any = outcome.parts["laws"]
    write_page(page_of_script(examined, command, findings, laws, outcome.not_observed), file)
    console.errors.print(f"surefit: page of this run: {file}", soft_wrap=True)


def mend(examined: "Examination") -> None:
    """Writes what held; the diffs have been shown with the findings."""
    from surefit.proof.trial import apply

    for line in apply(examined.findings, Path.cwd()) or [
        "no fix held in its trial; no file was changed"
    ]:
        console.errors.print(f"surefit: {line}", soft_wrap=True)
