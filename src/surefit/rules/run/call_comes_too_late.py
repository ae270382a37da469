"""A method is called before the one that sets what it needs.

## What happens
An object has to be prepared: things are registered, added, fitted or set up by one method, and
another works with them. The script has both calls, in the wrong order: `load_state` before
`register_for_checkpointing`.

## Why it matters
The message speaks of what is missing in the object, in names of the library, and not of the call
that stands a few lines further down.

## What to do
Call the method that prepares the object first.

## How it is recognised
The library's check found an attribute of its object empty, None or False. Of the methods of its
class that set this attribute, the script calls one on the same object, after the line that failed.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.observations import Value
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, Operand, fact_at
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.contracts.failed_checks import RefusedByCheck
from surefit.laws.values.value_words import in_words
from surefit.remedies.change import Change
from surefit.source.installed import find
from surefit.source.line_edits import moved_after
from surefit.source.reading import Source, called, targets

RULE = Rule(
    "SF857",
    "call-comes-too-late",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"number of registered objects|not (yet )?(been )?(initiali[sz]ed|registered|prepared)",
            "whether the script calls what prepares the object only later",
        ),
    ),
)

FILLS = ("append", "extend", "add", "update", "insert", "setdefault")


@dataclass(frozen=True, slots=True)
class LaterCall:
    """`accelerator.register_for_checkpointing(...)`, after the call that failed."""

    call: Expression
    method: str
    attribute: str
    """What it sets: `_custom_objects`."""
    early: ast.stmt
    """The statement that the failing call stands in, in the block of the later one."""
    late: ast.stmt
    source: Source


@RULE.on(RefusedByCheck)
def what_it_needs_is_set_later(broken: RefusedByCheck, case: Case) -> Finding | None:
    later = later_call(broken.operands, case) if case.crash and not case.crash.swallowed else None
    if later is None or case.own is None:
        return None
    early = broken.use.text.partition("(")[0]
    late = later.call.text.partition("(")[0]
    return case.finding(
        later.call.place,
        f"{code(late)} is called after {code(early)}, which needs what it sets: call it before.",
        facts=(
            *fact_at("called first", broken.use),
            *fact_at("called later", later.call),
            *(Fact(operand.name, in_words(operand.value)) for operand in broken.operands),
            Fact("checked in", f"`{broken.function}`: {code(broken.check.text)}"),
        ),
        why=f"`{later.method}` fills `{later.attribute}`, and at line {broken.use.place.line} that"
        " is still empty.",
        remedies=(
            Change(
                to=moved_after(later.source, later.early, later.late),
                words=f"Move line {later.late.lineno} before line {later.early.lineno}.",
            ),
        ),
    )


def later_call(operands: tuple[Operand, ...], case: Case) -> LaterCall | None:
    """Where something that a check found empty is set by a method that the script calls later."""
    own, source = case.own, case.source(case.own)
    failing = case.node(own)
    match failing:
        case ast.Call(func=ast.Attribute(value=owner)):
            pass
        case _:
            return None
    itself = case.frames[-1].value("self")
    if source is None or itself is None or own is None:
        return None
    for operand in operands:
        attribute = operand.value.text.removeprefix("self.")
        if attribute == operand.value.text or not is_empty(operand.value):
            continue
        setters = methods_that_set(attribute, itself.kind, case)
        for statement, call in later_statements(source, failing, ast.unparse(owner)):
            if called(call) in setters:
                early = enclosing(source, failing, statement)
                if early is not None:
                    at = case.expression(source, call)
                    return LaterCall(at, called(call), attribute, early, statement, source)
    return None


def is_empty(value: Value) -> bool:
    return value.kind == "NoneType" or value.length == 0 or value.scalar is False


def methods_that_set(attribute: str, kind: str, case: Case) -> set[str]:
    """Of the class of a library that the user's script imports."""
    names = {
        full
        for source in case.recording.sources()
        for full in source.imported_calls
        if full.rpartition(".")[2] == kind
    }
    classes = [found.node for name in names if (found := find(name)) is not None]
    return {
        method.name
        for node in classes
        if isinstance(node, ast.ClassDef)
        for method in node.body
        if isinstance(method, ast.FunctionDef) and method.name != "__init__"
        if any(sets(inner, f"self.{attribute}") for inner in ast.walk(method))
    }


def sets(node: ast.AST, text: str) -> bool:
    match node:
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            return any(
                ast.unparse(target.value if isinstance(target, ast.Subscript) else target) == text
                for target in targets(node)
            )
        case ast.Call(func=ast.Attribute(value=owner, attr=name)):
            return name in FILLS and ast.unparse(owner) == text
    return False


def later_statements(
    source: Source, failing: ast.expr, owner: str
) -> Iterator[tuple[ast.stmt, ast.Call]]:
    """Calls of methods of the same object, as statements of the same function after it."""
    for statement in ast.walk(source.scope_of(failing)):
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=other)) as call):
                if statement.lineno > failing.lineno and ast.unparse(other) == owner:
                    yield statement, call


def enclosing(source: Source, failing: ast.expr, late: ast.stmt) -> ast.stmt | None:
    """What the failing call stands in, among the statements beside the later call."""
    beside = source.parents.get(late)
    for outer in source.up(failing):
        if isinstance(outer, ast.stmt) and source.parents.get(outer) is beside:
            return outer
    return None
