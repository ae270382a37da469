"""`surefit check`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from surefit.doctor.cells import Cells
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Steps
from surefit.doctor.rule import Rule, refusal
from surefit.doctor.words import counted, spoken
from surefit.errors import BadInput
from surefit.render import console, outcome
from surefit.settings import Bound
from surefit.settings import check as refuse_wrong

from . import few_rows
from .notebooks import cells_in
from .run import refuse_missing, surroundings
from .self_test import self_test

if TYPE_CHECKING:
    from surefit.preflight import Preflight

NOT_CHECKED = refusal(
    "SF023", "not-checked", "A script could not be run to its first optimizer step in a copy."
)
NO_STEP = Rule(
    "SF024",
    "no-optimizer-step",
    Severity.WARNING,
    "The script succeeded without an optimizer step, so no training was checked.",
)

NOT_FINITE = Rule(
    "SF025",
    "first-losses-not-finite",
    Severity.ERROR,
    "The loss is NaN or infinite in the first steps of a check.",
)

LAST_LINES = 6
LATER = "later batches, growing memory, and faults that appear only after many steps"
FEWEST = 2
"""Rows that batch normalisation and a loss over pairs can do with."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """What to check, and time limits. These flags go before the script."""

    rows: int = 4
    """Rows to keep of each `DataLoader` batch (at least 2); 0 keeps all."""

    seconds: float = 300.0
    """Time limit for the first optimizer step, in seconds."""

    further: float = 30.0
    """Seconds to continue after the first step, towards the first evaluation and save; 0 stops at
    the first step."""

    proof: bool = True
    """Try each fix on a copy of the folder."""

    proof_seconds: float = 60.0
    """Time limit for all trials together, in seconds."""

    self_test: bool = False
    """Test operations that training relies on, on this device; no script needed."""

    def __post_init__(self) -> None:
        some = Bound(lambda rows: rows == 0 or rows >= FEWEST, f"0 or at least {FEWEST}")
        refuse_wrong(self, rows=some)


DEFAULTS = Check()


def check(*command: str, settings: Annotated[Check, Parameter(name="*")] = DEFAULTS) -> int:
    """Check a training script before a long run: lint it, then run its first steps.

    surefit check train.py --lr 3e-4
    surefit check train.ipynb
    surefit check --seconds 600 -m package.train
    surefit check --rows 0 train.py
    surefit check --self-test

    The script runs offline in a copy of the folder; your files are not changed and
    its output is not shown. The run ends after the first optimizer step, evaluation
    and save, or 30 s after the first step (`--further`).

    To save time, `DataLoader` batches are cut to their first rows (`--rows`) and
    epochs to a few batches. If something fails, the script runs again with full
    batches, and the failure is reported only if it happens there, too. Iterable
    datasets, custom batch samplers and launched runs are not cut.

    The exit code is 1 if there is an error, a law is broken, the loss is not
    finite, or no optimizer step was reached.

    `--self-test` tests views of slices, the gradient scaler, precisions and losses
    on this device in seconds, before the script if one is given.

    Parameters
    ----------
    command
        A script, `-m MODULE`, or a launcher such as `torchrun`, followed by its arguments.
    """
    from surefit.laws.runs import states
    from surefit.proof.snapshot import CannotTry

    failed = self_test() if settings.self_test else 0
    if settings.self_test and not command:
        return failed
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
    broken = any(state.broken for state in states(made.examined.recording))
    return failed or int(broken or any(one.severity is Severity.ERROR for one in findings))


def script_in(command: Sequence[str]) -> str | None:
    """The file that a launcher is given, or that a module's name stands for."""
    words = (
        [f"{one.replace('.', '/')}.py" for one in command[1:2]] if command[0] == "-m" else command
    )
    return next((one for one in words if one.endswith(".py") and Path(one).is_file()), None)


def read_first(script: str | None) -> list[Finding]:
    """What the rules say of the script alone; it is told with the rest."""
    from surefit.linting import lint_file

    from .lint import counted

    if script is None:
        console.say("Not linted: the command names no Python file")
        return []
    linted = lint_file(Path(script), Path.cwd())
    for line in linted.faults:
        console.errors.print(f"surefit: {line}", soft_wrap=True)
    count = len(linted.findings)
    console.say(f"Lint: {counted(count, 'finding') if count else 'no findings'}")
    return list(linted.findings)


def run_to_the_first_step(
    command: Sequence[str], script: str | None, cells: Cells | None, settings: Check
) -> "Preflight":
    from surefit.examination import Proofs
    from surefit.observe.script import Launch, python_command
    from surefit.preflight import Terms, preflight

    return preflight(
        Launch(python_command(command), Path.cwd(), script, surroundings(cells)),
        Terms(
            settings.rows,
            settings.seconds,
            Proofs(settings.proof, settings.proof_seconds, console.working),
            settings.further,
        ),
    )


def cannot_be_checked(script: str, reason: str) -> Finding:
    return NOT_CHECKED.finding(
        Place(script),
        f"The script was not run to its first step: {reason}.",
        why="A check runs offline and writes only to a copy of the folder.",
        fixes=(Fix(f"`surefit run {script}` runs the script itself."),),
    )


