"""Other ways to get one row of numbers for each row of the batch than a reshape to a width."""

import ast
from dataclasses import dataclass
from math import prod

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.findings import Fix
from surefit.doctor.violations import Written
from surefit.doctor.words import code, shape_of, times
from surefit.laws.case import Case
from surefit.laws.layers.folds import Fold
from surefit.lineage.producers import Producer, ProducerKind, Way
from surefit.lineage.ways import constructor_of_weights
from surefit.remedies.arguments import call_at
from surefit.remedies.change import OperatorAt
from surefit.remedies.replace import ReplaceWith
from surefit.remedies.wrap import Wrap
from surefit.source.edits import appended, replaced
from surefit.source.patches import Edit, all_of
from surefit.source.reading import Source, called, dotted

KINDS = ("AvgPool", "MaxPool")
FUNCTIONAL = "torch.nn.functional"


def pool_to_one(fold: Fold, case: Case, must: Condition) -> ReplaceWith | None:
    """An adaptive pooling in place of the one that left several positions."""
    if fold.pooling is None or fold.before[1] != fold.width:
        return None
    created = creating_call(fold, fold.pooling)
    source, node = call_at(case, created)
    if source is None or node is None:
        return None
    before, _, name = dotted(node.func).rpartition(".")
    if name.startswith(KINDS):
        text = f"Adaptive{name}(1)"
    else:
        text = f"adaptive_{name}({source.segment(node.args[0]) if node.args else 'input'}, 1)"
    text = f"{before}.{text}" if before else text
    rows = shape_of((fold.before[0], fold.width))
    return ReplaceWith(
        at=created,
        text=text,
        words=f"Pool to one position, whatever the size of the input: {code(text)} gives {rows},"
        " one row for each label.",
        must=must,
    )


def creating_call(fold: Fold, pooling: Producer) -> Producer | None:
    """`nn.AvgPool2d(8)` of the layer that a call ran, or the call of `F.avg_pool2d` itself."""
    if pooling.name.rpartition(".")[2].startswith(("avg_pool", "max_pool")):
        return pooling
    lineage = fold.lineage
    waiting = [inner for way, inner in lineage.inputs(pooling) if way.name == "func"]
    layers: list[Producer] = []
    for at in waiting:
        if at.kind is ProducerKind.CALL and at.value.kind.startswith(KINDS):
            layers.append(at)
            continue
        ways = (Way.ATTRIBUTE, Way.BINDING, Way.ARGUMENT, Way.SAME_OBJECT, Way.ITEM)
        waiting += [inner for way, inner in lineage.inputs(at) if way.way in ways]
    return max(layers, key=lambda layer: layer.serial, default=None)


def pool_before(fold: Fold, case: Case, side: int, must: Condition) -> Wrap:
    """Maps are pooled to the size that the declared width is for."""
    axes = len(fold.before) - 2
    receiver = fold.receiver(case)
    text = receiver.text if receiver is not None else "x"
    source = case.source(fold.use.place)
    known = functional(source) if source is not None else ""
    function = f"{known or FUNCTIONAL}.adaptive_avg_pool{axes}d"
    sizes = times((fold.before[1], *(side,) * axes))
    return Wrap(
        at=receiver,
        before=f"{function}(",
        after=f", {side})",
        words=f"Pool to the size that {fold.width} = {sizes} is for:"
        f" {code(f'{function}({text}, {side})')} before the reshape."
        " It averages neighbouring positions, as smaller pictures would.",
        must=must,
        choice=True,
        alike=False,
        imports="" if known else FUNCTIONAL,
    )


def functional(source: Source) -> str:
    """What the file calls `torch.nn.functional`; empty where it has no name for it."""
    names: dict[str, str] = {}
    for node in source.every(ast.alias):
        statement = source.parents.get(node)
        module = f"{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
        names.setdefault(f"{module}{node.name}", node.asname or node.name)
    if FUNCTIONAL in names:
        return names[FUNCTIONAL]
    if "torch.nn" in names:
        return f"{names['torch.nn']}.functional"
    return f"{names['torch']}.nn.functional" if "torch" in names else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepEveryNumber(OperatorAt):
    """`flatten(1)` in place of every such reshape, and as many features for the layer after it."""

    layer: Written
    width: int

    def edit(self, case: Case) -> Edit | None:
        source, call = call_at(case, self.at)
        other, layer = call_at(case, self.layer)
        if source is None or call is None or other is None or layer is None or not layer.args:
            return None
        if other.file != source.file:
            return None
        flat = [
            replaced(source, fold, f"{source.segment(given)}.flatten(1)")
            for fold, given in same_calls(source, call)
        ]
        return all_of((replaced(source, layer.args[0], str(self.width)), *flat))


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeEveryReshape(OperatorAt):
    """A method after what is reshaped, in every reshape to the very same sizes."""

    suffix: str

    def edit(self, case: Case) -> Edit | None:
        source, call = call_at(case, self.at)
        if source is None or call is None:
            return None
        return all_of(appended(source, given, self.suffix) for _, given in same_calls(source, call))


def same_calls(source: Source, call: ast.Call) -> list[tuple[ast.Call, ast.expr]]:
    """The reshape, and others to the very same sizes: two inputs that one layer takes; each with
    what it reshapes."""
    sizes = [ast.unparse(size) for size in call.args]
    return [
        (other, other.func.value)
        for other in source.every(ast.Call)
        if isinstance(other.func, ast.Attribute) and called(other) == called(call)
        if [ast.unparse(size) for size in other.args] == sizes
    ]


def keep_every_number(fold: Fold, must: Condition) -> KeepEveryNumber | Fix:
    flat = prod(fold.before[1:])
    words = (
        f"If all {flat} numbers of a row are meant: `flatten(1)`, and a layer after it that takes"
        f" {flat} features instead of {fold.width}."
    )
    for producer in reversed(fold.path[:-1]):
        layer = constructor_of_weights(fold.lineage, producer)
        if layer is not None and layer.value.kind == "Linear":
            return KeepEveryNumber(
                at=fold.use, layer=layer, width=flat, words=words, must=must, choice=True
            )
    return Fix(words, choice=True)
