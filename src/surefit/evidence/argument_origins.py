"""Where a number that a function was given comes from, followed outwards through the frames."""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Frame
from surefit.doctor.recording import Recording
from surefit.evidence.failing_expressions import parsed
from surefit.source.reading import Source


def where_given(crash: Crash, seen: Recording, number: int) -> Place | None:
    """The user's line that chose a number: of the innermost own call that passes it, or, as long as
    that only passes on an argument of its function, of the call around."""
    found: Place | None = None
    for frame in reversed([one for one in crash.frames if one.own]):
        node = passed(frame, number)
        if node is None:
            return in_defaults(seen, found, number) or found
        found = place_of(frame, node, seen, number)
        if not isinstance(node, ast.Name) or node.id not in frame.arguments:
            return found
    return found


def passed(frame: Frame, number: int) -> ast.expr | None:
    """The argument of the failing call that has the number; None unless there is just one."""
    call = parsed(frame.expression)
    if not isinstance(call, ast.Call):
        return None
    values = {value.text: value.scalar for value in frame.values}
    nodes = [*call.args, *(one.value for one in call.keywords)]
    same = [
        node
        for node in nodes
        if (node.value if isinstance(node, ast.Constant) else values.get(ast.unparse(node)))
        == number
    ]
    return same[0] if len(same) == 1 else None


def place_of(frame: Frame, node: ast.expr, seen: Recording, number: int) -> Place:
    """Where the name of the argument has its number from; or the line of the argument itself."""
    first = frame.span.line if frame.span else frame.place.line
    here = Place(frame.place.file, (first or 0) + node.lineno - 1)
    if isinstance(node, ast.Name) and node.id in frame.arguments:
        return here
    name = last_name(node)
    return (number_named(seen, frame.place.file, name, number) if name else None) or here


def last_name(node: ast.expr) -> str:
    """`heads` for that, for `config.heads`, and for `config["heads"]`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
    return ""


def number_named(seen: Recording, file: str, name: str, number: int) -> Place | None:
    """The one line of a file that gives a name, a key, a field or an option this number."""
    source = seen.source(file)
    found = {
        Place(file, node.lineno)
        for given, node in (every_number(source) if source else ())
        if given == name and source and is_number(source, node, number)
    }
    return found.pop() if len(found) == 1 else None


def every_number(source: Source) -> Iterator[tuple[str, ast.expr]]:
    """Names and what they are given, wherever source does that."""
    for node in source.nodes:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                pairs = zip(names, values, strict=False)
                yield from ((last_name(one), value) for one, value in pairs)
            case ast.Assign(targets=[target], value=value):
                yield last_name(target), value
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield last_name(target), value
            case ast.keyword(arg=str(name), value=value):
                yield name, value
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    yield str(key.value) if isinstance(key, ast.Constant) else "", value
            case ast.Call(args=[ast.Constant(value=str(option)), *_], keywords=keywords):
                name = option.lstrip("-").replace("-", "_")
                yield from ((name, one.value) for one in keywords if one.arg == "default")


def in_defaults(seen: Recording, place: Place | None, number: int) -> Place | None:
    """The default of an argument of the function around a line, where no call gives another."""
    source = seen.source(place)
    statement = source.statement_at(place.line) if source and place and place.line else None
    function = source.scope_of(statement) if source and statement else None
    if not isinstance(function, ast.FunctionDef) or place is None:
        return None
    for default in (*function.args.defaults, *function.args.kw_defaults):
        if isinstance(default, ast.Constant) and default.value == number:
            return Place(place.file, default.lineno)
    return None


def is_number(source: Source, node: ast.expr, number: int) -> bool:
    value = source.value_of(node)
    return isinstance(value, ast.Constant) and value.value == number
