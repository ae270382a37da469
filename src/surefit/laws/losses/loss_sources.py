"""What can enter a loss, followed backwards through the source from the line that calls `backward`.

Every way is followed, also one that a run did not take: that something is found here says only that
the source lets it enter the loss. What a trained model is given is not followed, because what it
gives back is its own.
"""

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from surefit.doctor.findings import Place
from surefit.doctor.observations import CallSite
from surefit.source.callers import given_in
from surefit.source.classes import Method, class_of, function_called, is_self, method, set_in
from surefit.source.reading import Source, called, dotted
from surefit.source.returns import own_returns

GIVES_THE_LOSS = ("compute_loss", "training_step")
"""Methods that a Trainer, of Hugging Face or of Lightning, takes the loss from."""
OF_A_MODULE = ("forward", "__call__")
LOSSES = ("Loss", "loss")
OF_A_TENSOR = ("shape", "dtype", "device", "ndim")
MOST_NODES = 20_000

Stop = Callable[[ast.Call], bool]


@dataclass(slots=True)
class Entering:
    """Expressions that can enter a loss."""

    source: Source
    stop: Stop
    """Calls whose arguments are not followed: those of models that are trained."""
    values: bool = False
    """Only values are followed, not sizes and indices."""
    nodes: set[ast.AST] = field(default_factory=set)
    after: dict[ast.AST, list[ast.AST]] = field(default_factory=dict)
    """Node -> those that it was reached from."""

    def follow(self, node: ast.AST | None) -> None:
        waiting = [node] if node is not None else []
        while waiting and len(self.nodes) < MOST_NODES:
            one = waiting.pop()
            if one not in self.nodes:
                self.nodes.add(one)
                earlier = list(self.before(one))
                waiting += earlier
                for each in earlier:
                    self.after.setdefault(each, []).append(one)

    def on_the_way(self, goal: ast.AST) -> set[ast.AST]:
        """What stands between where it began and a node, that included."""
        found: set[ast.AST] = set()
        waiting = [goal] if goal in self.nodes else []
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting += self.after.get(one, ())
        return found

    def before(self, node: ast.AST) -> Iterator[ast.AST]:
        """One step back."""
        if self.values and is_size(node):
            return
        if self.values and isinstance(node, ast.Subscript):
            yield node.value
            return
        if isinstance(node, ast.Call):
            function = function_called(self.source, node)
            if function is not None:
                yield from (one.value for one in own_returns(function) if one.value is not None)
            if self.stop(node):
                return
        elif isinstance(node, ast.Name):
            for binder in self.source.bound_by(node):
                yield from self.of_binder(binder)
        elif isinstance(node, ast.Attribute):
            owner = class_of(self.source, node.value) if isinstance(node.value, ast.Name) else None
            values = set_in(self.source, owner).get(node.attr, ()) if owner else ()
            yield from (one for one in values if one is not None)
        for one in ast.iter_child_nodes(node):
            if isinstance(one, ast.expr | ast.keyword | ast.comprehension):
                yield one

    def of_binder(self, binder: ast.AST) -> Iterator[ast.AST]:
        if isinstance(binder, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
            yield from [binder.value] if binder.value is not None else []
        elif isinstance(binder, ast.For | ast.AsyncFor | ast.comprehension):
            yield binder.iter
        elif isinstance(binder, ast.withitem):
            yield binder.context_expr
        elif isinstance(binder, ast.arg):
            yield from self.given(binder)

    def given(self, argument: ast.arg) -> Iterator[ast.expr]:
        """What the calls of the file give for an argument; not for one of a `forward`, whose call
        leads to its arguments itself, unless it is that of a model."""
        function = self.source.parents[self.source.parents[argument]]
        if not isinstance(function, Method) or function.name in OF_A_MODULE:
            return
        for call in self.source.calls_named(function.name):
            found = given_in(self.source, function, call, argument)
            if found is not None:
                yield found


def is_size(node: ast.AST) -> bool:
    """`x.shape`, `x.size(-1)`, `len(x)`: what a tensor is like, and not what is in it."""
    if isinstance(node, ast.Attribute):
        return node.attr in OF_A_TENSOR
    return isinstance(node, ast.Call) and called(node) in ("size", "dim", "len", "numel")


def entering_loss(source: Source, at: Place | None, stop: Stop) -> set[ast.AST]:
    """All that can enter the loss of a training step; empty where no loss is found."""
    entering = Entering(source, stop)
    for one in losses(source, at):
        entering.follow(one)
    return entering.nodes


def losses(source: Source, at: Place | None) -> Iterator[ast.expr]:
    """What `backward` is called on at a line; where a library calls it, what the methods give back
    that it takes the loss from."""
    statement = source.statement_at(at.line) if at and at.line and at.file == source.file else None
    found = False
    for call in ast.walk(statement) if statement is not None else ():
        if isinstance(call, ast.Call) and called(call).endswith("backward"):
            found = True
            yield from call.args
            if isinstance(call.func, ast.Attribute):
                yield call.func.value
    if not found:
        yield from taken_by_a_library(source)


def taken_by_a_library(source: Source) -> Iterator[ast.expr]:
    classes = list(source.every(ast.ClassDef))
    makers = [made for one in classes if (made := method(source, one, *GIVES_THE_LOSS))]
    if not makers:
        makers = [made for one in classes if (made := method(source, one, "forward"))]
    for function in dict.fromkeys(makers):
        yield from (one.value for one in own_returns(function) if one.value is not None)


def call_at(source: Source, site: CallSite) -> ast.Call | None:
    """The call at a site; where columns are not known, the only one on its line."""
    columns = site.column, site.end_column
    found = [
        call
        for call in source.every(ast.Call)
        if call.lineno == site.place.line
        and (site.column is None or (call.col_offset, call.end_col_offset) == columns)
    ]
    return found[0] if len(found) == 1 else None


def runs_a_model(source: Source, names: Iterable[str]) -> Stop:
    """Whether a call runs a model: one of these, by what it is written as (`student`,
    `self.model`), or a layer that a module holds as its attribute."""
    known = frozenset(names)

    def stop(call: ast.Call) -> bool:
        return dotted(call.func) in known or is_layer(source, call)

    return stop


def is_layer(source: Source, call: ast.Call) -> bool:
    """`self.head(x)` in a class of the file that has no such method; losses are no layers."""
    func = call.func
    if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
        return False
    owner = class_of(source, func.value)
    if owner is None or not is_self(source, func.value) or method(source, owner, func.attr):
        return False
    made = [one for one in set_in(source, owner).get(func.attr, ()) if isinstance(one, ast.Call)]
    return not any(called(one).endswith(LOSSES) for one in made)
