"""Numbers in lines that are printed or logged, held against the evaluation that came before.

`print` and `Logger.handle` are called as they were; the text is read, and nothing is kept of it but
numbers and the words before them.
"""

import builtins
import functools
import logging
import re
import sys
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.reported import Guess, Reported, ReportedSeries, ReportSeen
from surefit.doctor.scoring.labels import named_by, names_a_loss
from surefit.doctor.scoring.variants import (
    Evaluated,
    Right,
    Wrong,
    metrics_of,
    other_metrics,
    rights,
    wrongs,
)
from surefit.observe.inside import finishing, own_code, spool
from surefit.observe.inside.after_import import Patch, after_import
from surefit.observe.inside.measuring import evaluated
from surefit.observe.inside.measuring.evaluated import Group
from surefit.observe.inside.training import periodic
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.unseen import around

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+\.\d+(?:[eE][-+]?\d+)?")
DIGIT = re.compile(r"(?<!(?<![A-Za-z])[fFrR])\d")
"""Of a number, which that of F1 and R2 is not."""
LONGEST = 2000
REPORTED = (str, float, dict)
MOST_SERIES = 64
MOST_REPORTS = 8
MOST_NUMBERS = 12
MOST_GUESSES = 24
LABEL = 32
PUNCTUATION = " \t\n:=|,;'\"{}[]()<>-/"
SCALES = (1.0, 100.0)
COSTLY = frozenset(("area under the curve", "average precision"))
"""Computed where a label names them."""
UNNAMED = frozenset(
    ("accuracy", "mean squared error", "root of the mean squared error", "mean absolute error")
    + ("loss", "perplexity of loss", "loss over batches")
)
"""Metrics whose wrong values are looked for where a label names none."""
NOISE = 2e-5
"""Relative: sums in float32 differ by as much."""


@dataclass(slots=True)
class PrintedSeries:
    """See `ReportedSeries`."""

    place: Place
    position: int
    label: str
    times: int = 0
    reports: list[ReportSeen] = field(default_factory=list)
    measured_at: dict[Place, None] = field(default_factory=dict)


_series: dict[tuple[str, int, int, str], PrintedSeries] = {}


def install_print() -> None:
    """In the place of the built-in, with its name; errors of it pass through."""
    plain = builtins.print

    def print(*values: Any, **how: Any) -> None:
        if evaluated.now.groups:
            try:
                _read(" ".join(map(str, values)) if _are_plain(values) else "")
            except Exception as error:  # noqa: BLE001 - the line is printed, whatever happens here
                spool.could_not("printed numbers", error)
        return plain(*values, **how)

    functools.update_wrapper(print, plain)
    print.__module__, print.__qualname__ = "builtins", "print"
    builtins.print = print


def _are_plain(values: tuple[Any, ...]) -> bool:
    """Turning others into text would run code of the user's."""
    return all(type(value) in (str, int, float, bool, dict, list, tuple) for value in values)


@after_import("logging")
def records(module: Any) -> None:
    module.Logger.handle = around(module.Logger.handle, _logged)


