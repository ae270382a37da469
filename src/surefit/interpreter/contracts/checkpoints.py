"""State dicts and files that will not fit, as `surefit.laws.contracts` has them."""

import ast
from collections.abc import Iterator, Mapping

from surefit.doctor.observations import Value
from surefit.doctor.violations import Operand, Violation
from surefit.doctor.words import code
from surefit.interpreter.modules import class_name_of
from surefit.interpreter.operands import expression_of, known_shape, stand_in
from surefit.interpreter.shapes import Shape
from surefit.interpreter.values import GroupShapes, StateDictValue
from surefit.interpreter.violations import (
    CheckpointKeyMissing,
    CheckpointLoadedWhole,
    LoadNeedsUnpickling,
    OptimizerStateMismatch,
    SourceViolation,
    StateDictMismatch,
)
from surefit.interpreter.wording import line_at, place_of
from surefit.laws.case import Case
from surefit.laws.contracts.keys import EntryAbsent
from surefit.laws.contracts.optimizer_states import (
    HeldParameter,
    OptimizerState,
    StateOfOtherParameters,
)
from surefit.laws.contracts.state_dicts import Loading, StateDictNames
from surefit.laws.contracts.unpickling import UnpicklingRefused
from surefit.laws.subscripts import Asked
from surefit.source.reading import Source

Shapes = dict[str, tuple[int, ...]]


def violations_of(violation: SourceViolation, case: Case, source: Source) -> Iterator[Violation]:  # noqa: ARG001
    use = expression_of(source, violation.node)
    match violation:
        case StateDictMismatch():
            loading = Loading(
                class_name_of(violation.model),
                shapes(violation.tensors),
                shapes(violation.saved.tensors or {}),
                made_at=place_of(source, violation.model.node),
            )
            yield StateDictNames(use=use, loading=loading)
        case CheckpointLoadedWhole():
            entry = (violation.checkpoint.items or {}).get(violation.entry)
            own = shapes(entry.tensors or {}) if isinstance(entry, StateDictValue) else {}
            others = tuple(str(name) for name in violation.checkpoint.items or ())
            kind = class_name_of(violation.model)
            loading = Loading(kind, own, {}, others, {violation.entry: own})
            yield StateDictNames(use=use, loading=loading)
        case CheckpointKeyMissing(node=ast.Subscript() as node, checkpoint=checkpoint):
            entries = tuple(str(name) for name in checkpoint.items or ())
            text = source.segment(node.value)
            holder = Operand(value=Value(text, "dict"), name=code(text))
            yield EntryAbsent(
                use=use,
                holder=holder,
                asked=Asked(source, node, node.value, node.slice, None, None),
                key=violation.key,
                entries=entries,
                saved_at=place_of(source, checkpoint.node or node),
            )
        case LoadNeedsUnpickling():
            saved_at = line_at(source, violation.saved_at)
            yield UnpicklingRefused(use=use, class_name=violation.class_name, saved_at=saved_at)
        case OptimizerStateMismatch():
            state = OptimizerState(
                violation.kind,
                tuple(tuple(map(held, group)) for group in violation.has),
                place_of(source, violation.optimizer),
                tuple(tuple(map(sizes, group)) for group in saved(violation.saved)),
            )
            yield StateOfOtherParameters(use=use, state=state)


def shapes(tensors: Mapping[str, Shape]) -> Shapes:
    return {name: sizes(shape) for name, shape in tensors.items()}


def sizes(shape: Shape) -> tuple[int, ...]:
    return known_shape(shape) or tuple(map(stand_in, shape.sizes))


def held(shape: Shape) -> HeldParameter:
    return HeldParameter("", sizes(shape))


def saved(groups: GroupShapes) -> GroupShapes:
    return groups
