"""What `backward` will meet, as `surefit.laws.contracts.graphs` and its neighbours have it."""

import ast
from collections.abc import Iterable, Iterator

from surefit.doctor.findings import Place
from surefit.doctor.observations import Value
from surefit.doctor.violations import Expression, Operand, Violation
from surefit.doctor.words import code
from surefit.interpreter.operands import expression_of, operand_of
from surefit.interpreter.values import RecordedOperation
from surefit.interpreter.violations import (
    BackwardOfNonScalar,
    BackwardWithoutGraph,
    GradientMissing,
    GraphFreed,
    InferenceTensorInTraining,
    LeafModifiedInPlace,
    SavedValueOverwritten,
    SourceViolation,
)
from surefit.interpreter.wording import (
    carried_value,
    describe_layer,
    first_use_before,
    layer_name,
)
from surefit.laws.case import Case
from surefit.laws.contracts.gradients import GradientIsNone, Gradients
from surefit.laws.contracts.graphs import GraphUsedUp, NoGraph, NotOneNumber, ValueOverwritten
from surefit.laws.contracts.inference_tensors import InferenceTensorKept
from surefit.laws.contracts.leaves import LeafWritten
from surefit.laws.graph_stories import (
    COPYING,
    DETACHING,
    TO_NUMBERS,
    BackwardRoot,
    Cut,
    GraphStory,
    HolderSeen,
    Joint,
    LostGraph,
    OverwrittenValue,
    Stood,
    When,
    Write,
)
from surefit.source.reading import Source, called

WHEN = {
    "carried": When.IN_AN_EARLIER_ROUND,
    "twice": When.IN_THIS_ROUND,
    "before": When.BEFORE_THE_LOOP,
}


def violations_of(violation: SourceViolation, case: Case, source: Source) -> Iterator[Violation]:  # noqa: ARG001
    match violation:
        case BackwardWithoutGraph():
            yield from without_graph(violation, source)
        case BackwardOfNonScalar():
            yield several_elements(violation, source)
        case GraphFreed():
            yield freed(violation, source)
        case SavedValueOverwritten(earlier=False):
            yield overwritten(violation, source)
        case LeafModifiedInPlace():
            yield leaf_written(violation, source)
        case InferenceTensorInTraining():
            yield InferenceTensorKept(
                use=expression_of(source, violation.node),
                layer=layer_name(source, violation.node, violation.layer),
                birth=expression_of(source, violation.birth),
            )
        case GradientMissing():
            layers = tuple(describe_layer(layer) for layer in violation.layers)
            use = expression_of(source, violation.node)
            yield GradientIsNone(use=use, text=use.text, gradients=Gradients("", 0, (), layers))


def without_graph(violation: BackwardWithoutGraph, source: Source) -> Iterator[Violation]:
    cut = violation.tensor.cut
    if cut is None:
        return
    name = name_of(cut.node)
    outer = source.parents.get(cut.node)
    decorated = isinstance(outer, ast.FunctionDef) and cut.node in outer.decorator_list
    at = (
        line_of(
            source, outer.body[0] if isinstance(outer, ast.FunctionDef) and decorated else cut.node
        ),
    )
    taken = Cut(
        name=name,
        stack=at,
        enabled=cut.how == "value",
        inference=False,
        floating=name in (*DETACHING, *COPYING),
        checkpointed=at if cut.how == "checkpoint" else (),
    )
    lost = LostGraph(cuts=(taken,))
    if cut.how == "frozen":
        lost = LostGraph(frozen=1)
    elif cut.how == "value" and name in TO_NUMBERS:
        lost = LostGraph(numbers=(taken,), fresh=(taken,))
    yield NoGraph(
        use=expression_of(source, violation.node),
        loss=loss_of(source, violation.node, cut.node),
        story=story(source, (violation.node,), lost=lost),
    )