def met(made: "Preflight") -> list[Finding]:
    """Findings of the run, without those of a crash that the copy itself can have brought about."""
    lacked = made.ran.lacked
    return [one for one in made.examined.findings if lacked is None or one.about != lacked.id]


def how_it_ended(made: "Preflight", script: str | None) -> Iterator[Finding]:
    """Where the first step was not reached, and no finding says why."""
    ran = made.ran
    place, seconds = Place(script or ""), f"{ran.seconds:,.1f} s"
    told = any(one.severity is Severity.ERROR for one in met(made))
    if ran.losses_not_finite and not told:
        steps = next(steps for steps in ran.recording.all(Steps) if steps.losses_not_finite)
        yield NOT_FINITE.finding(
            steps.loss_at or place,
            f"The loss was NaN or infinite {counted(steps.losses_not_finite, 'time')} in"
            f" {counted(steps.backwards, 'backward pass')}.",
            why="A gradient of a loss that is not finite is not finite, and one such step ruins"
            " every weight.",
        )
    if ran.reached_a_step or told:
        return
    if ran.lacked is not None:
        said = ran.lacked.said.partition("\n")[0]
        reason = f"in the copy, which is offline and cannot write elsewhere, it stops with {said}"
        yield cannot_be_checked(script or "", reason)
    elif ran.stopped:
        yield NOT_CHECKED.finding(
            place,
            f"The script reached no optimizer step within {ran.seconds:,.0f} s and was stopped.",
            facts=[*few_rows.facts(made), *last_lines(made)],
            fixes=(Fix(f"Allow more time: `--seconds {2 * round(ran.seconds)}`."),),
        )
    elif ran.code:
        yield NOT_CHECKED.finding(
            place,
            f"The script exited with code {ran.code} after {seconds}, before its first optimizer "
            "step.",
            facts=last_lines(made),
        )
    else:
        yield NO_STEP.finding(
            place,
            f"The script succeeded after {seconds} without an optimizer step, so no training was"
            " checked.",
            facts=last_lines(made),
        )


def last_lines(made: "Preflight") -> list[Fact]:
    lines = [line for line in made.ran.printed.splitlines() if line.strip()][-LAST_LINES:]
    return [Fact("last output", "\n".join(lines))] if lines else []


def is_same(one: Finding, other: Finding) -> bool:
    """A fault that was read was met in the run, too: at the same line, or at one that it names."""
    places = [(place.file, place.cell, place.line) for place in (one.place, other.place)]
    named = mentions(one, other.place) or mentions(other, one.place)
    return one.rule == other.rule and (places[0] == places[1] or named)


def mentions(finding: Finding, place: Place) -> bool:
    text = str(replace(place, end_line=None))
    said = " ".join([*(fact.value for fact in finding.facts), *(fix.text for fix in finding.fixes)])
    return re.search(rf"{re.escape(text)}\b", said) is not None


def as_far_as(made: "Preflight") -> str:
    """`its first optimizer step, its first evaluation and its first save`."""
    reached = made.ran.reached
    parts = ["optimizer step", *["evaluation"] * reached.evaluation, *["save"] * reached.save]
    return spoken(f"its first {part}" for part in parts)


def not_reached(made: "Preflight") -> list[str]:
    """What was not come to, and why."""
    reached = made.ran.reached
    missing = [*["evaluation"] * (not reached.evaluation), *["save"] * (not reached.save)]
    if not missing:
        return []
    if made.ran.lacked is not None:
        why = f"in the copy it stops with {made.ran.lacked.said.partition(chr(10))[0]}"
    elif reached.ended:
        why = "stopped before it was reached; `--further SECONDS` allows more time"
    else:
        why = "the script ended without it"
    return [f"{spoken(missing)}: {why}"]


def tell(made: "Preflight", findings: Sequence[Finding], cells: Cells | None) -> None:
    examined, ran = made.examined, made.ran
    outcome.exception = examined.exception
    outcome.not_observed = [*examined.not_observed]
    if cells is not None:
        outcome.not_observed = [*map(cells.text, examined.not_observed), *cells.left_out()]
    for line in few_rows.lines(made):
        console.say(line if cells is None else cells.text(line))
    if ran.reached_a_step:
        loss = "" if ran.loss is None else f", loss {ran.loss:.4f}"
        where = f"in a copy{few_rows.on(made)}"
        console.say(f"Ran to {as_far_as(made)}, {where}: {ran.seconds:,.1f} s{loss}")
    outcome.tell(*findings)
    outcome.add_part("batches", few_rows.part(made, cells))
    for line in outcome.not_observed:
        console.errors.print(f"surefit: not observed: {line}", soft_wrap=True)
    for line in examined.faults:
        console.errors.print(f"surefit: {line}", soft_wrap=True)
    if ran.reached_a_step:
        for line in [*few_rows.not_checked(made), *not_reached(made), LATER]:
            outcome.not_observed.append(f"not checked: {line}")
            console.say(f"Not checked: {line}")
