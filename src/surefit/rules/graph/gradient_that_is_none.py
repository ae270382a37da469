"""A line of the user's computes with `.grad` of a parameter that has none.

## What happens
`p.grad` is None until a backward pass has reached `p`: for ever where it is frozen or the loss does
not use it, and again after `zero_grad`, which sets it to None. A norm, a clipping or an update of
one's own then says "'NoneType' object has no attribute 'norm'", or that the types do not fit.

## Why it matters
A parameter that is not frozen and gets no gradient is not trained: often the layer was forgotten in
`forward`, or its result was detached.

## What to do
Pass over those that are meant to have none: `if p.grad is None: continue`. Look at the names of the
others: they are made and never used.

## How it is recognised
Part of the failing expression is the `.grad` of something and is None. The parameters of the model
in the frozen frames are counted: with a gradient, frozen, and trainable but without one.

In a script that is only read: a loop over all parameters of a model computes with `.grad`, without
asking whether there is one, and layers of the model are not used by the loss.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Crash, Frame, Question, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, some, spoken
from surefit.interpreter import violations, wording
from surefit.source.edits import inserted_before
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit
from surefit.source.reading import Source

RULE = Rule(
    "SF633",
    "gradient-that-is-none",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"NoneType.*(object has no attribute '(data|norm|detach|clone|abs|pow|mul|add|clamp)"
            r"|unsupported operand)|unsupported operand.*NoneType",
            "whether the None is the `.grad` of a parameter, and of which one",
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Gradients:
    """What the parameters of the model have."""

    root: str
    with_one: int
    frozen: tuple[str, ...]
    unused: tuple[str, ...]

    @property
    def missing(self) -> int:
        return len(self.frozen) + len(self.unused)


@RULE.on(Crash)
def line_computes_with_a_missing_gradient(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame
    text = missing_in(frame) if frame and frame is crash.frames[-1] else None
    if frame is None or text is None or not is_cause(crash, seen):
        return
    said = seen.ask(Question("missing-gradients", crash.id))
    if said is None:
        return
    there = Gradients(
        str(said["root"]),
        int(str(said["with"])),
        msgspec.convert(said["frozen"], tuple[str, ...]),
        msgspec.convert(said["unused"], tuple[str, ...]),
    )
    yield RULE.finding(
        frame.place,
        f"{code(text)} is None: {headline(there)}.",
        facts=tuple(facts(there)),
        why="`.grad` is made by a backward pass that reaches the parameter, and by nothing else.",
        fixes=tuple(fixes(seen, frame, text, there)),
        python_said=crash.said,
        about=crash.id,
    )


def missing_in(frame: Frame) -> str | None:
    """The `.grad` in the failing expression that is None."""
    part = frame.expression or frame.line
    for value in frame.values:
        named = value.text.endswith(".grad") and value.text in part
        if named and value.kind == "NoneType":
            return value.text
    return None


def headline(there: Gradients) -> str:
    if not there.with_one:
        return (
            f"no backward pass has reached any parameter of `{there.root}` since they were cleared"
        )
    if there.unused:
        return (
            f"{counted(len(there.unused), 'trainable parameter')} of `{there.root}`"
            f" ({some(there.unused)}) got no gradient, because the loss does not use"
            f" {'it' if len(there.unused) == 1 else 'them'}"
        )
    return f"{counted(len(there.frozen), 'parameter')} of `{there.root}` are frozen and have none"


def facts(there: Gradients) -> Iterator[Fact]:
    yield Fact("with a gradient", counted(there.with_one, "parameter"))
    if there.unused:
        yield Fact("trainable, without one", some(there.unused))
    if there.frozen:
        yield Fact("frozen", some(there.frozen))


def fixes(seen: Recording, frame: Frame, text: str, there: Gradients) -> Iterator[Fix]:
    if not there.with_one:
        yield Fix(
            "Call `backward` before this line, and `zero_grad` not between the two.",
            why_not_tried="where in your step the line belongs only you know",
        )
        return
    edit = passed_over(seen, frame, text)
    yield Fix(
        f"Pass over parameters without a gradient: `if {text} is None: continue`. The"
        f" {counted(there.missing, 'parameter')} stay as they are.",
        edit,
        GradientsStay(excused=(*there.unused, *there.frozen)) if edit else None,
        "" if edit else "the line stands in no loop over parameters",
    )
    if there.unused:
        yield Fix(
            f"If {some(there.unused)} shall be trained, compute the loss with it.",
            why_not_tried="only you know what it is for",
        )


def passed_over(seen: Recording, frame: Frame, text: str) -> Edit | None:
    """A guard as the first statement of the loop over parameters."""
    source = seen.source(frame.place)
    statement = source.statement_at(frame.place.line) if source and frame.place.line else None
    loop = (
        loop_over(source, statement, text.removesuffix(".grad")) if source and statement else None
    )
    if source is None or loop is None or shares_lines(source, loop.body[0]):
        return None
    return inserted_before(source, loop.body[0], f"if {text} is None:\n    continue")


def loop_over(source: Source, statement: ast.stmt, name: str) -> ast.For | None:
    for outer in source.up(statement):
        if isinstance(outer, ast.For):
            names = {one.id for one in ast.walk(outer.target) if isinstance(one, ast.Name)}
            return outer if name in names else None
        if isinstance(outer, ast.FunctionDef):
            return None
    return None


@RULE.on(Script)
def gradient_in_the_source_is_none(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.GradientMissing):
        layers = [wording.describe_layer(layer) for layer in one.layers]
        at = wording.place_of(source, one.layers[0].node)
        yield RULE.finding(
            wording.place_of(source, one.node),
            f"{wording.text_of(source, one.node)} needs a gradient of every parameter, and"
            f" {layers[0]}, made at {at}, gets none: the loss does not use it.",
            facts=(Fact("without a gradient", spoken(layers)),),
            why="`.grad` is made by a backward pass that reaches the parameter, and is None"
            " before.",
            fixes=(
                Fix(
                    "Leave such parameters out: `if parameter.grad is not None`; or take the layers"
                    " out of the model.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
