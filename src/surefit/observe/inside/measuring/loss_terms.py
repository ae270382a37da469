"""The terms of a loss, read from its graph: how each is reduced, over what, and its factor."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.loss_terms import LossTerm, LossTerms, SummedLoss
from surefit.observe.inside import events, finishing, own_code, spool
from surefit.observe.inside.measuring import siamese
from surefit.observe.inside.training import periodic, readable
from surefit.observe.inside.training.budget import Budget

LOSSES = {
    "BinaryCrossEntropyWithLogitsBackward0": "binary_cross_entropy_with_logits",
    "BinaryCrossEntropyBackward0": "binary_cross_entropy",
    "MseLossBackward0": "mse_loss",
    "SmoothL1LossBackward0": "smooth_l1_loss",
    "HuberLossBackward0": "huber_loss",
    "NllLossBackward0": "cross_entropy",
    "NllLoss2DBackward0": "cross_entropy",
}
REDUCTIONS = {1: "mean", 2: "sum"}
"""As torch numbers them."""
SAME = ("ToCopy", "View", "UnsafeView", "Reshape", "Squeeze", "Unsqueeze", "Select", "Alias")
"""Functions of a graph that leave a single number what it is."""
ELEMENTWISE = ("Add", "Sub", "Mul", "Div", "Neg", "Pow", "Exp", "Log", "Abs", "Softplus", "Clamp")
MOST_TERMS = 32
MOST_NODES = 2_000
MOST_DEPTH = 64
MOST_LOSSES = 8
MOST_ELEMENTS = 4_096
"""Of a constant that is asked whether all of it is 1."""
NEAR_ONE, MOST_ONES = 0.25, 0.95

looks = Budget(share=0.001, opening=0.1)
_looked: dict[Place | None, "LookedAt"] = {}


@dataclass(slots=True)
class LookedAt:
    """Of one line that calls `backward`."""

    count: int = 0
    terms: tuple[LossTerm, ...] = ()


@dataclass(frozen=True, slots=True)
class TermReduction:
    """How a single number came out of a tensor, by which operation, and the tensor's shape."""

    kind: str = ""
    operation: str = ""
    shape: tuple[int, ...] = ()
    factor: float = 1.0
    """That stands inside of it."""
    elements: Any = None
    """Of sums of rows: the node of what is summed."""


@dataclass(slots=True)
class GraphTerm:
    """A node of the graph that a single number comes out of, which is added to others."""

    node: Any
    factor: float = 1.0
    factors: int = 0
    sign: int = 1
    """-1 for what is subtracted, so that it is maximised."""
    is_part: bool = False
    """Of a sum."""
    reduction: TermReduction = TermReduction()
    ancestors: dict[int, Any] = field(default_factory=dict)


@events.on(events.backward_begun)
def backward(loss: Any) -> None:
    event = events.backward_begun
    event.rest(backward, events.before_power_of_two(event.count))
    node = getattr(loss, "grad_fn", None)
    if node is None or not looks.allows() or not readable.can_look():
        return
    with looks, readable.looking():
        terms = terms_of(node)
        if not terms:
            return
        place = own_code.own_place()
        if place not in _looked and len(_looked) >= MOST_LOSSES:
            return
        looked = _looked.setdefault(place, LookedAt())
        looked.count += 1
        looked.terms = tuple(described(terms))


def terms_of(loss: Any) -> list[GraphTerm]:
    """What is added up; none where there is too much of it."""
    found: list[GraphTerm] = []
    waiting = [GraphTerm(loss)]
    for _ in range(MOST_NODES):
        if not waiting:
            return found
        term = waiting.pop()
        parts = parts_of(term)
        if parts is None:
            found.append(term)
        else:
            waiting += reversed(parts)
        if len(found) > MOST_TERMS:
            break
    return []


