"""The operation that failed, with its operands: read from the frames of a crash."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from surefit.doctor.observations import Frame, Value
from surefit.doctor.violations import Operand, in_code
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.operations.contract_table import ROWS, Contract
from surefit.laws.operations.demands import Given
from surefit.laws.operations.operands import newest, operand_in
from surefit.laws.values.frame_numbers import integer_in
from surefit.laws.values.names import name_in
from surefit.source import snippets
from surefit.source.reading import Source, called, dotted

OPERATORS: Mapping[type[ast.operator | ast.cmpop], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
    ast.Mod: "remainder",
    ast.MatMult: "matmul",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}
MODULES = ("torch", "F", "_VF", "nn", "functional")
"""What torch's own source calls functions through."""
ARRAYS = ("ndarray", "memmap", "Series", "DataFrame")


@dataclass(frozen=True, slots=True)
class FailingCall:
    """An operation of the table that was being run when the exception came."""

    operation: str
    contract: Contract
    given: Given
    operands: Mapping[str, Operand]
    """What the arguments are in the user's own words; items of lists are `tensors[0]`."""
    written: bool
    """The user's own line calls it, not a library."""
    nodes: Mapping[str, ast.expr] = field(default_factory=dict)


def failing_call(case: Case) -> FailingCall | None:
    """The innermost operation of the table."""
    if case.own is None or case.crash is None or case.crash.in_backward:
        return None
    if case.crash.collator is not None and not case.frames[-1].own:
        return None  # a library stacks rows: which of them do not fit is no matter of operands
    for number in range(len(case.frames) - 1, case.number - 1, -1):
        frame = case.frames[number]
        found = in_own_line(case) if frame is case.own else in_library(case, number, frame)
        if found is not None:
            return found
    return None


def in_own_line(case: Case) -> FailingCall | None:
    own, source = case.own, case.source(case.own)
    if own is None or source is None or case.frames[-1] is not own:
        return None  # a function without frames ran: torch's own are of this sort
    node = case.node(own) or augmented(source, own)
    bound = bound_in(node, source)
    if bound is None:
        return None
    operation, nodes = bound
    operands = {
        name: operand
        for argument, node in nodes.items()
        for name, operand in own_operands(case, source, argument, node)
    }
    given = {name: operand.value for name, operand in operands.items()}
    first = given.get(ROWS[operation].arguments[0].lstrip("*"))
    if isinstance(node, ast.Call) and first is not None and first.kind in ARRAYS:
        return None
    return FailingCall(
        operation, ROWS[operation], with_defaults(operation, given), operands, True, nodes
    )


def augmented(source: Source, own: Frame) -> ast.stmt | None:
    """`x += y` has no expression of its own."""
    statement = source.statement_at(own.place.line or 0)
    return statement if isinstance(statement, ast.AugAssign) else None


Bound = tuple[str, dict[str, ast.expr]]
"""An operation of the table, and the nodes of its arguments by name."""


def bound_in(node: ast.AST | None, source: Source | None) -> Bound | None:
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return OPERATORS[type(op)], {"input": left, "other": right}
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in OPERATORS:
            return OPERATORS[type(op)], {"input": left, "other": right}
        case ast.AugAssign(target=left, op=op, value=right) if type(op) in OPERATORS:
            plain = OPERATORS[type(op)]
            return (f"{plain}_" if f"{plain}_" in ROWS else plain), {"input": left, "other": right}
        case ast.Subscript(value=of, slice=index):
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            whole = any(isinstance(part, ast.Slice | ast.Constant) for part in parts)
            return None if whole else ("getitem", {"input": of, "index": ast.Tuple(parts)})
        case ast.Call():
            return bound_call(node, source)
    return None


def bound_call(call: ast.Call, source: Source | None) -> Bound | None:
    operation = called(call)
    if operation not in ROWS or any(isinstance(part, ast.Starred) for part in call.args):
        return None
    plain = list(call.args)
    if not is_function(call.func, source):
        if not isinstance(call.func, ast.Attribute):
            return None
        plain.insert(0, call.func.value)
    names = ROWS[operation].arguments
    nodes: dict[str, ast.expr] = {}
    for at, name in enumerate(names):
        if name.startswith("*"):
            rest = plain[at:]
            listed = len(rest) == 1 and not isinstance(rest[0], ast.Constant)
            nodes[name[1:]] = rest[0] if listed else ast.Tuple(rest, ast.Load())
            break
        if at < len(plain):
            nodes[name] = plain[at]
    named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    aliases = {"axis": "dim", "self": "input", "size": "shape", "indices": "index"}
    return operation, nodes | {
        name if name in names else aliases.get(name, name): node for name, node in named.items()
    }


def is_function(function: ast.expr, source: Source | None) -> bool:
    """One of torch's, not the method of a tensor."""
    root = dotted(function).partition(".")[0]
    if source is not None:
        imported = source.imported(function)
        return imported.startswith("torch") or (not imported and root == "torch")
    return isinstance(function, ast.Name) or root in MODULES


