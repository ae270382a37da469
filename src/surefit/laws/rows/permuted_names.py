"""Statements that put the rows of an array into another order."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.laws.evaluation.evaluation_names import words_of
from surefit.source.line_edits import block_of
from surefit.source.reading import Source, called, dotted

LABEL_WORDS = frozenset(
    ("y", "ys", "label", "labels", "target", "targets", "class", "classes", "outcome", "outcomes")
    + ("tag", "tags", "answer", "answers")
)
ON_PURPOSE = frozenset(
    ("random", "randomized", "shuffled", "permuted", "perm", "null", "noisy", "noise", "corrupted")
    + ("negative", "negatives", "fake", "control", "baseline")
)
ORDERS = frozenset(("permutation", "randperm", "argsort"))


@dataclass(frozen=True)
class Permuted:
    """`x = rng.permutation(x)`, `rng.shuffle(x)`, `x = x[torch.randperm(len(x))]`."""

    source: Source
    statement: ast.stmt
    target: str
    """The name that holds the rows afterwards."""
    name: str
    order: str
    """Text of a new order of so many rows, or of the name of an order."""
    is_new: bool
    """The order is drawn here."""

    @property
    def is_of_labels(self) -> bool:
        return bool(words_of(self.name) & LABEL_WORDS)

    @property
    def is_on_purpose(self) -> bool:
        return bool((words_of(self.target) | words_of(self.name)) & ON_PURPOSE)


def permuted(source: Source) -> Iterator[Permuted]:
    for statement in source.every(ast.stmt):
        found = permuted_by(source, statement)
        if found is not None:
            yield found


def permuted_by(source: Source, statement: ast.stmt) -> Permuted | None:
    match statement:
        case ast.Assign(
            targets=[ast.Name(id=target)],
            value=ast.Call(func=ast.Attribute(value=owner), args=[ast.Name(id=name)]) as call,
        ) if called(call) == "permutation":
            order = f"{source.segment(owner)}.permutation(len({name}))"
            return Permuted(source, statement, target, name, order, True)
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=owner), args=[ast.Name(id=name)]) as call
        ) if called(call) == "shuffle" and source.imported(owner) != "random":
            order = f"{source.segment(owner)}.permutation(len({name}))"
            return Permuted(source, statement, name, name, order, True)
        case ast.Assign(
            targets=[ast.Name(id=target)],
            value=ast.Subscript(value=ast.Name(id=name), slice=index),
        ):
            return by_index(source, statement, (target, name), index)
    return None


def by_index(
    source: Source, statement: ast.stmt, names: tuple[str, str], index: ast.expr
) -> Permuted | None:
    value = source.value_of(index)
    if not isinstance(value, ast.Call) or called(value) not in ORDERS:
        return None
    is_new = not isinstance(index, ast.Name)
    if not is_new and not dotted(index):
        return None
    return Permuted(source, statement, *names, source.segment(index), is_new)


@dataclass(frozen=True)
class TwoOrders:
    """Rows and labels that are put into different orders in one block; or just one of them."""

    rows: Permuted | None
    labels: Permuted | None

    @property
    def culprit(self) -> Permuted:
        found = self.labels or self.rows
        assert found is not None
        return found


def two_orders(source: Source) -> TwoOrders | None:
    every = [known for known in permuted(source) if not known.is_on_purpose]
    for labels in (known for known in every if known.is_of_labels):
        block = block_of(source, labels.statement)
        rows = [
            known
            for known in every
            if not known.is_of_labels and known.statement in block and not same_order(known, labels)
        ]
        together = [
            known
            for known in every
            if not known.is_of_labels and known.statement in block and same_order(known, labels)
        ]
        if not together:
            return TwoOrders(rows[0] if rows else None, labels)
    alone = [known for known in every if not any(other.is_of_labels for other in every)]
    return TwoOrders(alone[0], None) if len(alone) == 1 else None


def partner(known: Permuted) -> str:
    """The only name that stands beside the permuted one as the permuted one does: `y` of
    `x[i:j], y[i:j]` and of `TensorDataset(x, y)`; empty where there is none or several."""
    found: set[str] = set()
    for node in ast.walk(known.source.scope_of(known.statement)):
        parts = node.args if isinstance(node, ast.Call) else getattr(node, "elts", ())
        alike = {without_name(part, known.target) for part in parts} - {None}
        for part in parts if len(alike) == 1 else ():
            names = {name.id for name in ast.walk(part) if isinstance(name, ast.Name)}
            found |= {name for name in names if without_name(part, name) in alike}
    found -= {known.target, known.name}
    return found.pop() if len(found) == 1 else ""


def without_name(node: ast.AST, name: str) -> str | None:
    """Its form, whatever the name; None where the name is not in it."""
    text = ast.dump(node)
    form = text.replace(f"Name(id={name!r},", "Name(id=,")
    return form if form != text else None


def same_order(first: Permuted, second: Permuted) -> bool:
    return not first.is_new and not second.is_new and first.order == second.order