def _logged(args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    if evaluated.now.groups and len(args) > 1 and type(args[1]) is logging.LogRecord:
        record = args[1]
        given = record.args if type(record.args) is tuple else ()
        if type(record.msg) is str and _are_plain(given):
            _read(record.msg % given if given else record.msg)
    return False


SINKS = (
    ("torch.utils.tensorboard.writer", "SummaryWriter", "add_scalar"),
    ("tensorboardX.writer", "SummaryWriter", "add_scalar"),
    ("wandb.sdk.wandb_run", "Run", "log"),
    ("mlflow.tracking.fluent", "", "log_metric"),
    ("mlflow.tracking.fluent", "", "log_metrics"),
    ("tqdm.std", "tqdm", "write"),
)
"""Where numbers are reported, besides being printed: module, class and function."""


def _reports(owner: str, name: str) -> Patch:
    def sink(module: Any) -> None:
        holder = vars(module)[owner] if owner else module
        plain = vars(holder)[name]
        if type(plain) is classmethod:
            setattr(holder, name, classmethod(around(plain.__func__, _written)))
        else:
            setattr(holder, name, around(plain, _written))

    return sink


def _written(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """A name and a number, a dictionary of them, or a line."""
    if evaluated.now.groups:
        given = [value for value in (*args, *kwargs.values()) if type(value) in REPORTED][:2]
        if _are_plain(tuple(given)):
            _read(" ".join(map(str, given)))
    return False


for _module, _class, _function in SINKS:
    after_import(_module)(_reports(_class, _function))


def _read(text: str) -> None:
    """Called at a line of the user's, while an evaluation is known."""
    if len(text) > LONGEST or not any(map(str.isdigit, text)):
        return
    frame = _own()
    groups = [group for group in evaluated.now.groups.values() if group.complete]
    if frame is None or not groups:
        return
    with evaluated.budget:
        _hold_against(text, own_code.place(frame), groups)


def _hold_against(text: str, place: Place, groups: list[Group]) -> None:
    kinds = [known for group in groups for known in group.kinds.values() if known.batches]
    values: dict[frozenset[str], Values] = {}
    for position, found in enumerate(NUMBER.finditer(text)):
        if position >= MOST_NUMBERS:
            break
        series = _of(place, position, text[: found.start()])
        if series is None:
            continue
        series.times += 1
        series.measured_at.update({g.place: None for g in groups if g.place is not None})
        if len(series.reports) < MOST_REPORTS and evaluated.budget.allows():
            named = named_by(series.label)
            if named not in values:
                values[named] = _values(kinds, named)
            series.reports.append(_report(found[0], values[named]))


@dataclass(frozen=True, slots=True)
class Values:
    """All that a number can be."""

    rights: list[Right]
    wrongs: list[Wrong]


def _values(kinds: list[Evaluated], named: frozenset[str]) -> Values:
    right: list[Right] = []
    wrong: list[Wrong] = []
    for known in kinds:
        every = [m for m in metrics_of(known.kind, None) if m.name not in COSTLY or m.name in named]
        own = list(rights(known, every))
        right += own
        looked = named if named and not names_a_loss(named) else UNNAMED
        wrong += wrongs(known, metrics_of(known.kind, looked))
        wrong += other_metrics(sorted(looked), own)
    return Values(right, wrong)


def _own() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not own_code.own(frame.f_code):
        frame = frame.f_back
    return frame


def _of(place: Place, position: int, before: str) -> PrintedSeries | None:
    """By its words, too: one line of the user's can have a library print several kinds of lines."""
    words = DIGIT.split(before)[-1].strip(PUNCTUATION)[-LABEL:]
    key = place.file, place.line or 0, position, words
    series = _series.get(key)
    if series is None and len(_series) < MOST_SERIES:
        series = _series[key] = PrintedSeries(place, position, words)
    return series


def _report(text: str, values: Values) -> ReportSeen:
    value = float(text)
    right = [known.metric for known in values.rights if _scale(text, value, known.value)]
    guesses: dict[tuple[str, str], Guess] = {}
    for wrong in values.wrongs:
        scale = _scale(text, value, wrong.value)
        if scale:
            expected = wrong.expected * scale
            guess = Guess(formula=wrong.variant, metric=wrong.metric, expected=expected)
            guesses.setdefault((wrong.variant, wrong.metric), guess)
    return ReportSeen(
        step=noted.steps,
        text=text,
        value=value,
        rights=tuple(dict.fromkeys(right)),
        guesses=tuple(guesses.values())[:MOST_GUESSES],
    )


def _scale(text: str, value: float, number: float) -> float:
    """1 where this number was printed with as many digits, 100 where its percentage was, else 0."""
    mantissa, _, exponent = text.partition(".")[2].lower().partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa))
    room = 0.51 * unit + NOISE * abs(value)
    return next((scale for scale in SCALES if abs(number * scale - value) <= room), 0.0)


@finishing.at_end
@periodic.every_few_seconds
@spool.guarded("printed numbers")
def write() -> None:
    if evaluated.now.count:
        spool.saw(measured())


def measured() -> Reported:
    return Reported(
        process=spool.process(),
        evaluations=evaluated.now.count,
        batches=evaluated.now.batches,
        left_out=evaluated.now.left_out,
        series=tuple(
            ReportedSeries(
                place=series.place,
                position=series.position,
                label=series.label,
                times=series.times,
                reports=tuple(series.reports),
                measured_at=tuple(series.measured_at)[:MOST_REPORTS],
            )
            for series in _series.values()
        ),
    )


@finishing.after_fork
def forget_parent() -> None:
    _series.clear()


install_print()
