"""What `backward` will meet, as `surefit.laws.contracts.graphs` and its neighbours have it."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from surefit.doctor import graph_stories as stories
from surefit.doctor.observations import Value
from surefit.doctor.violations import Operand
from surefit.doctor.words import code
from surefit.interpreter.value_queries import receiver_node
from surefit.interpreter.values import GraphCut, LayerValue, RecordedOperation, TensorValue
from surefit.interpreter.violations import Site
from surefit.interpreter.wording import describe_layer, expression_of, layer_name, operand_of
from surefit.laws.contracts.gradients import GradientIsNone, Gradients
from surefit.laws.contracts.graphs import GraphUsedUp, NoGraph, NotOneNumber, ValueOverwritten
from surefit.laws.contracts.inference_tensors import InferenceTensorKept
from surefit.laws.contracts.leaves import LeafWritten
from surefit.source.reading import Source, called

NAMED = ast.Name | ast.Attribute
WHEN = {
    "carried": stories.When.IN_AN_EARLIER_ROUND,
    "twice": stories.When.IN_THIS_ROUND,
    "before": stories.When.BEFORE_THE_LOOP,
}


@dataclass(frozen=True, slots=True)
class FreedOperation:
    """Part of a graph that another `backward` has freed."""

    operation: RecordedOperation
    freed_by: ast.AST
    how: Literal["twice", "before", "carried"]
    """`twice` in one iteration, `before` the loop, or `carried` from iteration to iteration."""
    same: bool
    """One loss, two calls."""
    calls: tuple[ast.AST, ...]
    """The calls that led to this `backward`, outermost first."""


def no_graph(at: Site, tensor: TensorValue) -> Iterator[NoGraph]:
    """`backward` is called on a tensor without a graph."""
    if tensor.cut is not None:
        story = story_of(at.source, (at.node,), lost=lost_graph(tensor.cut, at.source))
        yield NoGraph(use=at.use, loss=loss_of(at), story=story)


def not_one_number(at: Site, tensor: TensorValue) -> Iterator[NotOneNumber]:
    """`backward` is called on several numbers."""
    loss = operand_of(at.source, tensor, receiver_node(at.node) or at.node, at.birth)
    root = stories.BackwardRoot(loss.value.shape or (), loss.dtype, True)
    yield NotOneNumber(use=at.use, loss=loss, root=root)


def graph_used_up(at: Site, gone: FreedOperation) -> Iterator[GraphUsedUp]:
    """`backward` goes through a graph that another one has freed."""
    story = story_of(at.source, (*gone.calls, at.node), joints=(freed(at, gone),))
    yield GraphUsedUp(use=at.use, loss=loss_of(at), story=story)


def value_overwritten(
    at: Site, operation: RecordedOperation, writer: Literal["step", "write"], earlier: bool
) -> Iterator[ValueOverwritten]:
    """`backward` needs a value that was written to; `earlier`: of an earlier iteration."""
    if earlier:
        return
    name = name_of(at.birth)
    write = stories.Write(name, stack_of(at.source, (at.birth,)), name if writer == "step" else "")
    changed = stories.OverwrittenValue(
        function=name_of(operation.node),
        shape=(),
        made=stack_of(at.source, calls_of(operation)),
        changes=(write,),
        passes=1,
    )
    story = story_of(at.source, (at.node,), changed=(changed,))
    yield ValueOverwritten(use=at.use, loss=loss_of(at), story=story)


def leaf_written(at: Site, target: ast.AST, tensor: TensorValue) -> Iterator[LeafWritten]:
    """A leaf that requires a gradient is written to while operations are recorded."""
    statement = at.source.statement_of(at.node)
    use = replace(expression_of(at.source, statement), span=at.source.span(statement))
    yield LeafWritten(use=use, leaf=operand_of(at.source, tensor, target, at.node))


def inference_tensor_kept(at: Site, layer: LayerValue) -> Iterator[InferenceTensorKept]:
    """A tensor that was created in inference mode is given to a trainable layer."""
    name = layer_name(at.source, at.node, layer)
    birth = expression_of(at.source, at.birth)
    yield InferenceTensorKept(use=at.use, layer=name, birth=birth)


def gradient_is_none(at: Site, layers: tuple[LayerValue, ...]) -> Iterator[GradientIsNone]:
    """A line computes with the gradients of parameters of which some have none."""
    gradients = Gradients("", 0, (), tuple(map(describe_layer, layers)))
    yield GradientIsNone(use=at.use, text=at.use.text, gradients=gradients)


def lost_graph(cut: GraphCut, source: Source) -> stories.LostGraph:
    if cut.how == "frozen":
        return stories.LostGraph(frozen=1)
    name, outer = name_of(cut.node), source.parents.get(cut.node)
    decorated = isinstance(outer, ast.FunctionDef) and cut.node in outer.decorator_list
    switched = outer.body[0] if isinstance(outer, ast.FunctionDef) and decorated else cut.node
    at = (line_of(source, switched),)
    taken = stories.Cut(
        name=name,
        stack=at,
        enabled=cut.how == "value",
        inference=False,
        floating=name in (*stories.DETACHING, *stories.COPYING),
        checkpointed=at if cut.how == "checkpoint" else (),
    )
    if cut.how == "value" and name in stories.TO_NUMBERS:
        return stories.LostGraph(numbers=(taken,), fresh=(taken,))
    return stories.LostGraph(cuts=(taken,))


def name_of(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return called(node)
    return node.attr if isinstance(node, ast.Attribute) else type(node).__name__.lower()


def loss_of(at: Site) -> Operand:
    use = expression_of(at.source, receiver_node(at.node) or at.node)
    born = expression_of(at.source, at.birth)
    return Operand(value=Value(use.text, "Tensor"), name=code(use.text), use=use, birth=born)


def freed(at: Site, gone: FreedOperation) -> stories.Joint:
    source = at.source
    names: tuple[stories.HolderSeen, ...] = ()
    entered: tuple[tuple[stories.Stood, ...], ...] = ()
    if gone.how == "carried":
        node, name = carried_value(source, gone.operation, at.birth)
        names = (holder(source, node, name),) if name else ()
    elif gone.how == "twice":
        used = first_use_before(source, at.birth, gone.freed_by, at.node)
        names = (holder(source, used, source.segment(used)),) if used else ()
        entered = ((line_of(source, used),),) if used else ()
    return stories.Joint(
        made=stack_of(source, calls_of(gone.operation)),
        taken=() if gone.same else stack_of(source, (at.birth,)),
        freed=True,
        step=None,
        backward=stack_of(source, (gone.freed_by,)),
        names=names,
        steps_since=len(entered),
        repeated=gone.how != "twice",
        when=WHEN[gone.how],
        entered=entered,
    )


def calls_of(operation: RecordedOperation) -> tuple[ast.AST, ...]:
    """Without the constructor of the layer that did it."""
    layer = operation.layer
    calls = [node for node in operation.calls if layer is None or node is not layer.node]
    return tuple(calls) or (operation.node,)


def holder(source: Source, node: ast.AST, name: str) -> stories.HolderSeen:
    owner = next((up.name for up in source.up(node) if isinstance(up, ast.ClassDef)), "")
    attribute = name.removeprefix("self.") if name.startswith("self.") else ""
    line = line_of(source, node)
    return stories.HolderSeen(name, line.function, line.file, name, "", owner, attribute)


def story_of(
    source: Source,
    here: Iterable[ast.AST],
    joints: tuple[stories.Joint, ...] = (),
    changed: tuple[stories.OverwrittenValue, ...] = (),
    lost: stories.LostGraph | None = None,
) -> stories.GraphStory:
    return stories.GraphStory(stack_of(source, here), joints, changed, lost)


def stack_of(source: Source, nodes: Iterable[ast.AST]) -> tuple[stories.Stood, ...]:
    return tuple(line_of(source, node) for node in nodes)


def line_of(source: Source, node: ast.AST) -> stories.Stood:
    scope = source.scope_of(node)
    function = scope.name if isinstance(scope, ast.FunctionDef | ast.ClassDef) else "<module>"
    return stories.Stood(source.file, getattr(node, "lineno", 0), function)


def carried_value(
    source: Source, operation: RecordedOperation, birth: ast.AST
) -> tuple[ast.AST, str]:
    """What is carried from iteration to iteration: the outermost call on the path whose statement
    gives a name, or an attribute, a value that is computed from the one before."""
    for node in operation.calls:
        statement = source.statement_of(node)
        if not isinstance(statement, ast.Assign):
            continue
        read = {ast.unparse(item) for item in ast.walk(statement.value) if isinstance(item, NAMED)}
        for target in statement.targets:
            for item in ast.walk(target):
                if isinstance(item, NAMED) and ast.unparse(item) in read - {"self"}:
                    return node, ast.unparse(item)
    names = assigned_names(source, birth)
    return birth, names[-1] if names else ""


def assigned_names(source: Source, node: ast.AST) -> list[str]:
    """Names that the statement around an expression gives a value."""
    statement = source.statement_of(node)
    if not isinstance(statement, ast.Assign):
        return []
    return [
        item.id
        for target in statement.targets
        for item in ast.walk(target)
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
    ]


def first_use_before(
    source: Source, shared: ast.AST, first: ast.AST, second: ast.AST
) -> ast.AST | None:
    """Where a value that two losses share is first used, if a step is taken between them: there
    the loss of the other model takes it in."""
    names = assigned_names(source, shared)
    lines = [getattr(node, "lineno", 0) for node in (shared, first, second)]
    steps = [
        item
        for item in source.every(ast.Call)
        if isinstance(item.func, ast.Attribute)
        and item.func.attr == "step"
        and lines[1] < item.lineno < lines[2]
    ]
    if not names or not steps or source.scope_of(shared) is not source.scope_of(first):
        return None
    uses = [
        item
        for item in source.every(ast.Name)
        if item.id in names
        and isinstance(item.ctx, ast.Load)
        and lines[0] < item.lineno <= lines[1]
        and source.scope_of(item) is source.scope_of(first)
    ]
    return min(uses, key=lambda left: (left.lineno, left.col_offset), default=None)
