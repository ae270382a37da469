"""Whether a term of a loss compares outputs of the same layers, one of them predicted further."""

from typing import Any

from surefit.observe.inside import origins
from surefit.observe.inside.training import readable

KEEPS = ("Mul", "Div", "Neg", "Rsub", "Sub", "Add")
SUMS = ("SumBackward1", "MeanBackward1")
DISTANCES = ("MseLossBackward0",)
MOST_STEPS = 6
MOST_NODES = 1_000


def attached_target(reduction: Any) -> int | None:
    """The side, 0 or 1, of a comparison whose layers are a part of the other side's; None where a
    side has no graph, where nothing is compared, or where the sides share what was computed: a
    gate, a derivative, a residual of one forward pass."""
    sides = compared(reduction)
    if sides is None:
        return None
    graphs = [graph_behind(side) for side in sides]
    first, second = (parameters_of(graph) for graph in graphs)
    if not first or not second or first == second or is_shared(*graphs):
        return None
    target = 1 if second < first else 0
    if not (second < first or first < second) or not is_trained(graphs[target]):
        return None
    return target


def is_trained(graph: dict[int, Any]) -> bool:
    """An optimizer holds a parameter of it, or there is no optimizer: a judge that nobody trains
    cannot collapse."""
    every = origins.alive(readable.torch().optim.Optimizer)
    held = {
        id(parameter)
        for optimizer in every
        for group in vars(optimizer).get("param_groups") or ()
        for parameter in group["params"]
    }
    own = (id(node.variable) for node in graph.values() if is_parameter(node))
    return not held or any(number in held for number in own)


def compared(node: Any) -> list[Any] | None:
    """Both sides of a squared difference, or of a product that is summed over features."""
    if node.name() in DISTANCES:
        return both(node)
    if not node.name().startswith("MeanBackward"):
        return None
    for _ in range(MOST_STEPS):
        inner = [before for before, _ in node.next_functions if before is not None]
        if len(inner) != 1:
            return None
        node = inner[0]
        if node.name().startswith(SUMS):
            product = node.next_functions[0][0]
            is_product = product is not None and product.name().startswith("MulBackward")
            return both(product) if is_product else None
        if not node.name().startswith(KEEPS):
            return None
    return None


def both(node: Any) -> list[Any] | None:
    sides = [before for before, _ in node.next_functions]
    return sides if len(sides) == 2 and None not in sides else None


def graph_behind(node: Any) -> dict[int, Any]:
    """Nodes by their address, held so that it stays theirs; none where there are too many."""
    found: dict[int, Any] = {id(node): node}
    waiting = [node]
    while waiting:
        if len(found) > MOST_NODES:
            return {}
        for inner, _ in waiting.pop().next_functions:
            if inner is not None and id(inner) not in found:
                found[id(inner)] = inner
                waiting.append(inner)
    return found


def is_parameter(node: Any) -> bool:
    return bool(node.name().endswith("AccumulateGrad"))


def parameters_of(graph: dict[int, Any]) -> set[int]:
    return {number for number, node in graph.items() if is_parameter(node)}


def is_shared(first: dict[int, Any], second: dict[int, Any]) -> bool:
    return any(not is_parameter(first[number]) for number in first.keys() & second.keys())
