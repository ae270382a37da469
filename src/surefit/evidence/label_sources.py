"""Where the labels of a failing loss came from, followed back through the user's own source.

From the argument of the loss through assignments and arguments to the loop over a loader, from
there into the dataset's `__getitem__`, and from there to the column that it reads.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Frame, Operation, Script
from surefit.doctor.recording import Recording
from surefit.evidence.failed_losses import FailedLoss
from surefit.evidence.value_stories import story_of_value
from surefit.source.classes import function_called, method, set_on_self
from surefit.source.definitions import last_binding
from surefit.source.reading import Source, called, targets

MOST = 40
MOVES = ("to", "cuda", "cpu", "detach", "clone", "contiguous", "pin_memory", "requires_grad_")
CASTS = ("long", "int", "float", "double", "half", "bool", "type", "short", "bfloat16", "astype")
MAKERS = ("torch.tensor", "torch.as_tensor", "torch.from_numpy", "torch.Tensor", "torch.LongTensor")
FLOAT_MAKERS = ("torch.FloatTensor", "torch.DoubleTensor", "torch.IntTensor", "torch.BoolTensor")
LABELS = ("labels", "label", "start_positions")

Path = tuple[str | int, ...]
"""Keys on the way from a batch to the labels: `batch["y"]`, the second of a pair."""
Extent = Literal["batch", "collated", "row", "column"]


@dataclass(frozen=True, slots=True)
class Step:
    """An expression that gives the labels: of a batch (where it is used, or where a collator makes
    it), of one row, or of all rows."""

    source: Source
    node: ast.expr
    of: Extent
    told: bool = False
    """An operation of torch that a second run has seen."""

    @property
    def text(self) -> str:
        return " ".join(self.source.segment(self.node).split())

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.node.lineno, self.node.end_lineno)


def label_steps(crash: Crash, loss: FailedLoss, seen: Recording) -> list[Step]:
    """The labels on their way back, nearest to the loss first; ends where nothing is certain."""
    found: list[Step] = []
    for step in follow(crash, loss, seen):
        if len(found) == MOST or any(step.node is one.node for one in found):
            break
        found.append(step)
    return found


def made_in(
    crash: Crash, loss: FailedLoss, seen: Recording, shape: tuple[int, ...] | None = None
) -> Step | None:
    """The expression outside of the loop that gives the labels, of a row, a column or a batch: by
    the source where that is certain, otherwise by what a second run has seen. `shape`: of a batch
    of labels, where they were flattened since."""
    outside = [one for one in label_steps(crash, loss, seen) if one.of != "batch"]
    if outside:
        return behind_names(outside)
    return told(crash, loss, seen, shape or loss.target.shape or ())


def behind_names(steps: list[Step]) -> Step:
    """The first that is more than a name or, where all are names, the last that is as wide."""
    first = steps[0]
    for one in steps:
        if one.of != first.of:
            break
        first = one
        named = isinstance(one.node, ast.Name) and not read_elsewhere(one)
        if not named and not is_part(one.node):
            break
    return first


def is_part(node: ast.AST | None) -> bool:
    """`y[:800]`: rows of a whole of which other parts are labels, too."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)


def read_elsewhere(step: Step) -> bool:
    """A name that other lines use, too, but for parts and lengths of it: changed where it is made,
    it would change for them."""
    name, source = step.node, step.source
    return isinstance(name, ast.Name) and any(
        one.id == name.id and one is not name and source.bound_by(one) == source.bound_by(name)
        for one in source.every(ast.Name)
        if isinstance(one.ctx, ast.Load) and not is_only_measured(source, one)
    )


def is_only_measured(source: Source, node: ast.expr) -> bool:
    """`len(y)`, `y.shape`, `y[:800]`: another kind of number changes nothing there."""
    outer = source.parents[node]
    if isinstance(outer, ast.Call):
        return isinstance(outer.func, ast.Name) and outer.func.id == "len"
    return is_part(outer) or (isinstance(outer, ast.Attribute) and outer.attr in ("shape", "size"))


