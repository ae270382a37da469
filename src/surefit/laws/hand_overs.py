"""Where a value that has a name is handed on: returned, put into a dictionary or a list, passed."""

import ast
from collections.abc import Container, Iterable, Iterator

from surefit.doctor.observations import Value
from surefit.doctor.violations import Expression, Operand, Written
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.lineage.producers import Producer
from surefit.source.reading import Source, targets

MOST = 3


def hand_overs(case: Case, written: Written) -> Iterator[Expression]:
    """Uses of the name that an expression is assigned to, in the same function: those that put it
    into something or return it before those that pass it to a call."""
    node, source = case.node(written), case.source(written.place)
    if node is None or source is None:
        return
    uses = sorted(uses_of(source, node), key=lambda use: is_passed(source, use))
    for use in uses[:MOST]:
        yield case.expression(source, use)


def entries(case: Case, value: Value) -> Iterator[Expression]:
    """What the user's source puts into a dictionary that holds the value and that a line of the
    user's names: `args.out` of `{"folder": args.out}`."""
    for number, frame in enumerate(case.frames):
        for known in frame.values if frame.own else ():
            keys = {
                key for key, member in known.members.items() if member.identity == value.identity
            }
            if keys and known.kind == "dict":
                operand = Operand(value=known, name=code(known.text), frame=number)
                yield from entries_of(case, case.lineage(operand).producers, keys)


def entries_of(
    case: Case, producers: Iterable[Producer], keys: Container[object]
) -> Iterator[Expression]:
    for producer in producers:
        node, source = case.node(producer), case.source(producer.place)
        if source is None or not isinstance(node, ast.Dict):
            continue
        for key, entry in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value in keys:
                yield case.expression(source, entry)


def uses_of(source: Source, node: ast.expr) -> list[ast.expr]:
    statement = source.parents.get(node)
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is not node:
        return []
    texts = {ast.unparse(target) for target in targets(statement)}
    scope = source.scope_of(node)
    return [
        use
        for use in ast.walk(scope)
        if isinstance(use, ast.Name | ast.Attribute)
        and ast.unparse(use) in texts
        and isinstance(use.ctx, ast.Load)
        and use.lineno > node.lineno
        and isinstance(
            source.parents.get(use),
            ast.Dict | ast.List | ast.Tuple | ast.Return | ast.Call | ast.keyword,
        )
    ]


def is_passed(source: Source, use: ast.expr) -> bool:
    return isinstance(source.parents.get(use), ast.Call | ast.keyword)
