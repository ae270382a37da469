"""What is called, or asked for an attribute, is still what its name was first bound to."""

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Frame, Value
from surefit.doctor.violations import Expression, Violation
from surefit.laws.case import Case, use_of
from surefit.source.installed import find, own_method
from surefit.source.reading import Source, targets

RAISED = ("TypeError", "AttributeError")
Binding = ast.Assign | ast.AnnAssign


@dataclass(frozen=True, slots=True, kw_only=True)
class NameRebound(Violation):
    """A name that was bound again, to a value that cannot do what it is used for."""

    name: str
    """`time`, `self.loss`."""
    value: Value
    rebound: Expression
    """The expression that the name is bound to now."""
    is_called: bool
    """Else an attribute is asked for that the value does not have."""
    first: str
    """What it was before: `a function of Python's`, `imported at line 2`."""
    hides: bool = False
    """An attribute that hides a method of its class."""


def violations_of(case: Case) -> Iterator[NameRebound]:
    own, crash = case.own, case.crash
    if own is None or crash is None or crash.kind not in RAISED or own is not case.frames[-1]:
        return
    node, source = case.node(own), case.source(own)
    used = used_name(node)
    value = own.value(ast.unparse(used)) if used is not None else None
    if source is None or used is None or value is None or not is_plain_data(value):
        return
    name, is_called = value.text, isinstance(node, ast.Call)
    if crash.kind != ("TypeError" if is_called else "AttributeError"):
        return
    last = binding_in_force(source, used, own)
    first = first_meaning(source, used, last) if last is not None else ""
    hiding = hidden_method(used, own, case) if is_called and not first else None
    if hiding is not None:
        source, last, first = hiding
        name = f"self.{name.rpartition('.')[2]}"
    if last is None or last.value is None or not first:
        return
    yield NameRebound(
        use=use_of(own),
        name=name,
        value=value,
        rebound=case.expression(source, last.value),
        is_called=is_called,
        first=first,
        hides=hiding is not None,
    )


def hidden_method(
    used: ast.Name | ast.Attribute, own: Frame, case: Case
) -> tuple[Source, Binding, str] | None:
    """`self.eval = 3` in the class of a model, whose method `eval` it hides."""
    owner = own.value(ast.unparse(used.value)) if isinstance(used, ast.Attribute) else None
    if owner is None or not isinstance(used, ast.Attribute):
        return None
    for source in case.recording.sources():
        for kind in source.definitions.get(owner.kind, ()):
            bases = kind.bases if isinstance(kind, ast.ClassDef) else []
            having = [
                source.imported(base)
                for base in bases
                if is_method(source.imported(base), used.attr)
            ]
            for node in ast.walk(kind) if having else ():
                if isinstance(node, Binding) and f"self.{used.attr}" in map(
                    ast.unparse, targets(node)
                ):
                    return source, node, f"a method of `{having[0]}`"
    return None


def is_method(kind: str, name: str) -> bool:
    found = find(kind) if kind else None
    return found is not None and own_method(found, name) is not None


def used_name(node: ast.expr | None) -> ast.Name | ast.Attribute | None:
    """`time` of `time()` and of `time.sleep`; `self.loss` of `self.loss(...)`."""
    match node:
        case ast.Call(func=ast.Name() | ast.Attribute() as used):
            return used
        case ast.Attribute(value=ast.Name() | ast.Attribute() as used):
            return used
    return None


def is_plain_data(value: Value) -> bool:
    """A number, a text, a list, a tensor or None: nothing that is called."""
    known = (value.shape, value.length, value.scalar)
    return value.layer is None and (
        value.kind == "NoneType" or any(part is not None for part in known)
    )


def bindings_of(source: Source, used: ast.Name | ast.Attribute) -> list[ast.AST]:
    """Of a name in its scope; of an attribute, plain assignments to it in the file."""
    if isinstance(used, ast.Name):
        return source.bound_by(used)
    text = ast.unparse(used)
    every = (node for node in source.nodes if isinstance(node, Binding))
    return [node for node in every if any(ast.unparse(target) == text for target in targets(node))]


def binding_in_force(
    source: Source, used: ast.Name | ast.Attribute, frame: Frame
) -> Binding | None:
    """The assignment whose value the name has: the last before the line that failed, or in a loop
    the last of all."""
    text, line = ast.unparse(used), frame.place.line or 0
    plain = [
        node
        for node in bindings_of(source, used)
        if isinstance(node, Binding)
        and any(ast.unparse(target) == text for target in targets(node))
    ]
    before = [node for node in plain if node.lineno < line and not reads(node, text)]
    again = [node for node in plain if reads(node, text)]
    candidates = again or before or plain
    return max(candidates, key=lambda node: node.lineno, default=None)


def reads(node: Binding, text: str) -> bool:
    """`loss = loss(...)`."""
    return node.value is not None and any(
        isinstance(inner, ast.Name | ast.Attribute) and ast.unparse(inner) == text
        for inner in ast.walk(node.value)
    )


def first_meaning(source: Source, used: ast.Name | ast.Attribute, last: Binding) -> str:
    """What the name stood for before it was bound again; empty where it had no other meaning."""
    for binder in bindings_of(source, used):
        if binder is last:
            continue
        line = getattr(binder, "lineno", 0)
        match binder:
            case ast.alias():
                return f"imported at line {line}"
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return f"defined at line {line}"
            case ast.Assign() | ast.AnnAssign():
                return f"set at line {line}"
            case ast.arg():
                return "an argument of the function"
    if isinstance(used, ast.Name) and hasattr(builtins, used.id):
        return "a built-in of Python"
    return ""
