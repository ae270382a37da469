"""A loss with its graph, in place of an expression that gives its value alone."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.findings import Fix
from surefit.doctor.graph_stories import (
    COPYING,
    DETACHING,
    FROM_NUMBERS,
    TO_NUMBERS,
    Cut,
    LostGraph,
)
from surefit.doctor.violations import Expression
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.remedies.replace import ReplaceWith
from surefit.source.reading import Source, called

ITSELF = "Call `backward` on the tensor itself, and read its number for the log alone"
NUMBER = "gives a plain number of a tensor that had a graph"
WRAPPERS = (*COPYING, "Variable", "Parameter")


@dataclass(frozen=True, slots=True)
class KeepTheGraph:
    """The ways to keep it, where an expression has cut it."""

    case: Case
    must: Condition

    def ways(self, written: Expression, cut: Cut, lost: LostGraph) -> Iterator[Remedy | Fix]:
        source, node = self.case.source(written.place), self.case.node(written)
        if source is None or node is None:
            return
        inner = inner_of(node, cut.name)
        if inner is not None and (cut.name in DETACHING or (cut.name in COPYING and lost.cuts)):
            text = source.segment(inner).removesuffix(".item()")
            if cut.name in COPYING and is_list(source, inner):
                text = f"torch.stack({text})"
            words = f"Keep the graph: {code(text)} in its place."
            at = self.outermost(source, node, written)
            yield ReplaceWith(at=at, text=text, words=words, must=self.must)
        elif cut.name not in (*TO_NUMBERS, *COPYING, *FROM_NUMBERS):
            yield Fix(
                "Compute the loss from the logits (`cross_entropy`,"
                " `binary_cross_entropy_with_logits`) and keep this for the metric.",
                choice=True,
            )
        elif isinstance(node, ast.Call) and called(node) == "item":
            text = source.segment(node).removesuffix(".item()")
            words = f"{ITSELF}: {code(text)}."
            at = self.outermost(source, node, written)
            yield ReplaceWith(at=at, text=text, words=words, must=self.must)
        else:
            yield Fix(f"{ITSELF}.", choice=True)

    def outermost(self, source: Source, node: ast.expr, written: Expression) -> Expression:
        """With the calls around it that make a new tensor of what they are given."""
        outer = source.parents.get(node)
        while isinstance(outer, ast.Call) and called(outer) in WRAPPERS and outer.args == [node]:
            node, written = outer, self.case.expression(source, outer)
            outer = source.parents.get(node)
        return written


def how_it_cuts(cut: Cut) -> str:
    if cut.name in TO_NUMBERS:
        return NUMBER
    if cut.name in (*COPYING, *FROM_NUMBERS):
        return "creates a new tensor from plain values, without a graph"
    if cut.name in DETACHING:
        return "gives the value without its graph"
    return "gives choices, which have no gradient"


def inner_of(node: ast.expr, name: str) -> ast.expr | None:
    """`logits` of `logits.detach()`, `losses` of `torch.tensor(losses)`."""
    if isinstance(node, ast.Attribute):
        return node.value
    if not isinstance(node, ast.Call):
        return None
    if name in DETACHING:
        return node.func.value if isinstance(node.func, ast.Attribute) else None
    plain = all(keyword.arg == "requires_grad" for keyword in node.keywords)
    return node.args[0] if plain and len(node.args) == 1 else None


def is_list(source: Source, node: ast.expr) -> bool:
    """A display, or filled by `losses.append(...)`."""
    append = f"{ast.unparse(node)}.append"
    filled = any(ast.unparse(call.func) == append for call in source.every(ast.Call))
    return filled or isinstance(source.value_of(node), ast.List | ast.ListComp)
