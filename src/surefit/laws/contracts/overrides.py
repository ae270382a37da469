"""A method that a library calls takes and returns what the library's own method does."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from surefit.doctor.findings import Place
from surefit.doctor.observations import Frame
from surefit.doctor.violations import Violation
from surefit.laws.case import Case, use_of
from surefit.source import snippets
from surefit.source.classes import Method, method
from surefit.source.overrides import Overridden, branches, overridden, positional
from surefit.source.reading import Source
from surefit.source.returns import gives_one_by_one, own_returns

Kind = TypeVar("Kind", bound=ast.AST)

BELOW = 2
"""Frames of libraries inside an unpacking: `Tensor.__iter__`."""


@dataclass(frozen=True, slots=True)
class Override:
    """A method of the user's that a library called."""

    source: Source
    owner: ast.ClassDef
    function: Method
    base: Overridden | None
    """The library's own, where its source has it."""

    @property
    def name(self) -> str:
        return f"{self.owner.name}.{self.function.name}"

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.function.lineno)


@dataclass(frozen=True, slots=True)
class PassedArguments:
    """What a call passes."""

    count: int
    """By position."""
    names: tuple[str, ...]
    certain: bool
    """Nothing is unpacked whose members are not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverrideRefuses(Violation):
    """A method of the user's does not take what the library passes."""

    override: Override
    call: ast.Call
    caller: Frame
    names: tuple[str, ...]
    """Passed by name, and not taken."""
    surplus: int
    """Passed by position beyond those that it takes."""
    lacking: tuple[str, ...]
    """Without a default, and not passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverrideReturnsOther(Violation):
    """A library unpacks what a method of the user's returns, and it is not that many values."""

    override: Override
    call: ast.Call
    caller: Frame
    wanted: tuple[str, ...]
    """Names that the library unpacks it into."""
    returned: ast.Return | None
    """The only statement that can have returned it."""


def violations_of(case: Case) -> Iterator[Violation]:
    crash = case.crash
    if crash is None or case.own is None or crash.kind not in ("TypeError", "ValueError"):
        return
    if not case.frames[-1].own and crash.kind == "TypeError":
        yield from refusals(case, case.frames[-1])
    for frame in case.frames[: -BELOW - 1 : -1]:
        if frame.own:
            break
        yield from unpackings(case, frame)


def refusals(case: Case, frame: Frame) -> Iterator[OverrideRefuses]:
    call = parsed(frame.expression or frame.line, ast.Call)
    override = override_called(case, frame, call) if call is not None else None
    if call is None or override is None:
        return
    listed, passed = override.function.args, passed_on(call, frame)
    plain = positional(override.function)
    by_name = {arg.arg for arg in (*listed.args, *listed.kwonlyargs)}
    names = [name for name in passed.names if name not in by_name and listed.kwarg is None]
    surplus = 0 if listed.vararg else max(0, passed.count - len(plain))
    required = [arg.arg for arg in plain[: max(0, len(plain) - len(listed.defaults))]]
    lacking = [
        name for name in required[passed.count :] if passed.certain and name not in passed.names
    ]
    if names or surplus or lacking:
        yield OverrideRefuses(
            use=use_of(case.own or frame),
            override=override,
            call=call,
            caller=frame,
            names=tuple(names),
            surplus=surplus,
            lacking=tuple(lacking),
        )


def unpackings(case: Case, frame: Frame) -> Iterator[OverrideReturnsOther]:
    match parsed(frame.line, ast.Assign):
        case ast.Assign(targets=[ast.Tuple(elts=wanted)], value=ast.Call() as call):
            starred = any(isinstance(part, ast.Starred) for part in wanted)
            failed_in_call = parsed(frame.expression or "", ast.Call) is not None
            override = None if starred or failed_in_call else override_called(case, frame, call)
        case _:
            return
    if override is None or gives_one_by_one(override.function):
        return
    odd = returns_of_other_length(override, len(wanted))
    if odd:
        yield OverrideReturnsOther(
            use=use_of(case.own or frame),
            override=override,
            call=call,
            caller=frame,
            wanted=tuple(map(ast.unparse, wanted)),
            returned=odd[0] if len(odd) == 1 else None,
        )


def returns_of_other_length(override: Override, count: int) -> list[ast.Return]:
    return [
        statement
        for statement in own_returns(override.function)
        if not any(
            can_be_unpacked(override.source.value_of(node), count)
            for node in branches(statement.value or ast.Constant(None))
        )
    ]


def can_be_unpacked(node: ast.expr, count: int) -> bool:
    """It has as many values as are wanted; what the library's own method returns is right."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return len(parts) == count
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")))):
            return True
    return False


def override_called(case: Case, frame: Frame, call: ast.Call) -> Override | None:
    """The user's method that a line of a library calls: by the class of its owner, where the frame
    has that, or as the only override of such a name."""
    owner, name = receiver_and_name(call, frame)
    value = frame.value(owner) if owner else None
    known = [
        Override(source, holder, function, overridden(source, holder, name))
        for source in case.recording.sources()
        for holder in source.every(ast.ClassDef)
        if name and (function := method(source, holder, name)) is not None
    ]
    if value is not None:
        known = [override for override in known if override.owner.name == value.kind]
    else:
        known = [override for override in known if override.base is not None]
    functions = {override.function for override in known}
    return known[0] if len(functions) == 1 else None


def receiver_and_name(call: ast.Call, frame: Frame) -> tuple[str, str]:
    """`self`, `compute_loss` of `self.compute_loss(...)` and of `getattr(self, event)(...)`."""
    match call.func:
        case ast.Attribute(value=owner, attr=name):
            return ast.unparse(owner), name
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, by, *_]):
            value = frame.value(ast.unparse(by))
            event = by.value if isinstance(by, ast.Constant) else value.scalar if value else None
            return ast.unparse(owner), event if isinstance(event, str) else ""
    return "", ""


def passed_on(call: ast.Call, frame: Frame) -> PassedArguments:
    count, names, certain = 0, list[str](), True
    for argument in call.args:
        if isinstance(argument, ast.Starred):
            value = frame.value(ast.unparse(argument.value))
            certain = certain and value is not None and value.length is not None
            count += (value.length or 0) if value is not None else 0
        else:
            count += 1
    for keyword in call.keywords:
        if keyword.arg is not None:
            names.append(keyword.arg)
            continue
        value = frame.value(ast.unparse(keyword.value))
        members = value.members if value is not None else {}
        certain = certain and value is not None and value.length == len(members)
        names += members
    return PassedArguments(count, tuple(names), certain)


def parsed(text: str, kind: type[Kind]) -> Kind | None:
    """An expression or a statement of a library, if it is of this kind."""
    statement = snippets.statement(text)
    if isinstance(statement, kind):
        return statement
    if isinstance(statement, ast.Expr | ast.Assign | ast.Return):
        node = statement.value
        return node if isinstance(node, kind) else None
    return None
