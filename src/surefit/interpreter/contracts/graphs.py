"""What `backward` will meet, as `surefit.laws.contracts.graphs` and its neighbours have it."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace

from surefit.doctor.observations import Value
from surefit.doctor.violations import Operand, Violation
from surefit.doctor.words import code
from surefit.interpreter import violations
from surefit.interpreter.methods import receiver_node
from surefit.interpreter.values import GraphCut, RecordedOperation
from surefit.interpreter.violations import SourceViolation
from surefit.interpreter.wording import describe_layer, expression_of, layer_name, operand_of
from surefit.laws import graph_stories as stories
from surefit.laws.case import Case
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


def violations_of(violation: SourceViolation, case: Case, source: Source) -> Iterator[Violation]:  # noqa: ARG001
    use = expression_of(source, violation.node)
    match violation:
        case violations.BackwardWithoutGraph(tensor=tensor) if tensor.cut is not None:
            loss = loss_of(source, violation.node, tensor.cut.node)
            story = story_of(source, (violation.node,), lost=lost_graph(tensor.cut, source))
            yield NoGraph(use=use, loss=loss, story=story)
        case violations.BackwardOfNonScalar(node=call):
            node = receiver_node(call) or call
            loss = operand_of(source, violation.tensor, node, violation.birth)
            root = stories.BackwardRoot(loss.value.shape or (), loss.dtype, True)
            yield NotOneNumber(use=use, loss=loss, root=root)
        case violations.GraphFreed(node=call):
            joint = freed(violation, source)
            story = story_of(source, (*violation.calls, call), joints=(joint,))
            loss = loss_of(source, call, violation.birth)
            yield GraphUsedUp(use=use, loss=loss, story=story)
        case violations.SavedValueOverwritten(node=call, earlier=False):
            story = story_of(source, (call,), changed=(overwritten(violation, source),))
            loss = loss_of(source, call, violation.birth)
            yield ValueOverwritten(use=use, loss=loss, story=story)
        case violations.LeafModifiedInPlace():
            statement = source.statement_of(violation.node)
            use = replace(expression_of(source, statement), span=source.span(statement))
            leaf = operand_of(source, violation.tensor, violation.target, violation.node)
            yield LeafWritten(use=use, leaf=leaf)
        case violations.InferenceTensorInTraining(node=call):
            name = layer_name(source, call, violation.layer)
            birth = expression_of(source, violation.birth)
            yield InferenceTensorKept(use=use, layer=name, birth=birth)
        case violations.GradientMissing():
            layers = tuple(describe_layer(layer) for layer in violation.layers)
            yield GradientIsNone(use=use, text=use.text, gradients=Gradients("", 0, (), layers))


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


def loss_of(source: Source, call: ast.Call, birth: ast.AST) -> Operand:
    use = expression_of(source, receiver_node(call) or call)
    born = expression_of(source, birth)
    return Operand(value=Value(use.text, "Tensor"), name=code(use.text), use=use, birth=born)


def freed(violation: violations.GraphFreed, source: Source) -> stories.Joint:
    names: tuple[stories.HolderSeen, ...] = ()
    entered: tuple[tuple[stories.Stood, ...], ...] = ()
    if violation.how == "carried":
        node, name = carried_value(source, violation)
        names = (holder(source, node, name),) if name else ()
    elif violation.how == "twice":
        used = first_use_before(source, violation.birth, violation.freed_by, violation.node)
        names = (holder(source, used, source.segment(used)),) if used else ()
        entered = ((line_of(source, used),),) if used else ()
    return stories.Joint(
        made=stack_of(source, calls_of(violation.operation)),
        taken=() if violation.same else stack_of(source, (violation.birth,)),
        freed=True,
        step=None,
        backward=stack_of(source, (violation.freed_by,)),
        names=names,
        steps_since=len(entered),
        repeated=violation.how != "twice",
        when=WHEN[violation.how],
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


def overwritten(
    violation: violations.SavedValueOverwritten, source: Source
) -> stories.OverwrittenValue:
    operation, written = violation.operation, violation.birth
    name = name_of(written)
    optimizer = name if violation.writer == "step" else ""
    return stories.OverwrittenValue(
        function=name_of(operation.node),
        shape=(),
        made=stack_of(source, calls_of(operation)),
        changes=(stories.Write(name, stack_of(source, (written,)), optimizer),),
        passes=1,
    )


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


def carried_value(source: Source, violation: violations.GraphFreed) -> tuple[ast.AST, str]:
    """What is carried from iteration to iteration: the outermost call on the path whose statement
    gives a name, or an attribute, a value that is computed from the one before."""
    for node in violation.operation.calls:
        statement = source.statement_of(node)
        if not isinstance(statement, ast.Assign):
            continue
        read = {ast.unparse(item) for item in ast.walk(statement.value) if isinstance(item, NAMED)}
        for target in statement.targets:
            for item in ast.walk(target):
                if isinstance(item, NAMED) and ast.unparse(item) in read - {"self"}:
                    return node, ast.unparse(item)
    node = violation.birth
    names = assigned_names(source, node)
    return node, names[-1] if names else ""


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
