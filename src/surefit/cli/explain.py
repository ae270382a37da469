"""`surefit explain`."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from surefit.did_you_mean import nearest
from surefit.doctor.findings import COMMAND_LINE, Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import refusal
from surefit.errors import BadInput, WrongCall
from surefit.render import console, outcome
from surefit.render.visible import wrap
from surefit.source.notebooks import NotANotebook, errors_left, is_notebook
from surefit.user_files import open_plain

if TYPE_CHECKING:
    from surefit.doctor.catalogue import Known
    from surefit.doctor.tracebacks import Traceback
    from surefit.logs.series import TrainingLog

UNKNOWN_RULE = refusal("SF018", "unknown-rule", "surefit has no rule of that name or code.")
NOTHING_TO_EXPLAIN = refusal(
    "SF019", "nothing-to-explain", "There is nothing to explain, or it cannot be read."
)
NO_TRACEBACK = refusal("SF020", "no-traceback", "The text has no traceback and no training log.")

WIDTH = 80
STDIN = "-"
LARGEST = 20_000_000
"""Bytes of a log; of a longer one the end. Half a million lines are judged in seconds."""
MOST_SERIES = 8
"""Of a log that are shown."""


def explain(what: str = STDIN) -> int:
    """Explain a pasted traceback, a training log, or a rule.

    surefit explain error.log
    surefit explain train.ipynb                    the error saved in its outputs
    python train.py 2>&1 | surefit explain -
    surefit explain out/checkpoint-500/trainer_state.json
    surefit explain runs/                          the newest log in a folder
    surefit explain ragged-labels
    surefit explain SF201

    A traceback holds no values, so no cause is claimed: surefit lists the rules
    that fit, what would decide between them, and the command that finds out. From a
    training log (text, CSV, JSON Lines, TensorBoard events, `trainer_state.json`)
    it reports what the numbers show. The exit code is 1 if they show an error.

    Parameters
    ----------
    what
        A file that holds a traceback or a log, a folder with a log, `-` for stdin, or the
        name or code of a rule.
    """
    if what == STDIN or is_file(what):
        return explain_file(what)
    explain_rule(what)
    return 0


def is_file(name: str) -> bool:
    """There is one, or nothing but a file can be meant."""
    return Path(name).exists() or bool(re.search(r"[/\\]|\.\w+$", name))


def explain_file(name: str) -> int:
    """A traceback in it comes first; without one it is a log."""
    from surefit.logs.reading import UnreadableLog, is_events, newest_log, read_events, read_log
    from surefit.observe.logs import read_traceback

    if name != STDIN and Path(name).is_dir():
        inside = newest_log(Path(name))
        if inside is None:
            raise WrongCall(nothing(f"The folder `{name}` has no training log."))
        name = str(inside)
    try:
        if name != STDIN and is_events(Path(name)):
            return explain_log(read_events(Path(name)))
        text = read_text(name)
        traceback = read_traceback(text)
        if traceback is not None:
            explain_traceback(traceback, name)
            return 0
        log = read_log(text, "standard input" if name == STDIN else name)
    except UnreadableLog as error:
        raise BadInput(nothing(f"`{name}` cannot be read: {error}.")) from error
    if not log.series:
        raise BadInput(no_traceback(name))
    return explain_log(log)


def explain_log(log: "TrainingLog") -> int:
    """What was read, then what follows from it; 1 where something is wrong."""
    from surefit.logs.judging import judge

    findings = judge(log)
    names = [str(series) for series in log.series if series.role.value][:MOST_SERIES]
    console.say(f"{log.file}: {log.kind}; {'; '.join(names) or 'no loss and no score'}")
    if not findings:
        console.say("The log shows nothing wrong.")
    outcome.tell(*findings)
    return int(any(finding.severity is Severity.ERROR for finding in findings))


def explain_traceback(told: "Traceback", name: str) -> None:
    from surefit.doctor.catalogue import rules
    from surefit.doctor.suspects import as_findings, suspects
    from surefit.render.explanation import explanation

    found = suspects(told, rules())
    command = command_for(told, name)
    started = told.script
    outcome.script = shown_name(started.file) if started and not started.is_cell else None
    outcome.exception = told.said or None
    findings = as_findings(found, told, place_of(told, name), command)
    if outcome.as_lines:
        outcome.tell(*findings)
        return
    outcome.keep(*findings)
    console.say(explanation(told, found, command, Path.cwd()))


def read_text(name: str) -> str:
    """Bytes that are not UTF-8 are escaped: a log may hold anything."""
    if name == STDIN:
        if sys.stdin is None or sys.stdin.isatty():
            raise WrongCall(nothing("`surefit explain` needs a file, a rule, or text on stdin."))
        text = sys.stdin.buffer.read().decode("utf-8", "backslashreplace")
    else:
        path = Path(name)
        try:
            with open_plain(path) as opened:
                size = path.stat().st_size
                opened.seek(max(0, size - LARGEST))
                text = opened.read(min(size, LARGEST)).decode("utf-8", "backslashreplace")
        except OSError as error:
            raise WrongCall(nothing(f"`{name}` cannot be read: {error.strerror}.")) from error
    if is_notebook(name):
        text = errors_in(text, name)
    if not text.strip():
        raise WrongCall(nothing(f"{'The input' if name == STDIN else f'`{name}`'} is empty."))
    return text


def errors_in(text: str, name: str) -> str:
    """What its cells left of errors; as it is where it is no notebook."""
    try:
        return errors_left(text) or "no error"
    except NotANotebook as error:
        raise WrongCall(nothing(f"`{name}` is not a notebook: {error}.")) from error


def nothing(headline: str) -> Finding:
    fix = Fix("Give a file, pipe text in, or name a rule; see `surefit explain --help`.")
    return NOTHING_TO_EXPLAIN.finding(COMMAND_LINE, headline, fixes=(fix,))


def no_traceback(name: str) -> Finding:
    place = COMMAND_LINE if name == STDIN else Place(name)
    fix = Fix("`surefit run SCRIPT` also finds faults that raise no exception.")
    if name.endswith(".py"):
        fix = Fix(
            f"This is a script. Run it with `surefit run {name}`, or read it with `surefit lint "
            f"{name}`."
        )
    what = "The input" if name == STDIN else f"`{name}`"
    headline = f"{what} has no traceback and no losses or scores."
    return NO_TRACEBACK.finding(place, headline, fixes=(fix,))


def place_of(told: "Traceback", name: str) -> Place:
    frame = told.own_frame
    if frame is None:
        return Place("traceback")
    if frame.is_cell:
        return Place(name if is_notebook(name) else "notebook", frame.line, cell=frame.cell)
    return Place(shown_name(frame.file), frame.line)


def shown_name(file: str) -> str:
    """As seen from here, where it lies below."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


