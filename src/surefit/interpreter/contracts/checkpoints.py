"""State dicts, files and adapters that will not fit, as `surefit.laws.contracts` has them."""

import ast
from collections.abc import Iterator, Mapping

from surefit.doctor.observations import Value
from surefit.doctor.violations import Operand
from surefit.doctor.words import code
from surefit.interpreter.modules import class_name_of
from surefit.interpreter.shapes import Shape
from surefit.interpreter.values import DictValue, GroupShapes, Module, StateDictValue
from surefit.interpreter.violations import Site
from surefit.interpreter.wording import expression_of, line_at, place_of, stand_in
from surefit.laws.contracts.adapters import ADAPTED, TARGETS, AskedTargets, TargetsWithoutLayers
from surefit.laws.contracts.keys import EntryAbsent
from surefit.laws.contracts.optimizer_states import (
    HeldParameter,
    OptimizerState,
    StateOfOtherParameters,
)
from surefit.laws.contracts.state_dicts import Loading, StateDictNames
from surefit.laws.contracts.unpickling import UnpicklingRefused
from surefit.laws.values.subscripts import Asked


def state_dict_names(
    at: Site, model: Module, saved: StateDictValue, tensors: dict[str, Shape]
) -> Iterator[StateDictNames]:
    """A state dict does not have the names or shapes of the model that it is loaded into."""
    made_at = place_of(at.source, model.node)
    own, other = shapes(tensors), shapes(saved.tensors or {})
    loading = Loading(class_name_of(model), own, other, made_at=made_at)
    yield StateDictNames(use=at.use, loading=loading)


def whole_checkpoint(
    at: Site, model: Module, checkpoint: DictValue, name: str
) -> Iterator[StateDictNames]:
    """A dict with a state dict in it is loaded as if it were one."""
    items = checkpoint.items or {}
    entry = items.get(name)
    own = shapes(entry.tensors or {}) if isinstance(entry, StateDictValue) else {}
    loading = Loading(class_name_of(model), own, {}, tuple(map(str, items)), {name: own})
    yield StateDictNames(use=at.use, loading=loading)


def entry_absent(at: Site, node: ast.AST, checkpoint: DictValue, key: str) -> Iterator[EntryAbsent]:
    """A checkpoint is asked for an entry that it was saved without."""
    if not isinstance(node, ast.Subscript):
        return
    text = at.source.segment(node.value)
    yield EntryAbsent(
        use=at.use,
        holder=Operand(value=Value(text, "dict"), name=code(text)),
        asked=Asked(at.source, node, node.value, node.slice, None, None),
        key=key,
        entries=tuple(str(name) for name in checkpoint.items or ()),
        saved_at=place_of(at.source, checkpoint.node or node),
    )


def unpickling_refused(at: Site, saved_at: ast.AST, name: str) -> Iterator[UnpicklingRefused]:
    """`torch.load` reads tensors alone, and another object was saved."""
    line = line_at(at.source, saved_at)
    yield UnpicklingRefused(use=at.use, class_name=name, saved_at=line)


def state_of_other_parameters(
    at: Site, kind: str, saved: GroupShapes, has: GroupShapes
) -> Iterator[StateOfOtherParameters]:
    """An optimizer's state is loaded into one with other parameters."""
    held = tuple(tuple(HeldParameter("", sizes(shape)) for shape in group) for group in has)
    lacks = tuple(tuple(map(sizes, group)) for group in saved)
    state = OptimizerState(kind, held, place_of(at.source, at.birth), lacks)
    yield StateOfOtherParameters(use=at.use, state=state)


def targets_without_layers(
    at: Site, targets: tuple[str, ...], model: str, names: tuple[str, ...]
) -> Iterator[TargetsWithoutLayers]:
    """Adapters are put on layers that a model does not have."""
    layers = {name.rpartition(".")[2]: {ADAPTED[0]: 0} for name in names}
    config = expression_of(at.source, at.birth)
    yield TargetsWithoutLayers(
        use=at.use,
        targets=AskedTargets(model, targets=targets, layers=layers),
        config=config,
        names=at.case.argument(config, TARGETS, None),
    )


def shapes(tensors: Mapping[str, Shape]) -> dict[str, tuple[int, ...]]:
    return {name: sizes(shape) for name, shape in tensors.items()}


def sizes(shape: Shape) -> tuple[int, ...]:
    return tuple(map(stand_in, shape.sizes))
