"""Both sides of a divergence as it takes them: logarithms first, probabilities second."""

import ast

from surefit.doctor.findings import Place
from surefit.laws.losses.divergences import Divergence, softmax_of
from surefit.source.definitions import definition
from surefit.source.edits import (
    Edit,
    appended,
    argument_added,
    argument_removed,
    both,
    replaced,
)
from surefit.source.reading import Source

GIVEN, RAW, SWAPPED, LOG_TARGET, PLAIN_TARGET = (
    *("probabilities first", "logits first", "sides swapped"),
    *("logarithms second", "probabilities second"),
)


def mended(one: Divergence, fault: str) -> tuple[Edit | None, Place, str]:
    """The edit, the line that it changes, and what it does."""
    source, given, target = one.source, one.given, one.target
    if given is None or target is None:
        return None, one.place, "Give it logarithms first, and probabilities second."
    if fault == GIVEN:
        node = softmax_to_change(source, given)
        if node is not None:
            before = source.segment(node.func).removesuffix("softmax")
            edit = replaced(source, node.func, f"{before}log_softmax")
            return edit, one.place_of(node), "Use `log_softmax`, which gives the logarithms."
        text = f"Take the logarithm of {one.shown[0]}."
        return appended(source, given, ".log()"), one.place, text
    if fault == RAW:
        text = f"Give it `log_softmax` of {one.shown[0]}."
        return appended(source, given, ".log_softmax(-1)"), one.place, text
    if fault == SWAPPED:
        texts = source.segment(given), source.segment(target)
        edit = both(replaced(source, given, texts[1]), replaced(source, target, texts[0]))
        return edit, one.place, "Give it the logarithms first."
    here = one.place_of(one.settings)
    if fault == LOG_TARGET:
        edit = argument_added(source, one.settings, "log_target", "True")
        return edit, here, "Say `log_target=True`."
    written = any(word.arg == "log_target" for word in one.settings.keywords)
    removal = argument_removed(source, one.settings, "log_target") if written else None
    return removal, here, "Leave `log_target` out."


def softmax_to_change(source: Source, node: ast.expr) -> ast.Call | None:
    """The softmax that an argument comes from, if it is used for nothing else."""
    made = softmax_of(source, node)
    if made is None or (made is not node and not is_read_once(source, node, made)):
        return None
    by_name = isinstance(made.func, ast.Attribute) and made.func.attr == "softmax"
    return made if by_name else None


def is_read_once(source: Source, node: ast.expr, made: ast.Call) -> bool:
    """`p = softmax(...)`, and this argument is all that reads that `p`."""
    if not isinstance(node, ast.Name) or definition(source, node) is not made:
        return False
    statement, inside = source.statement_of(made), set(ast.walk(made))
    looped = any(isinstance(one, ast.For | ast.While) for one in source.up(statement))
    reads = [
        one
        for one in source.every(ast.Name)
        if one.id == node.id
        and isinstance(one.ctx, ast.Load)
        and source.scope_of(one) is source.scope_of(node)
        and (one not in inside if looped else one.lineno > statement.lineno)
        and definition(source, one) in (made, None)
    ]
    return len(reads) == 1
