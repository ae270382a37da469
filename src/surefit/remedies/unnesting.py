"""An axis of size 1 removed where it was added, or from what a row is given."""

import ast

from surefit.doctor.violations import Written
from surefit.laws.case import Case
from surefit.lineage.producers import Producer, ProducerKind
from surefit.remedies.statements import assigned_name
from surefit.source.edits import appended, argument_removed, inserted_after, replaced, wrapped
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit

NEED_TENSORS = {"clone", "squeeze", "flatten", "view", "to", "masked_fill", "detach", "unsqueeze"}
EACH = "for key in {name}:\n    {name}[key] = {name}[key].squeeze(0)"


def unlisted(case: Case, onset: Producer, tensors: Written | None, value: Written) -> Edit | None:
    """`[x]` becomes `x`; a list that was given one item, that item."""
    node, source = case.node(onset), case.source(onset)
    if source is None or tensors is not None:
        return None
    match node, case.node(value):
        case ast.List(elts=[item]), _:
            return replaced(source, node, source.segment(item))
        case ast.Call(args=[*_, item]), ast.expr() as target:
            if onset.kind is ProducerKind.MUTATION:
                return replaced(source, target, source.segment(item))
    return None


def without_tensors(
    case: Case, onset: Producer, tensors: Written | None, value: Producer
) -> Edit | None:
    """Plain lists, where a function given to `map` calls nothing that only tensors have."""
    call, source = case.node(tensors), case.source(tensors)
    if source is None or not isinstance(call, ast.Call) or "__getitem__" in onset.function:
        return None
    if source.argument(call, "return_tensors") is None or value.value.shape is not None:
        return None
    inside = [node for node in ast.walk(source.scope_of(call)) if isinstance(node, ast.Attribute)]
    if any(node.attr in NEED_TENSORS for node in inside):
        return None
    return argument_removed(source, call, "return_tensors")


def squeezed(case: Case, onset: Producer, tensors: Written | None, value: Producer) -> Edit | None:
    """`.squeeze(0)` after what a row is given; of a whole mapping, each of its values."""
    node, source = case.node(value), case.source(value)
    call = case.node(tensors)
    if node is None or source is None or (onset.kind is ProducerKind.DISPLAY and tensors is None):
        return None
    if value.value.shape is not None and (tensors is None or stands_in(case, value, tensors)):
        return appended(source, node, ".squeeze(0)")
    source = case.source(tensors)
    if not isinstance(call, ast.Call) or source is None:
        return None
    name, statement = assigned_name(case, tensors), source.statement_of(call)
    if name is not None and not shares_lines(source, statement):
        return inserted_after(source, statement, EACH.format(name=name))
    return wrapped(source, call, "{key: item.squeeze(0) for key, item in ", ".items()}")


def stands_in(case: Case, value: Written, tensors: Written) -> bool:
    """In the function of the call, or in a comprehension there: other callers of what creates the
    tensor are not changed."""
    source, node, call = case.source(value), case.node(value), case.node(tensors)
    if source is None or node is None or call is None or value.place.file != tensors.place.file:
        return False
    return source.scope_of(node) is source.scope_of(call)
