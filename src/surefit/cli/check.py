"""`surefit check`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from surefit.doctor.cells import Cells
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule, refusal
from surefit.errors import BadInput
from surefit.render import console, outcome

from .notebooks import cells_in
from .run import refuse_missing, surroundings

if TYPE_CHECKING:
    from surefit.proof.preflight import Preflight

NOT_CHECKED = refusal(
    "SF023", "not-checked", "A script could not be run to its first optimizer step in a copy."
)
NO_STEP = Rule(
    "SF024",
    "no-optimizer-step",
    Severity.WARNING,
    "A script ended well without a step of an optimizer: nothing of a training was checked.",
)

LAST_LINES = 6
LATER = (
    "what comes after the first optimizer step: later batches, evaluation, saving, memory that"
    " grows, and faults that show only over several steps"
)


@dataclass(frozen=True, kw_only=True)
class Check:
    """How long it may take. These flags stand before the script."""

    seconds: float = 300.0
    """Seconds in which the script must come to its first optimizer step."""

    proof: bool = True
    """Try fixes on a copy of the folder."""

    proof_seconds: float = 60.0
    """Seconds that all tries together take at most."""


DEFAULTS = Check()


def check(*command: str, settings: Annotated[Check, Parameter(name="*")] = DEFAULTS) -> int:
    """Check a training script before a long run: read it, then run it to its first step.

    surefit check train.py --lr 3e-4
    surefit check train.ipynb
    surefit check --seconds 600 -m package.train

    The run is made in a copy of the folder, offline, and ended after the first optimizer
    step: nothing of yours is written. Its batches are its own, for a smaller one hides some
    faults and makes others. What it prints is not shown. The exit code is 0 if there is no
    error, 1 if there is one or the step was not reached.

    Parameters
    ----------
    command
        The script and its arguments; or `-m`, a module and its arguments; or a launcher.
    """
    from surefit.proof.snapshot import CannotTry

    refuse_missing(command, "check")
    cells = cells_in(command[0])
    script = command[0] if Path(command[0]).is_file() else None
    outcome.script = script or " ".join(command)
    read = read_first(script or script_in(command))
    try:
        made = run_to_the_first_step(command, script, cells, settings)
    except CannotTry as error:
        raise BadInput(cannot_be_checked(outcome.script, error.reason), *read) from error
    findings = [*met(made), *how_it_ended(made, outcome.script)]
    if cells is not None:
        findings = [cells.finding(one) for one in findings]
    findings += [one for one in read if not any(is_same(one, other) for other in findings)]
    tell(made, findings, cells)
    return int(any(one.severity is Severity.ERROR for one in findings))


def script_in(command: Sequence[str]) -> str | None:
    """The file that a launcher is given, or that a module's name stands for."""
    words = (
        [f"{one.replace('.', '/')}.py" for one in command[1:2]] if command[0] == "-m" else command
    )
    return next((one for one in words if one.endswith(".py") and Path(one).is_file()), None)


def read_first(script: str | None) -> list[Finding]:
    """What the rules say of the script alone; it is told with the rest."""
    from .lint import counted, read

    if script is None:
        console.say("Not read: no file of its own is named")
        return []
    found, faults = read(Path(script), Path.cwd())
    for line in faults:
        console.errors.print(f"surefit: {line}", soft_wrap=True)
    console.say(f"Read: {counted(len(found), 'finding') if found else 'nothing found'}")
    return found


def run_to_the_first_step(
    command: Sequence[str], script: str | None, cells: Cells | None, settings: Check
) -> "Preflight":
    from surefit.observe.script import Launch, python_command
    from surefit.proof.preflight import preflight

    launch = Launch(python_command(command), Path.cwd(), script, surroundings(cells))
    return preflight(
        launch,
        seconds=settings.seconds,
        prove_fixes=settings.proof,
        proof_seconds=settings.proof_seconds,
        progress=console.working,
    )


def cannot_be_checked(script: str, reason: str) -> Finding:
    return NOT_CHECKED.finding(
        Place(script),
        f"It was not run to its first step: {reason}.",
        why="A check writes nothing outside of a copy and talks to nobody, so that it can be made"
        " at any time.",
        fixes=(Fix(f"`surefit run {script}` runs it as it is, and watches."),),
    )


def met(made: "Preflight") -> list[Finding]:
    """Findings of the run, without those of a crash that the copy itself can have brought about."""
    lacked = made.lacked
    return [one for one in made.examined.findings if lacked is None or one.about != lacked.id]


def how_it_ended(made: "Preflight", script: str | None) -> Iterator[Finding]:
    """Where the first step was not reached, and no finding says why."""
    place, seconds = Place(script or ""), f"{made.seconds:,.1f} s"
    told = any(one.severity is Severity.ERROR for one in met(made))
    if made.reached_a_step or told:
        return
    if made.lacked is not None:
        said = made.lacked.said.partition("\n")[0]
        reason = f"it stops with {said}, and a copy is offline and writes nowhere else"
        yield cannot_be_checked(script or "", reason)
    elif made.stopped:
        yield NOT_CHECKED.finding(
            place,
            f"It came to no optimizer step in {made.seconds:,.0f} s, and was ended.",
            facts=last_lines(made),
            fixes=(Fix(f"Give it longer: `--seconds {2 * round(made.seconds)}`."),),
        )
    elif made.examined.code:
        yield NOT_CHECKED.finding(
            place,
            f"It ended with code {made.examined.code} after {seconds}, before its first optimizer"
            " step.",
            facts=last_lines(made),
        )
    else:
        yield NO_STEP.finding(
            place,
            f"It ended well after {seconds}, and no optimizer took a step: nothing of a training"
            " was checked.",
            facts=last_lines(made),
        )


def last_lines(made: "Preflight") -> list[Fact]:
    lines = [line for line in made.printed.splitlines() if line.strip()][-LAST_LINES:]
    return [Fact("the last that it printed", "\n".join(lines))] if lines else []


def is_same(one: Finding, other: Finding) -> bool:
    """A fault that was read was met in the run, too."""
    places = [(place.file, place.cell, place.line) for place in (one.place, other.place)]
    return one.rule == other.rule and places[0] == places[1]


def tell(made: "Preflight", findings: Sequence[Finding], cells: Cells | None) -> None:
    examined = made.examined
    outcome.exception = examined.exception
    outcome.not_observed = [*examined.not_observed]
    if cells is not None:
        outcome.not_observed = [*map(cells.text, examined.not_observed), *cells.left_out()]
    if made.reached_a_step:
        loss = "" if made.loss is None else f", loss {made.loss:.4f}"
        console.say(f"Run to its first optimizer step, in a copy: {made.seconds:,.1f} s{loss}")
    outcome.tell(*findings)
    for line in outcome.not_observed:
        console.errors.print(f"surefit: not observed: {line}", soft_wrap=True)
    for line in examined.faults:
        console.errors.print(f"surefit: {line}", soft_wrap=True)
    if made.reached_a_step:
        outcome.not_observed.append(f"not checked: {LATER}")
        console.say(f"Not checked: {LATER}")
