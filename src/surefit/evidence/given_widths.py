"""The argument in the user's source that sets the width a layer gives."""

import ast
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Layer
from surefit.doctor.recording import Recording
from surefit.source.classes import Method
from surefit.source.reading import Source, called

GIVES = {"Linear": ("out_features", 1), "LazyLinear": ("out_features", 0)} | {
    f"{kind}{sides}d": ("out_channels", 1)
    for kind in ("Conv", "ConvTranspose")
    for sides in (1, 2, 3)
}
"""Layers -> the argument that is the width they give: its name and its place."""
MOST_CALLERS = 4


@dataclass(frozen=True, slots=True)
class Given:
    """A call, and the one argument of it that sets the width."""

    source: Source
    call: ast.Call
    argument: ast.expr

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.argument.lineno)

    def becomes(self, text: str) -> str:
        """The call with another argument."""
        whole, old = self.source.span(self.call), self.source.span(self.argument)
        if whole.line != whole.end_line:
            return f"{ast.unparse(self.call.func)}(..., {text}, ...)"
        line = self.source.lines[whole.line - 1]
        before, after = line[whole.column : old.column], line[old.end_column : whole.end_column]
        return f"{before}{text}{after}"


def width_given(seen: Recording, layer: Layer, width: int) -> Given | None:
    """In the constructor's call; where that passes on an argument of its function for this alone,
    in the call of that function."""
    source = seen.source(layer.made_at)
    line = layer.made_at.line if layer.made_at else None
    if source is None or line is None or layer.kind not in GIVES:
        return None
    name, position = GIVES[layer.kind]
    calls = [one for one in calls_at(source, line) if called(one) == layer.kind]
    written = [(one, source.argument(one, name, position)) for one in calls]
    fitting = [(one, node) for one, node in written if node and may_be(source, node, width)]
    if len(fitting) != 1:
        return None
    call, node = fitting[0]
    found = Given(source, call, node)
    for _ in range(MOST_CALLERS):
        outer = by_caller(found, width)
        if outer is None:
            return found
        found = outer
    return found


def by_caller(given: Given, width: int) -> Given | None:
    """The argument of the function around, in the one call that gives the width."""
    source, node = given.source, given.argument
    others = [one for one in given.call.args if one is not node]
    square = any(isinstance(node, ast.Name) and ast.dump(one) == ast.dump(node) for one in others)
    bound = source.bound_by(node) if isinstance(node, ast.Name) else []
    if square or len(bound) != 1 or not isinstance(bound[0], ast.arg):
        return None
    function = source.scope_of(node)
    if not isinstance(function, Method):
        return None
    return given_in_calls(source, function, bound[0].arg, width)


def given_in_calls(source: Source, function: Method, name: str, width: int) -> Given | None:
    owner = source.parents[function]
    is_method = isinstance(owner, ast.ClassDef)
    names = [one.arg for one in [*function.args.posonlyargs, *function.args.args]]
    known_as = owner.name if isinstance(owner, ast.ClassDef) and function.name == "__init__" else ""
    position = names.index(name) - (1 if is_method and not is_static(function) else 0)
    found = []
    for call in source.every(ast.Call):
        if called(call) == (known_as or function.name):
            argument = source.argument(call, name, position)
            if argument is not None and may_be(source, argument, width):
                found.append(Given(source, call, argument))
    return found[0] if len(found) == 1 else None


def is_static(function: Method) -> bool:
    return any(ast.unparse(one) == "staticmethod" for one in function.decorator_list)


def may_be(source: Source, node: ast.expr, width: int) -> bool:
    """Not surely another number."""
    value = source.value_of(node)
    return not isinstance(value, ast.Constant) or value.value == width


def calls_at(source: Source, line: int) -> list[ast.Call]:
    """Calls that begin on the lines of the statement at a line."""
    statement = source.statement_at(line)
    if statement is None or hasattr(statement, "body"):
        return list(source.calls_in(line))
    here = list(source.calls_in(line))
    return here or list(source.calls_in(statement.lineno, statement.end_lineno))


def made_by_hand(layer: Layer, seen: Recording) -> bool:
    """The line where it was made calls its class; `GPT2Model(config)` makes many others."""
    source = seen.source(layer.made_at)
    line = layer.made_at.line if layer.made_at else None
    if source is None or line is None:
        return False
    return any(called(one) == layer.kind for one in calls_at(source, line))