def built_in(steps: list[Step]) -> Step | None:
    """The call of torch that makes a tensor of the labels, where nothing else reads what lies
    between it and a row: that would become of another kind, too."""
    for one in steps:
        if one.of == "batch":
            continue
        if isinstance(one.node, ast.Call):
            return one if one.source.imported(one.node.func) in (*MAKERS, *FLOAT_MAKERS) else None
        if isinstance(one.node, ast.Attribute) and attribute_read_elsewhere(one.source, one.node):
            return None
        if read_elsewhere(one):
            return None
    return None


def attribute_read_elsewhere(source: Source, node: ast.Attribute) -> bool:
    return any(
        one.attr == node.attr and one is not node and not is_only_measured(source, one)
        for one in source.every(ast.Attribute)
        if isinstance(one.ctx, ast.Load)
    )


def is_tensor(step: Step) -> bool:
    """Made by a function of torch, whatever methods follow."""
    if step.told:
        return True
    node: ast.expr = step.node
    for _ in range(MOST):
        if isinstance(node, ast.Call) and step.source.imported(node.func).startswith("torch."):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Name):
            made = assigned(step.source, node)
            if made is None:
                return False
            node = made
        elif isinstance(node, ast.Attribute):
            made = set_on_self(step.source, node)
            if made is None:
                return False
            node = made
        else:
            return False
    return False


def told(crash: Crash, loss: FailedLoss, seen: Recording, shape: tuple[int, ...]) -> Step | None:
    """The newest operation on all of the labels in a statement that does nothing but make them."""
    story = story_of_value(seen, crash, loss.frame, "target")
    for one in story:
        if writes_in_place(one):
            return None
        source = seen.source(one.place)
        statement = source.statement_at(one.place.line or 0) if source and one.place else None
        node = statement.value if isinstance(statement, ast.Assign) else None
        if source is None or not one.own or not isinstance(node, ast.Call):
            continue
        extent = extent_of(one, shape)
        if called(node) != one.name or extent is None:
            continue
        if extent != "row" or len([1 for other in story if same_line(other, one)]) == shape[0]:
            return Step(source, node, extent, told=True)
    return None


def extent_of(one: Operation, shape: tuple[int, ...]) -> Extent | None:
    """By its shape, what an operation gave: the labels of a row, of a batch, of all rows."""
    if one.shape == shape[1:]:
        return "row"
    if one.shape == shape:
        return "collated"
    same = one.shape[1:] == shape[1:] and len(one.shape) == len(shape)
    return "column" if same else None


def same_line(one: Operation, other: Operation) -> bool:
    return one.name == other.name and one.place == other.place


def writes_in_place(one: Operation) -> bool:
    """What was made before it is not yet what the labels are."""
    return one.name == "__setitem__" or (one.name.endswith("_") and not one.name.endswith("__"))


def follow(crash: Crash, loss: FailedLoss, seen: Recording) -> Iterator[Step]:
    source, node, path = beginning(loss)
    if source is None:
        return
    frames = [frame for frame in crash.frames[: loss.frame] if frame.own]
    yield from Follower(seen, frames).back(source, node, path)


def beginning(loss: FailedLoss) -> tuple[Source | None, ast.expr | None, Path]:
    """The argument of the loss; of a model that computes it, the one with the labels."""
    if loss.call is not None:
        return loss.source, loss.target_node, ()
    source, span = loss.source, loss.own.span
    node = source.expression_at(span) if source and span else None
    if source is None or not isinstance(node, ast.Call):
        return source, None, ("labels",)
    for one in node.keywords:
        if one.arg in LABELS:
            return source, one.value, ()
    spread = [one.value for one in node.keywords if one.arg is None]
    return source, spread[0] if len(spread) == 1 else None, ("labels",)


