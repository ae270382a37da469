"""Numbers in lines that are printed or logged, held against the evaluation that came before.

`print` and `Logger.handle` are called as they were; the text is read, and nothing is kept of it but
numbers and the words before them.
"""

import builtins
import functools
import logging
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.reported import Guess, Reported, ReportedSeries, ReportSeen
from surefit.observe.inside import finishing, own_code, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.measuring import evaluated, formulas
from surefit.observe.inside.measuring.evaluated import Group
from surefit.observe.inside.training import periodic
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.unseen import around

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+\.\d+(?:[eE][-+]?\d+)?")
DIGIT = re.compile(r"(?<!(?<![A-Za-z])[fF])\d")
"""Of a number, which that of F1 is not."""
LONGEST = 2000
MOST_SERIES = 64
MOST_REPORTS = 8
MOST_NUMBERS = 12
LABEL = 32
PUNCTUATION = " \t\n:=|,;'\"{}[]()<>-/"
SCALES = (1.0, 100.0)
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


def _read(text: str) -> None:
    """Called at a line of the user's, while an evaluation is known."""
    if len(text) > LONGEST or not any(map(str.isdigit, text)):
        return
    frame = _own()
    groups = [group for group in evaluated.now.groups.values() if group.complete]
    if frame is None or not groups:
        return
    place = own_code.place(frame)
    rights = [named for group in groups for named in _right(group)]
    wrongs = [named for group in groups for named in _wrong(group)]
    for position, found in enumerate(NUMBER.finditer(text)):
        if position >= MOST_NUMBERS:
            break
        series = _of(place, position, text[: found.start()])
        if series is not None:
            series.times += 1
            series.measured_at.update({g.place: None for g in groups if g.place is not None})
            if len(series.reports) < MOST_REPORTS:
                series.reports.append(_report(found[0], groups, rights, wrongs))


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


def _report(
    text: str,
    groups: list[Group],
    rights: list[tuple[str, float]],
    wrongs: list[tuple[str, str, float, float]],
) -> ReportSeen:
    value = float(text)
    right = dict.fromkeys(name for name, number in rights if _scale(text, value, number))
    guesses: dict[tuple[str, str], Guess] = {}
    for family, name, number, expected in wrongs:
        scale = _scale(text, value, number)
        if scale:
            guess = Guess(formula=name, family=family, expected=expected * scale)
            guesses.setdefault((family, name), guess)
    weighted = None
    unequal = [formulas.unequal_means(group.losses) for group in groups]
    unequal += [formulas.unequal_shares(group.classes) for group in groups]
    for means in unequal:
        if means and _scale(text, value, means[0]) == 1 and not _scale(text, value, means[1]):
            weighted = means[1]
    return ReportSeen(
        step=noted.steps,
        text=text,
        value=value,
        rights=tuple(right),
        guesses=tuple(guesses.values()),
        weighted=weighted,
    )


def _scale(text: str, value: float, number: float) -> float:
    """1 where this number was printed with as many digits, 100 where its percentage was, else 0."""
    mantissa, _, exponent = text.partition(".")[2].lower().partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa))
    room = 0.51 * unit + NOISE * abs(value)
    return next((scale for scale in SCALES if abs(number * scale - value) <= room), 0.0)


def _right(group: Group) -> Iterator[tuple[str, float]]:
    if group.classes:
        yield from formulas.right_classes(group.classes)
        yield from formulas.right_scores(group.classes)
    if group.losses:
        yield from formulas.right_losses(group.losses)
    if group.numbers:
        yield from formulas.right_numbers(group.numbers)


def _wrong(group: Group) -> Iterator[tuple[str, str, float, float]]:
    """The family of a formula, and the formula."""
    if group.classes:
        yield from (("accuracy", *found) for found in formulas.wrong_classes(group.classes))
        yield from (("score", *found) for found in formulas.wrong_scores(group.classes))
    if group.losses:
        yield from (("loss", *found) for found in formulas.wrong_losses(group.losses))
        earlier = evaluated.now.earlier.get(group.place)
        if earlier:
            every = [batch.value for batch in (*earlier, *group.losses)]
            right = formulas.mean(batch.value for batch in group.losses)
            yield "loss", "not reset", sum(every) / len(group.losses), right
            yield "loss", "not reset", sum(every) / len(every), right
    if group.numbers:
        yield from (("numbers", *found) for found in formulas.wrong_numbers(group.numbers))


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