def name_of(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return called(node)
    return node.attr if isinstance(node, ast.Attribute) else type(node).__name__.lower()


def loss_of(source: Source, call: ast.Call, birth: ast.AST) -> Operand:
    node = call.func.value if isinstance(call.func, ast.Attribute) else call
    use = expression_of(source, node)
    value = Value(use.text, "Tensor")
    born = expression_of(source, birth)
    return Operand(value=value, name=code(use.text), use=use, birth=born)


def several_elements(violation: BackwardOfNonScalar, source: Source) -> Violation:
    call = violation.node
    node = call.func.value if isinstance(call.func, ast.Attribute) else call
    loss = operand_of(source, violation.tensor, node, violation.birth)
    root = BackwardRoot(loss.value.shape or (), loss.dtype, True)
    return NotOneNumber(use=expression_of(source, call), loss=loss, root=root)


def freed(violation: GraphFreed, source: Source) -> Violation:
    here = (*violation.calls, violation.node)
    path = calls_of(violation.operation)
    names: tuple[HolderSeen, ...] = ()
    entered: tuple[tuple[Stood, ...], ...] = ()
    if violation.how == "carried":
        node, name = carried_value(source, violation)
        names = (holder(source, node, name),) if name else ()
    elif violation.how == "twice":
        used = first_use_before(source, violation.birth, violation.freed_by, violation.node)
        names = (holder(source, used, source.segment(used)),) if used else ()
        entered = ((line_of(source, used),),) if used else ()
    joint = Joint(
        made=stack_of(source, path),
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
    return GraphUsedUp(
        use=expression_of(source, violation.node),
        loss=loss_of(source, violation.node, violation.birth),
        story=story(source, here, joints=(joint,)),
    )


def calls_of(operation: RecordedOperation) -> tuple[ast.AST, ...]:
    """Without the constructor of the layer that did it."""
    layer = operation.layer
    calls = [node for node in operation.calls if layer is None or node is not layer.node]
    return tuple(calls) or (operation.node,)


def holder(source: Source, node: ast.AST, name: str) -> HolderSeen:
    owner = next((up.name for up in source.up(node) if isinstance(up, ast.ClassDef)), "")
    attribute = name.removeprefix("self.") if name.startswith("self.") else ""
    line = line_of(source, node)
    return HolderSeen(name, line.function, line.file, name, "", owner, attribute)


def overwritten(violation: SavedValueOverwritten, source: Source) -> Violation:
    operation, written = violation.operation, violation.written
    step = violation.writer == "step"
    write = Write(name_of(written), stack_of(source, (written,)), name_of(written) if step else "")
    value = OverwrittenValue(
        function=name_of(operation.node),
        shape=(),
        made=stack_of(source, calls_of(operation)),
        changes=(write,),
        passes=1,
    )
    return ValueOverwritten(
        use=expression_of(source, violation.node),
        loss=loss_of(source, violation.node, written),
        story=story(source, (violation.node,), changed=(value,)),
    )


def leaf_written(violation: LeafModifiedInPlace, source: Source) -> Violation:
    statement = source.statement_of(violation.node)
    place = Place(source.file, statement.lineno, statement.end_lineno)
    text = " ".join(source.segment(statement).split())
    leaf = operand_of(source, violation.tensor, violation.target, violation.node)
    return LeafWritten(use=Expression(place, source.span(statement), text), leaf=leaf)


def story(
    source: Source,
    here: Iterable[ast.AST],
    *,
    joints: tuple[Joint, ...] = (),
    changed: tuple[OverwrittenValue, ...] = (),
    lost: LostGraph | None = None,
) -> GraphStory:
    return GraphStory(stack_of(source, here), joints, changed, lost)


def stack_of(source: Source, nodes: Iterable[ast.AST]) -> tuple[Stood, ...]:
    return tuple(line_of(source, node) for node in nodes)


def line_of(source: Source, node: ast.AST) -> Stood:
    scope = source.scope_of(node)
    function = scope.name if isinstance(scope, ast.FunctionDef | ast.ClassDef) else "<module>"
    return Stood(source.file, getattr(node, "lineno", 0), function)
