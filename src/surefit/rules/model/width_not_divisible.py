"""A width cannot be divided among the heads or groups that it was given.

## What happens
Attention cuts each vector into as many equal pieces as there are heads, and a grouped convolution
or norm cuts its channels into groups. 100 features among 8 heads would be 12.5 each.

## Why it matters
Where nothing checks it, the rest is dropped by `//` and the error comes later, as a reshape whose
numbers nobody wrote.

## What to do
Choose a number of heads that divides the width, or a width that is a multiple of it. Heads of 32,
64 or 128 features are usual, so that the width follows from the heads.

## How it is recognised
A constructor, or a check of your own, raised `ValueError` or `AssertionError`, and among the
numbers in its hands a count of heads or groups does not divide the width beside it. The number is
followed outwards through your calls to the line that chose it.

In a script that is only read: the numbers that a layer, a config of transformers or a check of your
own is given are followed to where they are written, and the one does not divide the other.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Script, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.evidence.argument_origins import number_named, where_given
from surefit.interpreter import wording
from surefit.interpreter.violations import NotDivisible

RULE = Rule(
    "SF306",
    "width-not-divisible",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"divisible by|not a multiple of the number of attention heads",
            "which width and which number of heads or groups the model was made with",
        ),
    ),
)

RAISED = ("ValueError", "AssertionError")
PARTS = re.compile(r"heads?$|^n_?heads?$|^groups$|^num_groups$|^n_groups$")
WIDTHS = re.compile(r"dim$|hidden|embd|embed|width|model|channels|features|size$")
USUAL = re.compile(r"^embed|^hidden|model$|^n_embd$|channels$")
"""What people call the width, where several numbers are equal to it."""
ONLY_YOU = "how wide the model is, and how many heads it has, only you can choose"


@dataclass(frozen=True, slots=True)
class Pair:
    """A width, and a number of parts that does not divide it."""

    width_name: str
    width: int
    parts_name: str
    parts: int


@RULE.on(Crash)
def width_does_not_divide(crash: Crash, seen: Recording) -> Iterator[Finding]:
    raised = is_cause(crash, seen) and crash.kind in RAISED and bool(crash.frames)
    pair = pair_in(crash.frames[-1]) if raised else None
    frame = crash.own_frame
    if pair is None or frame is None:
        return
    yield RULE.finding(
        place_of(crash, seen, frame, pair),
        f"`{pair.width_name}` is {pair.width}, which {pair.parts} do not divide"
        f" (`{pair.parts_name}`): {pair.width} / {pair.parts} = {pair.width / pair.parts:g}.",
        facts=(
            Fact(f"`{pair.width_name}`", str(pair.width)),
            Fact(f"`{pair.parts_name}`", str(pair.parts)),
            Fact("checked at", f"{crash.frames[-1].place}  {crash.frames[-1].function}"),
        ),
        why="Each head or group gets an equal share of the width.",
        fixes=(
            Fix(
                f"Choose `{pair.parts_name}` among the divisors of {pair.width}:"
                f" {' or '.join(map(str, divisors_near(pair)))}.",
                why_not_tried=ONLY_YOU,
            ),
            Fix(
                f"Or make `{pair.width_name}` a multiple of {pair.parts}:"
                f" {' or '.join(map(str, multiples_near(pair)))}.",
                why_not_tried=ONLY_YOU,
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def pair_in(frame: Frame) -> Pair | None:
    """Of the numbers that the failing statement reads; where it reads none, of all in the frame."""
    numbers = dict(numbers_of(frame))
    written = {text: numbers[text] for text in texts_in(frame) if text in numbers}
    read = {text: one for value in frame.values for text, one in whole(value.text, value)}
    for known in (written, read, numbers):
        pairs = sorted(pairs_of(known), key=lambda one: USUAL.search(one.width_name) is None)
        if len({(one.width, one.parts) for one in pairs}) == 1:
            return pairs[0]
    return None


def numbers_of(frame: Frame) -> Iterator[tuple[str, int]]:
    for value in frame.values:
        yield from whole(value.text, value)
        for name, member in value.members.items():
            yield from whole(f"{value.text}.{name}", member)
    for name, size in (frame.layer.sizes if frame.layer else {}).items():
        yield f"self.{name}", size


def whole(text: str, value: Value) -> Iterator[tuple[str, int]]:
    if type(value.scalar) is int and value.scalar > 1:
        yield text, value.scalar


def texts_in(frame: Frame) -> set[str]:
    """Names that the statement writes; of a long one only its expression is known."""
    found: set[str] = set()
    for text in (frame.line, frame.expression or ""):
        try:
            nodes = list(ast.walk(ast.parse(text)))
        except SyntaxError:
            continue
        found |= {ast.unparse(one) for one in nodes if isinstance(one, ast.Name | ast.Attribute)}
    return found


def pairs_of(numbers: dict[str, int]) -> Iterator[Pair]:
    for parts_name, parts in numbers.items():
        for width_name, width in numbers.items():
            short = [one.rpartition(".")[2] for one in (width_name, parts_name)]
            fits = WIDTHS.search(short[0]) and PARTS.search(short[1])
            if fits and not PARTS.search(short[0]) and "head" not in short[0] and width % parts:
                yield Pair(short[0], width, short[1], parts)


def place_of(crash: Crash, seen: Recording, frame: Frame, pair: Pair) -> Place:
    """Where the number of parts was chosen; where only a configuration knows, where that was."""
    chosen = where_given(crash, seen, pair.parts) or where_given(crash, seen, pair.width)
    if chosen is not None:
        return chosen
    file = frame.place.file
    parts = number_named(seen, file, pair.parts_name, pair.parts)
    return parts or number_named(seen, file, pair.width_name, pair.width) or frame.place


def divisors_near(pair: Pair) -> list[int]:
    every = [one for one in range(1, pair.width + 1) if pair.width % one == 0]
    below = [one for one in every if one < pair.parts][-1:]
    return below + [one for one in every if one > pair.parts][:1]


def multiples_near(pair: Pair) -> list[int]:
    below = pair.width // pair.parts * pair.parts
    return [one for one in (below, below + pair.parts) if one]


@RULE.on(Script)
def numbers_in_the_source_do_not_divide(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, NotDivisible):
        width, count = one.width, one.count
        yield RULE.finding(
            wording.place_of(source, one.birth),
            f"`{one.width_name}` is {width}, which {count} do not divide (`{one.count_name}`):"
            f" {width} / {count} = {width / count:.6g}.",
            facts=(
                Fact(f"`{one.width_name}`", str(width)),
                Fact(f"`{one.count_name}`", str(count)),
                Fact("used at", wording.line_at(source, one.node)),
            ),
            why="Every head or group gets an equal part of the width.",
            fixes=(
                Fix(
                    "Choose a width that is a multiple of the number, or another number.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
