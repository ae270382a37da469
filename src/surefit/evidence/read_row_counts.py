"""How many rows a loader of a script that is only read has, and how many its last batch."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.evidence.known_tensors import Tensor
from surefit.evidence.read_loaders import asks, loader_argument, loaders
from surefit.evidence.read_tensors import known
from surefit.source.classes import method
from surefit.source.constants import whole
from surefit.source.origins import origin
from surefit.source.outcomes import maker, own_class_of
from surefit.source.reading import Source, dotted
from surefit.source.returns import own_returns

SPLITS = "torch.utils.data.random_split"


@dataclass(frozen=True, slots=True)
class ShortBatch:
    """A loader whose last batch is not whole."""

    loader: ast.Call
    rows: int
    size: int

    @property
    def left(self) -> int:
        return self.rows % self.size

    @property
    def sum(self) -> str:
        return f"{self.rows} = {self.rows // self.size} × {self.size} + {self.left}"


def short_batches(source: Source) -> Iterator[ShortBatch]:
    for call in loaders(source):
        named = {one.arg for one in call.keywords}
        if None in named or named & {"drop_last", "batch_sampler", "sampler"} or len(call.args) > 2:
            continue
        size = whole(source, loader_argument(source, call, "batch_size"))
        given = loader_argument(source, call, "dataset")
        rows = rows_of(source, given) if given is not None and size and size > 1 else None
        if rows and size and rows % size:
            yield ShortBatch(call, rows, size)


def rows_of(source: Source, node: ast.expr) -> int | None:
    """Of a dataset of tensors, a part that `random_split` cut off, or a class of the file."""
    part = split_off(source, node)
    if part is not None:
        return part
    made = maker(source, node)
    if made is not None and source.imported(made.func) == "torch.utils.data.TensorDataset":
        return first_size(source, made.args[0]) if made.args else None
    owner = own_class_of(source, node)
    length = method(source, owner, "__len__") if owner else None
    returns = [one.value for one in own_returns(length)] if length else []
    if len(returns) != 1 or returns[0] is None:
        return None
    return length_written(source, returns[0])


def length_written(source: Source, node: ast.expr) -> int | None:
    """A number, or `len(self.rows)` of rows whose number is known."""
    number = whole(source, node)
    if number is not None or not isinstance(node, ast.Call) or dotted(node.func) != "len":
        return number
    return first_size(source, node.args[0]) if len(node.args) == 1 else None


def first_size(source: Source, node: ast.expr) -> int | None:
    value = known(source, node)
    if isinstance(value, Tensor) and value.sizes:
        return value.sizes[0]
    listed = origin(source, node)
    if isinstance(listed, ast.ListComp) and len(listed.generators) == 1:
        loop = listed.generators[0]
        over = loop.iter
        counts = isinstance(over, ast.Call) and dotted(over.func) == "range" and len(over.args) == 1
        if counts and isinstance(over, ast.Call) and not loop.ifs:
            return whole(source, over.args[0])
    return None


def split_off(source: Source, node: ast.expr) -> int | None:
    """Of `train, held_out = random_split(rows, [161, 41])` the number of its own part."""
    bound = source.bound_by(node) if isinstance(node, ast.Name) else []
    only = bound[0] if len(bound) == 1 else None
    if not isinstance(only, ast.Assign) or not isinstance(only.value, ast.Call):
        return None
    target, call = only.targets[0], only.value
    if source.imported(call.func) != SPLITS or not isinstance(target, ast.Tuple):
        return None
    lengths = source.argument(call, "lengths", 1)
    lengths = origin(source, lengths) if lengths is not None else None
    names = [dotted(one) for one in target.elts]
    if not isinstance(lengths, ast.List) or len(lengths.elts) != len(names):
        return None
    assert isinstance(node, ast.Name)
    return whole(source, lengths.elts[names.index(node.id)]) if node.id in names else None


def training_loops(source: Source, loader: ast.Call) -> Iterator[ast.For]:
    """Loops over a loader that take training steps."""
    for loop in source.every(ast.For):
        if asks(source, loop) is loader and any(
            isinstance(one, ast.Attribute) and one.attr == "backward" for one in ast.walk(loop)
        ):
            yield loop