def own_operands(
    case: Case, source: Source, argument: str, node: ast.expr
) -> Iterator[tuple[str, Operand]]:
    """An argument of the user's call, and the items of one that is a list."""
    assert case.own is not None
    if isinstance(node, ast.List | ast.Tuple):
        items = [
            operand
            for at, item in enumerate(node.elts)
            for _, operand in own_operands(case, source, f"{argument}[{at}]", item)
        ]
        yield argument, written_list(case, node, items)
        yield from ((f"{argument}[{at}]", item) for at, item in enumerate(items))
        return
    number = integer_in(case.own, node)
    plain = isinstance(node, ast.Constant)
    if number is not None or plain:
        value = Value(ast.unparse(node), "int", scalar=number)
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bool | float):
            value = replace(value, kind=type(node.value).__name__, scalar=node.value)
        use = case.expression(source, node) if hasattr(node, "lineno") else None
        yield argument, Operand(value=value, name=code(value.text), frame=case.number, use=use)
        return
    operand = operand_in(case, source, node)
    if operand.value.shape is None:
        operand = replace(operand, value=known_list(case, operand))
    yield argument, operand
    for key, member in operand.value.members.items():
        text = f"{operand.value.text}[{key}]"
        name = f"{operand.name[:-1]}[{key}]`" if operand.name.endswith("`") else code(text)
        frame = case.number
        value = replace(member, text=text)
        yield f"{argument}[{key}]", Operand(value=value, name=name, frame=frame)


def written_list(case: Case, node: ast.List | ast.Tuple, items: list[Operand]) -> Operand:
    text = ast.unparse(node)
    members = {str(at): item.value for at, item in enumerate(items)}
    value = Value(text, "list", length=len(items), members=members)
    return Operand(value=value, name=in_code(text, "the list"), frame=case.number)


def known_list(case: Case, operand: Operand) -> Value:
    """What the frame has for a list; of one that is made in the call, what a second run saw."""
    value = case.value(case.number, operand.value.text)
    if value is None:
        producer = newest(case.lineage(operand))
        value = replace(producer.value, text=operand.value.text) if producer is not None else None
    return value or operand.value


def in_library(case: Case, number: int, frame: Frame) -> FailingCall | None:
    """A call in the failing line of a library's frame; for one that raises itself, the call of the
    function that it is."""
    bound = bound_in(snippets.expression(frame.expression), None)
    innermost = number == len(case.frames) - 1
    if bound is not None and innermost:
        operation, nodes = bound
        values = {name: value_of(frame, part) for name, part in nodes.items()}
    elif innermost and "torch/" in frame.place.file:
        operation = frame.function.rpartition(".")[2]
        values = {text: frame.value(text) for text in frame.arguments}
    else:
        return None
    if operation not in ROWS:
        return None
    operands: dict[str, Operand] = {}
    for name, value in values.items():
        if value is not None and value.kind != "NoneType":
            operands |= dict(operands_of(case, number, name, value))
    operands = {**operands, **dict(under_own_names(case, operation, operands))}
    given = {name: operand.value for name, operand in operands.items()}
    return FailingCall(operation, ROWS[operation], with_defaults(operation, given), operands, False)


def under_own_names(
    case: Case, operation: str, operands: Mapping[str, Operand]
) -> Iterator[tuple[str, Operand]]:
    """Operands that have no name, as the user's own call of the same operation writes them."""
    source = case.source(case.own)
    bound = bound_in(case.node(case.own), source) if source is not None else None
    if bound is None or source is None or not operation.startswith(bound[0]):
        return
    for name, node in bound[1].items():
        unnamed = name in operands and not name_in(case, operands[name].value)
        if unnamed and hasattr(node, "lineno"):
            use = case.expression(source, node)
            named = in_code(use.text, code(name))
            yield name, replace(operands[name], name=named, use=use)


def value_of(frame: Frame, node: ast.expr) -> Value | None:
    number = integer_in(frame, node)
    text = ast.unparse(node)
    if number is not None:
        return Value(text, "int", scalar=number)
    if isinstance(node, ast.Tuple | ast.List):
        parts = [value_of(frame, part) for part in node.elts]
        members = {str(at): part for at, part in enumerate(parts) if part is not None}
        return Value(text, "tuple", length=len(parts), members=members)
    return frame.value(text)


def operands_of(
    case: Case, number: int, argument: str, value: Value
) -> Iterator[tuple[str, Operand]]:
    """Under the user's own names, where there are any."""
    text = name_in(case, value, number) or value.text
    yield argument, Operand(value=value, name=in_code(text, code(argument)), frame=number)
    for key, member in value.members.items():
        named = replace(member, text=f"{value.text}[{key}]")
        inner = name_in(case, member, number) or named.text
        name = in_code(inner, code(f"{argument}[{key}]"))
        yield f"{argument}[{key}]", Operand(value=named, name=name, frame=number)


def with_defaults(operation: str, given: Given) -> Given:
    defaults = ROWS[operation].defaults.items()
    return {
        **{name: Value(name, "int", scalar=number) for name, number in defaults},
        **given,
    }