def command_for(told: "Traceback", name: str) -> str:
    """With the script that was started, going by the outermost line of the user's own."""
    started = told.script
    if is_notebook(name):
        return f"surefit run {name}"
    if started is None:
        return "surefit run SCRIPT"
    return f"surefit run {'NOTEBOOK.ipynb' if started.is_cell else shown_name(started.file)}"


def explain_rule(name: str) -> None:
    from surefit.doctor.catalogue import rule_files
    from surefit.doctor.pages import refusals, written_page

    known = by_name_and_code(rule_files())
    key = as_key(name, known)
    if key not in known:
        known |= by_name_and_code(refusals())
        key = as_key(name, known)
    if key not in known:
        raise WrongCall(unknown(name, rule_files(), known))
    text = written_page(known[key])
    outcome.add_part("page", text)
    console.say("\n".join(reflowed(text)))


def by_name_and_code(rules: "Iterable[Known]") -> "dict[str, Known]":
    return {key: one for one in rules for key in (one.name, one.code)}


def as_key(name: str, known: "Mapping[str, Known]") -> str:
    return name.upper() if name.upper() in known else name.lower().replace("_", "-")


def unknown(name: str, catalogue: "Iterable[Known]", known: "Mapping[str, Known]") -> Finding:
    meant = nearest(name.replace("_", "-"), known)
    return UNKNOWN_RULE.finding(
        COMMAND_LINE,
        f"There is no rule and no file named `{name}`.",
        facts=() if meant else (Fact("its rules", ", ".join(one.name for one in catalogue)),),
        fixes=(Fix(f"Write `surefit explain {meant}`, the nearest name."),) if meant else (),
    )


def reflowed(page: str) -> Iterator[str]:
    """A page in 80 columns: paragraphs are wrapped anew, all else stays as it is."""
    paragraph: list[str] = []
    fence = ""
    for line in [*page.splitlines(), ""]:
        is_text = bool(line.strip()) and not re.match(r"#|\s|[-*|>] |\d+\.|```", line)
        if is_text and not fence:
            paragraph.append(line)
            continue
        yield from wrap(" ".join(paragraph), WIDTH) if paragraph else ()
        paragraph = []
        yield line
        if opening := re.match(r"```+", line):
            fence = "" if fence == opening[0] else fence or opening[0]
