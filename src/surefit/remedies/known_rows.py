"""A loss over the elements whose target is known."""

import ast

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.gradient_births import ForwardValue
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.training.rounds import innermost
from surefit.remedies.change import Change
from surefit.source.edits import inserted_before, with_import
from surefit.source.line_edits import shares_lines

KNOWN = "known"


def only_known_rows(case: Case, missing: ForwardValue, must: Condition) -> Remedy | None:
    """Before the line that uses a tensor with missing elements: it and the tensor that it is
    compared with, where it is known. None where the line does not have just two names of which this
    is one."""
    here = innermost(case.recording, missing.stack)
    if here is None or not here.is_simple or shares_lines(here.source, here.statement):
        return None
    pairs = [pair for node in ast.walk(here.statement) if (pair := compared(node))]
    pairs = [pair for pair in pairs if missing.holder in pair]
    if len(set(pairs)) != 1:
        return None
    first, second = pairs[0]
    text = (
        f"{KNOWN} = torch.isfinite({missing.holder})\n"
        f"{first}, {second} = {first}[{KNOWN}], {second}[{KNOWN}]"
    )
    edit = inserted_before(here.source, here.statement, text)
    words = (
        f"Compute the loss where `{missing.holder}` is known: {code(f'{missing.holder}[{KNOWN}]')}"
        " and the same elements of the other."
    )
    must_import = with_import(edit, here.source, "torch", None)
    return Change(to=must_import, words=words, must=must, choice=True)


def compared(node: ast.AST) -> tuple[str, str] | None:
    """`pred` and `target` of `pred - target`, and of a loss that is called with both."""
    match node:
        case ast.BinOp(left=ast.Name(id=first), op=ast.Sub(), right=ast.Name(id=second)):
            return first, second
        case ast.Call(args=[ast.Name(id=first), ast.Name(id=second)]):
            return first, second
    return None
