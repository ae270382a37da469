"""Expressions, by their syntax."""

import ast
from collections.abc import Hashable, Sequence

from surefit.interpreter.attributes import attribute_of, get_item
from surefit.interpreter.builtin_calls import BUILTINS
from surefit.interpreter.calls import evaluate_call
from surefit.interpreter.classes import truth_of
from surefit.interpreter.evaluator import MOST_ITERATIONS, Evaluator
from surefit.interpreter.iteration import iterations_of
from surefit.interpreter.operators import binary, compare_values, unary
from surefit.interpreter.optimizers import filter_parameters
from surefit.interpreter.statements import evaluate_bool, evaluate_if
from surefit.interpreter.value_queries import sequence
from surefit.interpreter.values import (
    ABSENT,
    UNKNOWN,
    AbstractValue,
    Constant,
    DictValue,
    FunctionValue,
    ImportedName,
    ParameterSet,
    Scope,
    SliceValue,
)


def evaluate_expression(run: Evaluator, node: ast.expr, scope: Scope) -> AbstractValue:
    run.step()
    match node:
        case ast.Constant(value=value):
            return Constant(value, node)
        case ast.Name(id=name):
            result = scope.find(name)
            if name == "__name__":
                return Constant("__main__")
            if result is ABSENT:
                return ImportedName(name) if name in BUILTINS else UNKNOWN
            return result
        case ast.Attribute(value=owner, attr=name):
            return attribute_of(run, run.evaluate(owner, scope), name, node)
        case ast.Call():
            return evaluate_call(run, node, scope)
        case ast.BinOp(left=left, op=op, right=right):
            values = run.evaluate(left, scope), run.evaluate(right, scope)
            return binary(run, values[0], op, values[1], (left, right), node)
        case ast.UnaryOp(op=op, operand=operand):
            return unary(run, op, run.evaluate(operand, scope), node)
        case ast.BoolOp():
            return evaluate_bool(run, node, scope)
        case ast.Compare():
            return evaluate_compare(run, node, scope)
        case ast.IfExp():
            return evaluate_if(run, node, scope)
        case ast.Subscript(value=owner, slice=index):
            return get_item(run, run.evaluate(owner, scope), run.evaluate(index, scope), node)
        case ast.Slice():
            ends = (node.lower, node.upper, node.step)
            return SliceValue(*(run.evaluate(e, scope) if e else Constant(None) for e in ends))
        case ast.Tuple(elts=parts):
            return evaluate_sequence(run, "tuple", parts, scope, node)
        case ast.List(elts=parts):
            return evaluate_sequence(run, "list", parts, scope, node)
        case ast.Dict():
            return evaluate_dict(run, node, scope)
        case ast.ListComp() | ast.GeneratorExp():
            return evaluate_comprehension(run, node, scope)
        case ast.Lambda():
            return FunctionValue(node, scope)
        case ast.NamedExpr(target=target, value=value):
            result = run.evaluate(value, scope)
            run.assign(target, result, scope)
            return result
        case ast.JoinedStr():
            return evaluate_text(run, node, scope)
        case ast.Starred(value=value):
            run.escape(run.evaluate(value, scope))
    return UNKNOWN


def evaluate_text(run: Evaluator, node: ast.JoinedStr, scope: Scope) -> AbstractValue:
    words: list[str] | None = []
    for part in node.values:
        inner = part.value if isinstance(part, ast.FormattedValue) else part
        value = run.evaluate(inner, scope)
        spec = getattr(part, "format_spec", None), getattr(part, "conversion", -1)
        plain = isinstance(part, ast.Constant | ast.FormattedValue) and spec == (None, -1)
        if not isinstance(value, Constant) or not plain:
            words = None
        elif words is not None:
            words.append(str(value.value))
    return UNKNOWN if words is None else Constant("".join(words), node)


def evaluate_sequence(
    run: Evaluator, kind: str, parts: Sequence[ast.expr], scope: Scope, node: ast.AST
) -> AbstractValue:
    results: list[AbstractValue] = []
    for part in parts:
        if isinstance(part, ast.Starred):
            iterations = iterations_of(run, run.evaluate(part.value, scope))
            if not iterations.all_known:
                return sequence(kind, None, node)
            results += iterations.items
        else:
            results.append(run.evaluate(part, scope))
    return sequence(kind, results, node)


def evaluate_dict(run: Evaluator, node: ast.Dict, scope: Scope) -> AbstractValue:
    results: dict[object, AbstractValue] = {}
    known = True
    for key, value in zip(node.keys, node.values, strict=True):
        result = run.evaluate(value, scope)
        name = run.evaluate(key, scope) if key is not None else None
        if name is None and isinstance(result, DictValue) and result.items is not None:
            results |= result.items
        elif isinstance(name, Constant) and isinstance(name.value, Hashable):
            results[name.value] = result
        else:
            known = False
    return DictValue(results if known else None, node)


def evaluate_comprehension(
    run: Evaluator, node: ast.ListComp | ast.GeneratorExp, scope: Scope
) -> AbstractValue:
    if len(node.generators) != 1 or node.generators[0].is_async:
        return sequence("list", None, node)
    loop = node.generators[0]
    over = run.evaluate(loop.iter, scope)
    if isinstance(over, ParameterSet):
        return filter_parameters(node, over)
    iterations = iterations_of(run, over)
    inner = Scope(scope)
    items: list[AbstractValue] | None = [] if iterations.all_known else None
    count = len(iterations.items) if iterations.all_known else 1
    if count > MOST_ITERATIONS:
        items, count = None, 1
    guard = run.guard
    for number in range(count):
        run.assign(loop.target, iterations.item(number), inner)
        tests = [truth_of(run.evaluate(test, inner)) for test in loop.ifs]
        if None in tests:
            items = None
            run.guard += 1
        if False in tests:
            continue
        value = run.evaluate(node.elt, inner)
        if items is not None:
            items.append(value)
        elif not iterations.all_known or count == 1:
            run.guard = guard
            return sequence("list", None, node)
    run.guard = guard
    return sequence("list", items, node)


def evaluate_compare(run: Evaluator, node: ast.Compare, scope: Scope) -> AbstractValue:
    values = [run.evaluate(item, scope) for item in (node.left, *node.comparators)]
    results = [
        compare_values(values[at], op, values[at + 1], node) for at, op in enumerate(node.ops)
    ]
    if len(results) == 1:
        return results[0]
    known = [truth_of(result) for result in results]
    if False in known:
        return Constant(False)
    return UNKNOWN if None in known else Constant(True)