def parts_of(term: GraphTerm) -> list[GraphTerm] | None:
    """What a number is the sum, the multiple or the copy of; None where it is something else."""
    name = term.node.name()
    inner = [node for node, _ in term.node.next_functions]
    real = [node for node in inner if node is not None]
    if name.startswith(("AddBackward", "SubBackward")) and term.node._saved_alpha == 1:
        return split(term, inner, name.startswith("Sub"))
    if name.startswith("NegBackward") or name.startswith(SAME):
        turned = -term.sign if name.startswith("Neg") else term.sign
        return [replace(term, node=real[0], sign=turned)] if len(real) == 1 else None
    number = multiplier(term.node, name, inner)
    if number is not None:
        return [replace(term, node=real[0], factor=term.factor * number, factors=term.factors + 1)]
    if of_one_element(term.node, name):
        return [replace(term, node=real[0])]
    return None


def split(term: GraphTerm, inner: list[Any], subtracts: bool) -> list[GraphTerm] | None:
    """Factors of the whole loss, as the number of rows, are not those of its terms, but for their
    sign."""
    if not term.is_part and None not in inner and len(inner) == 2:
        sign = term.sign if term.factor >= 0 else -term.sign
        term = GraphTerm(term.node, sign=sign, is_part=True)
    signs = (term.sign, -term.sign if subtracts else term.sign)
    parts = [
        replace(term, node=node, sign=sign)
        for node, sign in zip(inner, signs, strict=False)
        if node is not None
    ]
    return parts or None


def of_one_element(node: Any, name: str) -> bool:
    """The sum or the mean of a single number: of a loss for each device, say."""
    if not name.startswith(("SumBackward", "MeanBackward")):
        return False
    return bool(prod(node._saved_self_sym_sizes) == 1)


def multiplier(node: Any, name: str, inner: list[Any]) -> float | None:
    """The number that a product or a quotient has on its other side; 0 where it is not known."""
    divides = name.startswith("DivBackward")
    if len(inner) != 2 or not (divides or name.startswith("MulBackward")):
        return None
    if inner[1] is None:
        other = node._saved_other
    elif inner[0] is None and not divides:
        other = node._saved_self
    else:
        return None
    other = readable.plain(other)
    if other is None or other.numel() != 1 or other.device.type != "cpu":
        return 0.0
    number = float(other)
    return (1 / number if number else 0.0) if divides else number


def described(terms: list[GraphTerm]) -> Iterator[LossTerm]:
    for term in terms:
        term.reduction = reduced(term.node)
        if term.reduction.kind and len(terms) > 1:
            term.ancestors = computed_before(term.node)
    for term in terms:
        yield LossTerm(
            reduction=term.reduction.kind,
            operation=term.reduction.operation,
            shape=term.reduction.shape,
            factor=term.factor * term.reduction.factor,
            factors=term.factors,
            weighted=bool(term.reduction.kind) and is_weighted(term.node),
            vanished=has_vanished(term.reduction.elements),
            attached_target=siamese.attached_target(term.node) if term.reduction.kind else None,
            shared=tuple(
                number
                for number, other in enumerate(terms)
                if other is not term and not term.ancestors.keys().isdisjoint(other.ancestors)
            ),
        )


def reduced(node: Any) -> TermReduction:
    name = node.name()
    if name in LOSSES:
        saved = readable.plain(node._saved_self)
        if saved is None:
            return TermReduction()
        shape = tuple(int(size) for size in saved.shape)
        return TermReduction(REDUCTIONS.get(node._saved_reduction, ""), LOSSES[name], shape)
    for start, kind in (("SumBackward", "sum"), ("MeanBackward", "mean")):
        if name.startswith(start):
            shape = tuple(int(size) for size in node._saved_self_sym_sizes)
            axes = {axis % (1 << 64) for axis in getattr(node, "_saved_dim", None) or ()}
            whole = not axes or len(axes) == len(shape)
            if whole and kind == "mean" and len(shape) == 1:
                return sums_of_rows(node) or TermReduction(kind, kind, shape)
            return TermReduction(kind, kind, shape) if whole else TermReduction()
    return TermReduction()


