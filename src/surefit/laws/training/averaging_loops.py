"""Loops of the user's in which the parameters of one model follow those of another."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.recording import Recording
from surefit.source.reading import Source, called, dotted

PARAMETERS = ("parameters", "named_parameters")
BUFFERS = ("buffers", "named_buffers")


@dataclass(frozen=True, slots=True)
class AveragingLoop:
    """`for slow, fast in zip(average.parameters(), model.parameters()): slow.lerp_(fast, 0.1)`."""

    source: Source
    statement: ast.For
    follower: str
    """The model whose parameters are changed."""
    leader: str
    names: tuple[str, str]
    """Of a parameter of each."""


def averaging_loops(recording: Recording) -> Iterator[AveragingLoop]:
    """Those that leave buffers out."""
    for source in recording.sources():
        for statement in source.every(ast.For):
            loop = averaging(source, statement)
            if loop is not None and not copies_buffers(source, loop.follower):
                yield loop


def copies_buffers(source: Source, follower: str) -> bool:
    """`zip(average.buffers(), ...)` is somewhere, too."""
    calls = list(source.calls_named(*BUFFERS))
    return any(ast.unparse(call.func).rpartition(".")[0] == follower for call in calls)


def averaging(source: Source, statement: ast.For) -> AveragingLoop | None:
    match statement:
        case ast.For(
            target=ast.Tuple(elts=[first, second]),
            iter=ast.Call(func=ast.Name(id="zip"), args=[left, right]),
        ):
            names = parameter_name(first), parameter_name(second)
            owners = owner_of(source, left), owner_of(source, right)
        case _:
            return None
    if not all(names) or not all(owners):
        return None
    changed = [at for at in (0, 1) if is_changed(statement, names[at])]
    if len(changed) != 1:
        return None
    at = changed[0]
    return AveragingLoop(source, statement, owners[at], owners[1 - at], (names[at], names[1 - at]))


def parameter_name(target: ast.expr) -> str:
    """`p`, also of `(name, p)`."""
    if isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target = target.elts[1]
    return target.id if isinstance(target, ast.Name) else ""


def owner_of(source: Source, node: ast.expr) -> str:
    """`self.shadow` of `self.shadow.parameters()`."""
    if not isinstance(node, ast.Call) or called(node) not in PARAMETERS or node.args:
        return ""
    return source.segment(node.func.value) if isinstance(node.func, ast.Attribute) else ""


def is_changed(statement: ast.For, name: str) -> bool:
    """`p.mul_(...)`, `p.data.copy_(...)`, `p.data = ...`."""
    own = (name, f"{name}.data")
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            inner: ast.expr = node.func.value
            while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
                inner = inner.func.value
            if node.func.attr.endswith("_") and dotted(inner) in own:
                return True
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AugAssign) else targets
        if any(dotted(target) == f"{name}.data" for target in targets):
            return True
    return False