class Follower:
    """Goes back from an expression, a step at a time; `frames` are the user's, outermost first."""

    def __init__(self, seen: Recording, frames: list[Frame]) -> None:
        self.seen = seen
        self.frames = frames

    def back(self, source: Source, node: ast.expr | None, path: Path) -> Iterator[Step]:
        for _ in range(MOST):
            if node is None:
                yield from self.rows(path)
                return
            if not path:
                yield Step(source, node, "batch")
            inner = without_wrapping(source, node, path)
            if inner is not None:
                node, path = inner
                continue
            if isinstance(node, ast.Subscript) and not path:
                yield from further(source, node, "row")
                return
            if not isinstance(node, ast.Name):
                return
            moved = self.before(source, node, path)
            if moved is None:
                return
            source, node, path = moved

    def before(
        self, source: Source, name: ast.Name, path: Path
    ) -> tuple[Source, ast.expr | None, Path] | None:
        """What a name was given: by an assignment, by a loop, by a caller."""
        statement = source.statement_of(name)
        every = source.bound_by(name)
        earlier = last_binding(source, every, statement)
        bound = [one for one in every if one is not statement and comes_before(one, statement)]
        if earlier is None and len(bound) == 1 and isinstance(bound[0], ast.Assign):
            earlier = bound[0]
        if isinstance(earlier, ast.Assign | ast.AnnAssign) and earlier.value is not None:
            keys = keys_of(targets(earlier)[0], name.id)
            return None if keys is None else (source, earlier.value, (*keys, *path))
        if earlier is not None:
            return None
        loops = [one for one in source.up(name) if isinstance(one, ast.For) and one in bound]
        if loops:
            keys = keys_of(loops[0].target, name.id)
            return None if keys is None else (source, None, (*looped(loops[0].iter, keys), *path))
        if len(bound) == 1 and isinstance(bound[0], ast.arg):
            return self.given(source, name, path)
        return None

    def given(
        self, source: Source, name: ast.Name, path: Path
    ) -> tuple[Source, ast.expr | None, Path] | None:
        """The argument that the calling frame gave; a framework that calls gives a batch."""
        scope = source.scope_of(name)
        numbers = [number for number, one in enumerate(self.frames) if runs(one, source, scope)]
        if not numbers:
            return None
        here = self.frames[numbers[-1]]
        above = self.frames[numbers[-1] - 1] if numbers[-1] else None
        outer = self.seen.source(above.place) if above else None
        call = outer.expression_at(above.span) if outer and above and above.span else None
        if (
            outer is not None
            and isinstance(call, ast.Call)
            and is_call_of(outer, call, scope, here)
        ):
            node = argument_for(outer, call, name.id, here.arguments)
            return (outer, node, path) if node is not None else None
        return (source, None, path) if path else None

    def rows(self, path: Path) -> Iterator[Step]:
        """In the dataset: what a row has under these keys, and the column it is read from."""
        if len(path) != 1:
            return
        for source, node, extent in self.row_makers(path[0]):
            yield Step(source, node, extent)
            yield from further(source, node, extent)
            return

    def row_makers(self, key: str | int) -> Iterator[tuple[Source, ast.expr, Extent]]:
        """The one expression for these labels in the one dataset or collator of the script."""
        made: list[tuple[Source, ast.expr, Extent]] = []
        unclear = False
        for script in self.seen.all(Script):
            source = self.seen.source(script.file)
            for found in (collated, itemized, tensors) if source else ():
                if made and made[-1][2] == "collated":
                    break
                for node, extent in found(source, key) if source else ():
                    if node is None:
                        unclear = True
                    elif source is not None:
                        made.append((source, node, extent))
        if len(made) == 1 and not (unclear and made[0][2] != "collated"):
            yield made[0]


def runs(frame: Frame, source: Source, scope: ast.AST) -> bool:
    """The frame is one of the function that a scope is."""
    if frame.place.file != source.file or not isinstance(scope, ast.stmt | ast.expr):
        return False
    return scope.lineno <= (frame.place.line or 0) <= (scope.end_lineno or 0)


