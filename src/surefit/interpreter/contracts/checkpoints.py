"""State dicts, files and adapters that will not fit, as `surefit.laws.contracts` has them."""

import ast
from collections.abc import Iterator, Mapping

from surefit.doctor.observations import Value
from surefit.doctor.violations import Operand, Violation
from surefit.doctor.words import code
from surefit.interpreter import violations
from surefit.interpreter.modules import class_name_of
from surefit.interpreter.shapes import Shape
from surefit.interpreter.values import StateDictValue
from surefit.interpreter.violations import SourceViolation
from surefit.interpreter.wording import expression_of, line_at, place_of, stand_in
from surefit.laws.case import Case
from surefit.laws.contracts.adapters import ADAPTED, TARGETS, AskedTargets, TargetsWithoutLayers
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


def violations_of(violation: SourceViolation, case: Case, source: Source) -> Iterator[Violation]:
    use = expression_of(source, violation.node)
    match violation:
        case violations.StateDictMismatch(model=model):
            own, saved = shapes(violation.tensors), shapes(violation.saved.tensors or {})
            made_at = place_of(source, model.node)
            loading = Loading(class_name_of(model), own, saved, made_at=made_at)
            yield StateDictNames(use=use, loading=loading)
        case violations.CheckpointLoadedWhole(entry=name):
            items = violation.checkpoint.items or {}
            entry = items.get(name)
            own = shapes(entry.tensors or {}) if isinstance(entry, StateDictValue) else {}
            kind = class_name_of(violation.model)
            loading = Loading(kind, own, {}, tuple(map(str, items)), {name: own})
            yield StateDictNames(use=use, loading=loading)
        case violations.CheckpointKeyMissing(node=ast.Subscript() as node, checkpoint=checkpoint):
            text = source.segment(node.value)
            yield EntryAbsent(
                use=use,
                holder=Operand(value=Value(text, "dict"), name=code(text)),
                asked=Asked(source, node, node.value, node.slice, None, None),
                key=violation.key,
                entries=tuple(str(name) for name in checkpoint.items or ()),
                saved_at=place_of(source, checkpoint.node or node),
            )
        case violations.LoadNeedsUnpickling():
            saved_at = line_at(source, violation.saved_at)
            yield UnpicklingRefused(use=use, class_name=violation.class_name, saved_at=saved_at)
        case violations.OptimizerStateMismatch():
            state = OptimizerState(
                violation.kind,
                tuple(tuple(HeldParameter("", sizes(s)) for s in group) for group in violation.has),
                place_of(source, violation.birth),
                tuple(tuple(map(sizes, group)) for group in violation.saved),
            )
            yield StateOfOtherParameters(use=use, state=state)
        case violations.AdapterTargetsMissing(model=kind):
            layers = {name.rpartition(".")[2]: {ADAPTED[0]: 0} for name in violation.names}
            config = expression_of(source, violation.birth)
            yield TargetsWithoutLayers(
                use=use,
                targets=AskedTargets(kind, targets=violation.targets, layers=layers),
                config=config,
                names=case.argument(config, TARGETS, None),
            )


def shapes(tensors: Mapping[str, Shape]) -> dict[str, tuple[int, ...]]:
    return {name: sizes(shape) for name, shape in tensors.items()}


def sizes(shape: Shape) -> tuple[int, ...]:
    return tuple(map(stand_in, shape.sizes))
