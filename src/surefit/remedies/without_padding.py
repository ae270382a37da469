"""A divergence over the real positions alone: where its mean is taken, or by the caller."""

import ast

from surefit.doctor.observations import DivergenceSeen
from surefit.laws.losses.divergences import LOG_SOFTMAX, SOFTMAX, Divergence
from surefit.source.callers import calls_that_run, given_in
from surefit.source.classes import Method
from surefit.source.definitions import definition
from surefit.source.edits import Edit, appended, binds_tightly, both, replaced
from surefit.source.operations import operation
from surefit.source.reading import Source, called, names_within
from surefit.source.selection import the_only

REDUCES = ("mean", "sum")

MOST_STEPS = 12

PASSED = ("view", "reshape", "flatten", "detach", "contiguous", "float", "to", "clone", "log")
"""Methods that leave places where they are, or side by side."""


def mended_by_the_caller(one: Divergence, call: DivergenceSeen, real: str) -> Edit | None:
    """The logits of real places alone, where the function asks for no more than the classes."""
    given = logits_given(one)
    whole = call.reduction == "batchmean" and len(call.shape) > 2
    if given is None or whole or call.padding is None or call.padding.shifted:
        return None
    if not all(is_known_beside(one.source, call.padding.beyond, node) for node in given):
        return None
    first, second = (written_anew(one.source, node, f"[{real}]") for node in given)
    return both(first, second)


def mended(
    one: Divergence, call: DivergenceSeen, real: str, reducing: ast.Call | None
) -> Edit | None:
    source, given, target = one.source, one.given, one.target
    flat = len(call.shape) == 2
    index = f"[({real}).reshape(-1)]" if flat else f"[{real}]"
    if call.reduction == "none":
        taken = reduced(source, reducing) if reducing is not None else None
        return appended(source, taken, index) if taken is not None else None
    if given is None or target is None:
        return None
    if call.reduction == "batchmean" and not flat:
        # An index would make rows of places, by whose number the sum is then divided.
        index = f" * ({real}).unsqueeze(-1)"
    return both(written_anew(source, given, index), written_anew(source, target, index))


def written_anew(source: Source, node: ast.expr, index: str) -> Edit:
    """The whole argument, so that another fix can put one more behind it."""
    text = source.segment(node)
    whole = text if binds_tightly(source, node) else f"({text})"
    return replaced(source, node, f"{whole}{index}")


def reduced_by(one: Divergence) -> ast.Call | None:
    """The one `.mean()` or `.sum()` over everything that the divergence of each place comes to, in
    the function that computes it."""
    source = one.source
    return the_only(
        call
        for call in source.every(ast.Call)
        if source.scope_of(call) is source.scope_of(one.call)
        and called(call) in REDUCES
        and (taken := reduced(source, call)) is not None
        and comes_from(source, taken, one.call)
    )


def reduced(source: Source, call: ast.Call) -> ast.expr | None:
    """`kl` of `kl.mean()` and of `torch.mean(kl)`; None where an axis is said."""
    if source.imported(call.func).startswith("torch."):
        return call.args[0] if len(call.args) == 1 and not call.keywords else None
    if call.args or call.keywords or not isinstance(call.func, ast.Attribute):
        return None
    return call.func.value


def comes_from(source: Source, node: ast.expr, divergence: ast.Call) -> bool:
    """It is the divergence, or its sum over the classes, by itself or by a name."""
    for _ in range(4):
        if node is divergence:
            return True
        match node:
            case ast.Name() if (made := definition(source, node)) is not None:
                node = made
            case ast.Call(func=ast.Attribute(value=owner, attr="sum")) if is_over_classes(node):
                node = owner
            case _:
                return False
    return False


def is_over_classes(call: ast.Call) -> bool:
    """`(-1)` and `(dim=-1)`."""
    given = [*call.args, *(word.value for word in call.keywords if word.arg in ("dim", "axis"))]
    return [ast.unparse(one) for one in given] in (["-1"], ["2"])


def logits_given(one: Divergence) -> tuple[ast.expr, ast.expr] | None:
    """The two arguments of the only call of that function; None where one of them is not known."""
    source, function = one.source, one.source.scope_of(one.call)
    calls = calls_that_run(source, function) if isinstance(function, Method) else None
    if calls is None or len(calls) != 1 or one.given is None or one.target is None:
        return None
    arguments = [argument_behind(source, side, function) for side in (one.given, one.target)]
    first, second = (
        given_in(source, function, calls[0], argument) if argument is not None else None
        for argument in arguments
    )
    return (first, second) if first is not None and second is not None else None


def argument_behind(source: Source, node: ast.expr, function: ast.AST) -> ast.arg | None:
    """Of a function: the one that holds the logits which a side of a divergence comes from."""
    for _ in range(MOST_STEPS):
        if isinstance(node, ast.Name):
            made = definition(source, node)
            if made is None:
                return argument_named(source, node, function)
            node = made
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Mult):
            node = node.left
        elif isinstance(node, ast.Call) and (inner := taken(source, node)) is not None:
            node = inner
        else:
            break
    return None


def argument_named(source: Source, name: ast.Name, function: ast.AST) -> ast.arg | None:
    found = [one for one in source.bound_by(name) if isinstance(one, ast.arg)]
    return the_only(one for one in found if source.parents[source.parents[one]] is function)


def taken(source: Source, call: ast.Call) -> ast.expr | None:
    """What a softmax, or a change of shape, is taken of."""
    name = operation(source, call)
    if name in (*SOFTMAX, *LOG_SOFTMAX) and not name.startswith("."):
        return source.argument(call, "input", 0)
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    known = method in PASSED or name in (*SOFTMAX, *LOG_SOFTMAX)
    return call.func.value if known and isinstance(call.func, ast.Attribute) else None


def is_known_beside(source: Source, text: str, node: ast.expr) -> bool:
    """The name that a text begins with is one of the function that a node stands in."""
    names = names_within(ast.parse(text, mode="eval"))
    scope = source.scope_of(node)
    return all(
        any(one.id == name and source.scope_of(one) is scope for one in source.every(ast.Name))
        for name in names
    )
