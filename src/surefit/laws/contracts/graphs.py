"""What `backward` needs: a graph, a single number, values as they were, a graph not yet freed."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from surefit.doctor.graph_stories import BackwardRoot, GraphLeft, GraphStory
from surefit.doctor.observations import Value
from surefit.doctor.violations import Operand, Violation, in_code
from surefit.laws.case import Case, use_of


@dataclass(frozen=True, slots=True, kw_only=True)
class BackwardFailed(Violation):
    """`backward` failed, and a second run has told how the graph came to be."""

    loss: Operand
    """What it was called on."""
    story: GraphStory


class NoGraph(BackwardFailed):
    """It was called on a tensor without a graph."""


class GraphUsedUp(BackwardFailed):
    """All that the graph kept was freed by an earlier backward pass."""


class ValueOverwritten(BackwardFailed):
    """Something that the graph kept was written to afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotOneNumber(Violation):
    """It was called, without gradients of its own, on a tensor with several elements."""

    loss: Operand
    root: BackwardRoot


def violations_of(case: Case) -> Iterator[Violation]:
    crash = case.crash
    if crash is None or case.own is None or not crash.in_backward or crash.compiled:
        return
    left = case.ask(GraphLeft)
    kind = broken_kind(left) if left is not None else None
    if left is None or kind is None:
        return
    loss, use = loss_of(case), use_of(case.own)
    if kind is NotOneNumber:
        yield NotOneNumber(use=use, loss=loss, root=left.roots[0])
        return
    story = case.ask(GraphStory)
    if story is not None and is_told(kind, story):
        yield kind(use=use, loss=loss, story=story)  # type: ignore[call-arg]


def broken_kind(left: GraphLeft) -> type[Violation] | None:
    if not all(root.grad for root in left.roots):
        return NoGraph
    if left.changed:
        return ValueOverwritten
    if left.freed:
        return GraphUsedUp if not left.kept else None
    several = len(left.roots) == 1 and prod(left.roots[0].shape) != 1
    return NotOneNumber if several else None


def is_told(kind: type[Violation], story: GraphStory) -> bool:
    """The second run met the same state of the graph."""
    if kind is NoGraph:
        return story.lost is not None
    if kind is GraphUsedUp:
        return any(joint.freed for joint in story.joints)
    return story.first_overwritten is not None


def loss_of(case: Case) -> Operand:
    """`loss` of `loss.backward()`, of `accelerator.backward(loss)`, of `torch.autograd.grad(loss,
    ...)`."""
    own = case.own
    assert own is not None
    assert case.crash is not None
    number = case.crash.frames.index(own)
    call, source = case.node(use_of(own)), case.source(own.place)
    if source is None or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return Operand(value=Value("loss", "Tensor"), name="`loss`", frame=number)
    handed = [node for node in call.args if case.value(number, source.segment(node)) is not None]
    node = handed[0] if handed else call.func.value
    text = source.segment(node)
    value = case.value(number, text) or Value(text, "Tensor")
    use = case.expression(source, node)
    return Operand(value=value, name=in_code(use.text, "`loss`"), frame=number, use=use)