def sums_of_rows(mean: Any) -> TermReduction | None:
    """What a mean over rows is of: sums over all axes but the first, times a number."""
    factor, node = 1.0, following(mean)[0]
    for _ in range(MOST_TERMS):
        name, inner = node.name(), [before for before, _ in node.next_functions]
        if name.startswith("SumBackward1"):
            shape = tuple(int(size) for size in node._saved_self_sym_sizes)
            axes = {
                (axis - (1 << 64) if axis >> 63 else axis) % len(shape) for axis in node._saved_dim
            }
            whole = axes == set(range(1, len(shape))) and not node._saved_keepdim
            below = following(node)
            return (
                TermReduction("row sum", "sum", shape, factor, below[0])
                if whole and below
                else None
            )
        number = -1.0 if name.startswith("NegBackward") else multiplier(node, name, inner)
        if not number:
            return None
        factor *= number
        node = following(node)[0]
    return None


def has_vanished(elements: Any) -> bool:
    """A divergence, `logvar.exp() - logvar` or `ratio - ratio.log()`: something both as it is and
    through an exponential or a logarithm, which is 1."""
    waiting, reached_from = [elements] if elements is not None else [], dict[int, set[str]]()
    held: list[Any] = []
    while waiting and len(held) < MOST_DEPTH:
        node = waiting.pop()
        held.append(node)  # so that no other node gets its address
        name = node.name()
        if not name.startswith((*ELEMENTWISE, "Expand")):
            continue
        for inner in following(node):
            known = reached_from.setdefault(id(inner), set())
            if not known:
                waiting.append(inner)
            known.add(name)
    is_divergence = any(
        len(names) > 1 and any(name.startswith(("Exp", "Log")) for name in names)
        for names in reached_from.values()
    )
    ones = [share for node in held if (share := share_of_ones(node)) is not None]
    return is_divergence and min(ones, default=0.0) >= MOST_ONES


def share_of_ones(node: Any) -> float | None:
    name = node.name()
    saved = "_saved_result" if name.startswith("ExpB") else "_saved_self"
    values = readable.plain(getattr(node, saved)) if name.startswith(("ExpB", "LogB")) else None
    if values is None or not 0 < values.numel() <= MOST_ELEMENTS or not values.is_cpu:
        return None
    return float(((values - 1).abs() < NEAR_ONE).float().mean())


def computed_before(node: Any) -> dict[int, Any]:
    """Nodes that a term comes from, less the parameters, by their address: held, so that no other
    node gets it meanwhile."""
    found: dict[int, Any] = {}
    waiting = [node]
    while waiting and len(found) < MOST_NODES:
        for inner, _ in waiting.pop().next_functions:
            if inner is not None and id(inner) not in found and not is_parameter(inner):
                found[id(inner)] = inner
                waiting.append(inner)
    return found


def is_parameter(node: Any) -> bool:
    return bool(node.name().endswith("AccumulateGrad"))


def is_weighted(reduction: Any) -> bool:
    """Elements are multiplied by a constant, as by weights that sum to one, before they are added
    up; ones change nothing."""
    if getattr(reduction, "_saved_weight", None) is not None:
        return True
    waiting = [reduction] if reduction.name() in LOSSES else following(reduction)
    for _ in range(MOST_DEPTH):
        if not waiting:
            return False
        node = waiting.pop()
        name = node.name()
        if name.startswith(ELEMENTWISE):
            if name.startswith(("MulBackward", "DivBackward")) and not keeps_elements(node):
                return True
            waiting += following(node)
    return True


def following(node: Any) -> list[Any]:
    return [inner for inner, _ in node.next_functions if inner is not None]


def keeps_elements(node: Any) -> bool:
    """A product of what is computed, or with a number, or with ones."""
    if len(following(node)) == 2:
        return True
    sides = (node._saved_self, node._saved_other)
    constant = next((side for side in reversed(sides) if side is not None), None)
    if constant is None or constant.numel() == 1:
        return True
    return constant.numel() <= MOST_ELEMENTS and bool((constant == 1).all())


@periodic.every_few_seconds
@finishing.at_end
def write() -> None:
    if _looked:
        losses = tuple(
            SummedLoss(place=place, looked=looked.count, terms=looked.terms)
            for place, looked in _looked.items()
        )
        spool.saw(LossTerms(process=spool.process(), losses=losses))


@finishing.after_fork
def forget_parent() -> None:
    _looked.clear()
