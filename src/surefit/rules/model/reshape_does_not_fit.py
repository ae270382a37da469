"""A reshape asks for another number of elements than the tensor has.

## What happens
`view` and `reshape` deal out the elements that there are; the sizes asked for must multiply to
exactly as many. A flattened map has channels × height × width features per row, whatever a layer
behind it was made for; heads times features per head must be the width.

## Why it matters
With a -1 for the rows it often does not fail: `x.view(-1, 400)` makes another number of rows of
whatever it gets, and the loss then compares rows with the wrong labels.

## What to do
Let the rows be what they are and compute the rest: `x.flatten(1)`, `x.view(x.size(0), -1)`; and
make the layer behind it as wide as that. For heads, a width that they divide.

## How it is recognised
The failing expression is a call of `view` or `reshape` in your own code whose sizes can all be
computed from its frame, and they do not multiply to the elements of the tensor. The axes that both
shapes share are taken off; what is left says which factor is wrong. Where only the number of rows
differs nothing is said here.

In a script that is only read: all sizes of a tensor and of what a `view` or `reshape` asks for are
known from the source, and they do not multiply to the same number.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from surefit.doctor.causes import is_cause
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of, times
from surefit.evidence.asked_shapes import Asked, asked_in, is_reshape
from surefit.evidence.attribute_assignments import assignments_of
from surefit.evidence.failed_operations import failure_of
from surefit.interpreter import wording
from surefit.interpreter.shapes import Shape, product
from surefit.interpreter.violations import ReshapeMismatch

RULE = Rule(
    "SF307",
    "reshape-does-not-fit",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"shape '\[.*\]' is invalid for input of size",
            "the shape of the tensor, and which of the sizes asked for is not its own",
        ),
    ),
)

NOT_ALONE = "what comes behind it was made for the size that is asked for"


@dataclass(frozen=True, slots=True)
class Misfit:
    """The axes of the tensor that are left over, and the sizes asked for in their place."""

    axes: tuple[int, ...]
    asked: tuple[int, ...]
    written: tuple[ast.expr, ...]

    @property
    def has(self) -> int:
        return prod(self.axes)

    @property
    def wants(self) -> int:
        return prod(self.asked)


@RULE.on(Crash)
def elements_do_not_fit(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame if is_cause(crash, seen) else None
    if frame is None or frame is not crash.frames[-1] or not is_reshape(frame):
        return
    asked = asked_in(frame, None) or asked_in(frame, shape_of_unnamed(crash, seen))
    misfit = misfit_of(asked) if asked and not asked.fits else None
    if asked is None or misfit is None:
        return
    is_map = len(misfit.axes) > 1 and len(misfit.asked) == 1
    wanted = f"{times(misfit.asked)} = {misfit.wants}" if len(misfit.asked) > 1 else misfit.wants
    has = f"{times(misfit.axes)} = {misfit.has}" if len(misfit.axes) > 1 else misfit.has
    yield RULE.finding(
        place_of(seen, frame, misfit),
        f"{code(asked.text)} holds {has} features in a row, and {wanted} are asked for.",
        facts=(
            Fact(code(asked.text), f"{shape_of(asked.shape)}, {asked.elements:,} elements"),
            Fact("asked for", shape_of(asked.target)),
            *(Fact(code(ast.unparse(node)), str(size)) for node, size in unwritten(misfit)),
        ),
        ruled_out=(Fact("number of rows", f"{asked.shape[0]}, which is not what differs"),),
        why="The sizes asked for must multiply to the elements that there are.",
        fixes=tuple(fixes(asked, misfit, is_map)),
        python_said=crash.said,
        about=crash.id,
    )


def shape_of_unnamed(crash: Crash, seen: Recording) -> tuple[int, ...] | None:
    """Of what the failing call was made on, by a second run."""
    failure = failure_of(seen, crash)
    return failure.given[0].shape if failure and failure.given else None


def unwritten(misfit: Misfit) -> Iterator[tuple[ast.expr, int]]:
    """Sizes that the line does not write as numbers."""
    for node, size in zip(misfit.written, misfit.asked, strict=True):
        if not isinstance(node, ast.Constant):
            yield node, size


def misfit_of(asked: Asked) -> Misfit | None:
    """Equal axes in front, or a -1 for them, and equal ones behind are taken off; None where the
    rows are among what is left, or where several ways are."""
    shape, target, written = asked.shape, asked.target, asked.written
    start = 0
    if target[0] == -1 and len(shape) > 1:
        start = 1
    else:
        while start < min(len(shape), len(target)) and shape[start] == target[start]:
            start += 1
    end = 0
    while end < min(len(shape), len(target)) - start and shape[-1 - end] == target[-1 - end]:
        end += 1
    axes = shape[start : len(shape) - end]
    left = target[start : len(target) - end]
    if not start or not axes or not left or -1 in left:
        return None
    return Misfit(axes, left, written[start : len(target) - end])


def place_of(seen: Recording, frame: Frame, misfit: Misfit) -> Place:
    """Where an attribute got the size that is wrong, if it is one; otherwise the reshape."""
    attributes = [
        node.attr
        for node in misfit.written
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    ]
    for attribute in reversed(attributes):
        assigned = assignments_of(seen, frame, attribute)
        if len(assigned) == 1 and not isinstance(assigned[0].statement.value, ast.Name):
            return assigned[0].place
    return frame.place


def fixes(asked: Asked, misfit: Misfit, is_map: bool) -> Iterator[Fix]:
    if is_map:
        yield Fix(
            f"Flatten what there is: {code(f'{asked.text}.flatten(1)')}, and make the layer behind"
            f" it take {misfit.has}.",
            why_not_tried=NOT_ALONE,
        )
        yield Fix(
            f"If {misfit.wants} is right, the map must be another: check the size of the pictures"
            " and the poolings.",
            why_not_tried=NOT_ALONE,
        )
        return
    if len(misfit.asked) > 1 and len(misfit.axes) == 1:
        first = misfit.asked[0]
        rest = f", {misfit.has // first} each" if misfit.has % first == 0 else ""
        divides = "divides" if misfit.has % first == 0 else "does not divide"
        yield Fix(
            f"The sizes must multiply to {misfit.has}; {first} {divides} it{rest}: choose a width"
            f" that is a multiple of {first}, or another number of parts.",
            why_not_tried="which of the numbers is meant only you know",
        )
        return
    yield Fix(
        f"Ask for sizes that multiply to {misfit.has}, as {times(misfit.axes)} do.",
        why_not_tried="which of the numbers is meant only you know",
    )


@RULE.on(Script)
def sizes_in_the_source_do_not_multiply(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, ReshapeMismatch):
        have, asked = one.tensor.shape.sizes, one.target
        if len(asked) > 1 and product(have[1:]) == product(asked[1:]):
            continue  # only the number of rows differs
        receiver = one.node.func.value if isinstance(one.node.func, ast.Attribute) else one.node
        name = wording.text_of(source, receiver)
        yield RULE.finding(
            wording.place_of(source, one.node),
            f"{name} is {one.tensor.shape}, and {Shape(asked)} is asked for: the numbers of"
            " elements differ.",
            why="`view` and `reshape` deal out the elements that there are.",
            fixes=(
                Fix(
                    "Ask for the features that there are, or let `flatten(1)` count them, and make"
                    " the layer behind it as wide.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
