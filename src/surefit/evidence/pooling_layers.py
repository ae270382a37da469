"""The call that makes a pooling layer, found from the line that runs it."""

import ast
from dataclasses import dataclass

from surefit.doctor.observations import Operation
from surefit.doctor.recording import Recording
from surefit.source.classes import set_on_self
from surefit.source.reading import Source, called, dotted

KINDS = ("AvgPool", "MaxPool")
FUNCTIONS = ("avg_pool", "max_pool")


@dataclass(frozen=True, slots=True)
class Pooling:
    """A call of `nn.AvgPool2d`, or of `F.avg_pool2d` itself."""

    source: Source
    call: ast.Call
    used: int
    """From how many places of the source it is run."""

    @property
    def is_layer(self) -> bool:
        return called(self.call).startswith(KINDS)

    @property
    def adaptive(self) -> str:
        """`nn.AdaptiveAvgPool2d` for `nn.AvgPool2d`, written as the source does."""
        before, _, name = dotted(self.call.func).rpartition(".")
        new = f"Adaptive{name}" if self.is_layer else f"adaptive_{name}"
        return f"{before}.{new}" if before else new


def pooling_at(operation: Operation, seen: Recording) -> Pooling | None:
    """By the user's line that an operation belongs to."""
    source = seen.source(operation.place)
    line = operation.place.line if operation.place else None
    statement = source.statement_at(line) if source and line else None
    if source is None or statement is None:
        return None
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    plain = [one for one in calls if called(one).startswith(FUNCTIONS)]
    if plain:
        return Pooling(source, plain[0], 1) if len(plain) == 1 else None
    for call in calls:
        made = set_on_self(source, call.func) if isinstance(call.func, ast.Attribute) else None
        if isinstance(call.func, ast.Name):
            made = source.value_of(call.func)
        layers = poolings_in(made, operation.name) if made else []
        if layers:
            return Pooling(source, layers[-1], times_used(source, call.func))
    return None


def poolings_in(made: ast.expr, function: str) -> list[ast.Call]:
    """Calls that make a layer of this function, in the order of writing."""
    calls = [one for one in ast.walk(made) if isinstance(one, ast.Call)]
    found = [one for one in calls if called(one).lower() == function.replace("_", "")]
    return sorted(found, key=lambda one: (one.lineno, one.col_offset))


def times_used(source: Source, function: ast.expr) -> int:
    text = ast.unparse(function)
    return len([one for one in source.every(ast.Call) if ast.unparse(one.func) == text])
