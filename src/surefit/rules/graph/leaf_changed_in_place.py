"""A parameter, or another leaf that wants a gradient, was written to in place while recording.

## What happens
A leaf is where gradients end. `weight.fill_(1.0)`, `w -= rate * w.grad` or `weight[0] = 0` outside
of `torch.no_grad()` would have to be recorded as an operation on it, and it would be a leaf no
longer: "a leaf Variable that requires grad is being used in an in-place operation".

## Why it matters
`w = w - rate * w.grad` raises nothing and is worse: `w` is then a new tensor that the optimizer
does not know, and that has no `.grad` at the next step. `.data` hides the writing from torch, also
where it makes a gradient wrong.

## What to do
Initialise and update under `with torch.no_grad():`. A forward pass that wants a changed copy makes
one: `x = x + y`.

## How it is recognised
The failing expression writes into a tensor that wants a gradient and is a leaf, and no block or
decorator around it switches recording off. The text of the exception is not looked at.

In a script that is only read: a parameter, or a tensor made with `requires_grad=True`, is written
to where gradients are certain to be on.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Question, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of
from surefit.evidence.graph_stories import Stood
from surefit.evidence.switched_off import switch_of
from surefit.evidence.writing_in_place import written_text
from surefit.interpreter import violations, wording
from surefit.source.line_edits import block_of, shares_lines
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source
from surefit.source.spans import Span

STEP = "    "

RULE = Rule(
    "SF630",
    "leaf-changed-in-place",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"a (view of a )?leaf Variable that requires grad is being used in an in-place",
            "which parameter the line writes to, and whether it stands under `torch.no_grad()`",
        ),
    ),
)


@RULE.on(Crash)
def leaf_was_written_to_while_recording(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame if is_cause(crash, seen) and not crash.in_backward else None
    source = seen.source(frame.place) if frame else None
    line = frame.place.line if frame else None
    statement = source.statement_at(line) if source and line else None
    if frame is None or source is None or statement is None or hasattr(statement, "body"):
        return
    text = written_text(source, statement)
    value = crash.value(text) if text else None
    if text is None or value is None or not value.requires_grad:
        return
    if not is_leaf(crash, seen, frame, text) or is_switched_off(crash, seen):
        return
    whole = " ".join(source.segment(statement).split())
    yield RULE.finding(
        Place(source.file, statement.lineno, statement.end_lineno),
        f"{code(whole)} writes into {code(text)}, a leaf that wants a gradient, while operations"
        " are being recorded.",
        facts=(Fact(code(text), f"{value.kind} {shape_of(value.shape or ())}, wants a gradient"),),
        why="Gradients end at a leaf; recorded as the result of an operation, it would be one no"
        " longer. Under `torch.no_grad()` it is only written to.",
        fixes=tuple(fixes(source, statement, text)),
        python_said=crash.said,
        about=crash.id,
    )


def is_leaf(crash: Crash, seen: Recording, frame: Frame, text: str) -> bool:
    number = crash.frames.index(frame)
    said = seen.ask(Question("leaf", crash.id, {"frame": number, "text": text}))
    return bool(said and said.get("leaf"))


def is_switched_off(crash: Crash, seen: Recording) -> bool:
    """Then the line failed for another reason."""
    stack = [
        Stood(one.place.file, one.place.line or 0, one.function) for one in crash.frames if one.own
    ]
    return switch_of(seen, stack) is not None


def fixes(source: Source, node: ast.stmt, text: str) -> Iterator[Fix]:
    """Of whatever shape: a line in a loop, or in a function, writes into one leaf after another."""
    edit = under_no_grad(source, node)
    yield Fix(
        "Write to it under `with torch.no_grad():`.",
        edit,
        ValuesAt(
            Place(source.file, node.lineno),
            (Wanted(text, requires_grad=True),),
            after=True,
        ),
        "" if edit else "the statement shares its line with others, or `torch` has another name",
    )


def under_no_grad(source: Source, node: ast.stmt) -> Edit | None:
    """The statement, and those directly behind it that write in the same way."""
    nodes = list(together(source, node))
    if not has_torch(source) or any(shares_lines(source, one) for one in nodes):
        return None
    column, first = source.span(node).column, node.lineno
    indent = source.lines[first - 1][:column]
    head = Replace(Span(first, 0, first, 0), f"{indent}with torch.no_grad():{source.newline}{STEP}")
    lines = range(first + 1, (nodes[-1].end_lineno or nodes[-1].lineno) + 1)
    moved = [Replace(Span(line, 0, line, 0), STEP) for line in lines if source.lines[line - 1]]
    return Edit(source.file, (head, *moved))


def has_torch(source: Source) -> bool:
    """It is imported under its own name."""
    names = [one.name.partition(".")[0] for one in source.every(ast.alias) if one.asname is None]
    return "torch" in names


def together(source: Source, node: ast.stmt) -> Iterator[ast.stmt]:
    block = block_of(source, node)
    for one in block[block.index(node) :]:
        if type(one) is not type(node) or written_text(source, one) is None:
            return
        yield one


@RULE.on(Script)
def leaf_in_the_source_is_written_to(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.LeafModifiedInPlace):
        statement = source.statement_of(one.node)
        whole, text = " ".join(source.segment(statement).split()), source.segment(one.target)
        yield RULE.finding(
            wording.place_of(source, statement),
            f"{code(whole)} writes into {code(text)}, a leaf that wants a gradient, while"
            " operations"
            " are being recorded.",
            why="Gradients end at a leaf; recorded as the result of an operation, it would be one"
            " no"
            " longer. Under `torch.no_grad()` it is only written to.",
            fixes=(
                Fix(
                    "Write to it under `with torch.no_grad():`.",
                    under_no_grad(source, statement),
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