def is_call_of(source: Source, call: ast.Call, scope: ast.AST, frame: Frame) -> bool:
    """By the source, or by the name of what is called."""
    return function_called(source, call) is scope or called(call) == frame.function.split(".")[-1]


def comes_before(binder: ast.AST, statement: ast.stmt) -> bool:
    return getattr(binder, "lineno", 0) <= statement.lineno


def without_wrapping(source: Source, node: ast.expr, path: Path) -> tuple[ast.expr, Path] | None:
    """`y` of `y.to(device)`; `batch` and a key of `batch["y"]`; the looped over of a list."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in (*MOVES, *CASTS):
            return inner, path
        case ast.Subscript(value=inner, slice=ast.Constant(value=str() | int() as key)):
            return inner, (key, *path)
        case ast.Attribute(value=ast.Name() as inner, attr=key) if key in LABELS and not path:
            return inner, (key, *path)
        case ast.Tuple(elts=parts) | ast.List(elts=parts) if path and type(path[0]) is int:
            return (parts[path[0]], path[1:]) if 0 <= path[0] < len(parts) else None
        case (
            ast.ListComp(elt=elt, generators=[one]) | ast.GeneratorExp(elt=elt, generators=[one])
        ) if path:
            return (one.iter, path) if moved_only(source, elt, one.target) else None
        case ast.DictComp(value=elt, generators=[one]) if path:
            return (mapped(one.iter), path) if isinstance(one.target, ast.Tuple) else None
    return None


def mapped(node: ast.expr) -> ast.expr:
    """`batch` of `batch.items()`."""
    if (
        isinstance(node, ast.Call)
        and called(node) == "items"
        and isinstance(node.func, ast.Attribute)
    ):
        return node.func.value
    return node


def moved_only(source: Source, elt: ast.expr, target: ast.expr) -> bool:
    inner: ast.expr = elt
    while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
        if inner.func.attr not in MOVES:
            return False
        inner = inner.func.value
    return source.segment(inner) == source.segment(target)


def keys_of(target: ast.expr, name: str) -> Path | None:
    """Where in a target a name stands: `(1,)` for `y` in `x, y`."""
    if isinstance(target, ast.Name):
        return () if target.id == name else None
    if isinstance(target, ast.Tuple | ast.List):
        for number, one in enumerate(target.elts):
            if isinstance(one, ast.Starred):
                return None
            keys = keys_of(one, name)
            if keys is not None:
                return (number, *keys)
    return None


def looped(iterated: ast.expr, keys: Path) -> Path:
    """`enumerate` puts a number before each batch."""
    while isinstance(iterated, ast.Call) and iterated.args:
        if called(iterated) == "enumerate":
            return keys[1:]
        iterated = iterated.args[0]
    return keys


def argument_for(
    source: Source, call: ast.Call, name: str, arguments: tuple[str, ...]
) -> ast.expr | None:
    names = arguments[1:] if arguments[:1] in (("self",), ("cls",)) else arguments
    position = names.index(name) if name in names else None
    return source.argument(call, name, position)


def itemized(source: Source, key: str | int) -> Iterator[tuple[ast.expr | None, Extent]]:
    """In `__getitem__` of the classes of a file; None where what it returns cannot be told."""
    for owner in source.every(ast.ClassDef):
        function = method(source, owner, "__getitem__")
        if function is not None and source.parents.get(function) is owner:
            yield returned(source, function, key), "row"


def collated(source: Source, key: str | int) -> Iterator[tuple[ast.expr | None, Extent]]:
    """In the functions of a file that are given as `collate_fn` or `data_collator`."""
    for call in source.every(ast.Call):
        for one in call.keywords:
            if one.arg in ("collate_fn", "data_collator") and isinstance(one.value, ast.Name):
                bound = source.bound_by(one.value)
                if len(bound) == 1 and isinstance(bound[0], ast.FunctionDef):
                    yield returned(source, bound[0], key), "collated"


def tensors(source: Source, key: str | int) -> Iterator[tuple[ast.expr | None, Extent]]:
    """The tensors of `TensorDataset(x, y)`; one name in several of them is one."""
    nodes = [
        call.args[key]
        for call in source.calls_of("torch.utils.data.TensorDataset")
        if isinstance(key, int) and key < len(call.args)
        if not any(isinstance(one, ast.Starred) for one in call.args)
    ]
    if len(nodes) == 1:
        yield nodes[0], "column"
    elif nodes:
        yield None, "column"


def returned(source: Source, function: ast.AST, key: str | int) -> ast.expr | None:
    """What the one `return` of a function has under a key."""
    found = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Return) and source.scope_of(node) is function
    ]
    value = found[0].value if len(found) == 1 else None
    if isinstance(value, ast.Name):
        set_later = [
            node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            and any(is_item(target, value.id, key) for target in node.targets)
        ]
        if len(set_later) == 1:
            return set_later[0]
        made = source.assignments(value.id, function)
        value = made[0].value if len(made) == 1 else None
    return member(value, key)


def is_item(node: ast.expr, name: str, key: str | int) -> bool:
    match node:
        case ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=found)):
            return owner == name and same_key(found, key)
    return False


def same_key(found: object, key: str | int) -> bool:
    """A collator of transformers makes `labels` of `label`."""
    return found == key or (found == "label" and key == "labels")


def member(value: ast.expr | None, key: str | int) -> ast.expr | None:
    if isinstance(value, ast.Tuple) and isinstance(key, int):
        starred = any(isinstance(one, ast.Starred) for one in value.elts)
        return value.elts[key] if key < len(value.elts) and not starred else None
    if isinstance(value, ast.Dict):
        for name, one in zip(value.keys, value.values, strict=True):
            if isinstance(name, ast.Constant) and same_key(name.value, key):
                return one
    return None


def further(source: Source, node: ast.expr, extent: Extent) -> Iterator[Step]:
    """Behind the expression of a row: what the tensor is made from, and the column of that."""
    for _ in range(MOST):
        inner = made_from(source, node)
        if inner is None and isinstance(node, ast.Subscript) and extent == "row":
            inner, extent = node.value, "column"
        elif inner is None and is_part(node) and isinstance(node, ast.Subscript):
            inner = node.value
        elif inner is None and isinstance(node, ast.Attribute):
            inner = set_on_self(source, node)
        elif inner is None and isinstance(node, ast.Name):
            inner = assigned(source, node)
        if inner is None:
            return
        node = inner
        yield Step(source, node, extent)


def made_from(source: Source, node: ast.expr) -> ast.expr | None:
    if not isinstance(node, ast.Call):
        return None
    if source.imported(node.func) in (*MAKERS, *FLOAT_MAKERS) and node.args:
        return node.args[0]
    match node.func:
        case ast.Attribute(value=inner, attr=name) if name in (*MOVES, *CASTS):
            return inner
    return None


def assigned(source: Source, name: ast.Name) -> ast.expr | None:
    """The value of a name that is assigned once, or last before on a straight way; of a pair
    (`words, label = self.rows[i]`) nothing is known but the whole."""
    bound = source.bound_by(name)
    earlier = last_binding(source, bound, source.statement_of(name))
    if earlier is None and len(bound) == 1 and isinstance(bound[0], ast.Assign):
        earlier = bound[0]
    if not isinstance(earlier, ast.Assign | ast.AnnAssign) or earlier.value is None:
        return None
    keys = keys_of(targets(earlier)[0], name.id)
    if keys and len(keys) == 1 and isinstance(earlier.value, ast.Tuple):
        return member(earlier.value, keys[0])  # `train, test = y[:80], y[80:]`
    return earlier.value if keys == () else None
