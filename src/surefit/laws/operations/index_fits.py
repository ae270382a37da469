"""What makes an index fit the tensor that it picks from: axes added, taken away, swapped, cut."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from surefit.laws.case import Case
from surefit.laws.contracts.indices import IndexArguments
from surefit.source.reading import Source, called

Shape = tuple[int, ...]
TIGHT = ast.Name | ast.Attribute | ast.Subscript | ast.Call
TAKES_AXES_AWAY = ("squeeze", "view", "reshape", "flatten")
MOST_STEPS = 6


@dataclass(frozen=True, slots=True)
class IndexFit:
    """A change of the index, of the call or of the axis, and the shapes after it."""

    words: str
    index: str = ""
    """New text of the index; empty: as it is."""
    suffix: str = ""
    """What follows the call."""
    axis: int | None = None
    shape: Shape | None = None
    """Of the index then."""
    result: Shape | None = None
    """Of what the call then returns."""
    choice: bool = False


@dataclass(frozen=True, slots=True)
class Picking:
    """A violation with the source of its sides."""

    broken: IndexArguments
    source: Source
    call: ast.expr
    of_node: ast.expr
    index_node: ast.expr

    @property
    def of(self) -> Shape:
        return self.broken.of.shape

    @property
    def index(self) -> Shape:
        return self.broken.index.shape

    @property
    def axis(self) -> int:
        return self.broken.axis

    def written(self, node: ast.expr) -> str:
        text = self.source.segment(node)
        return text if isinstance(node, TIGHT) else f"({text})"

    def result(self, shape: Shape) -> Shape:
        return self.of if self.broken.writes else shape


def picking(broken: IndexArguments, case: Case) -> Picking | None:
    source, call = case.source(broken.use.place), case.node(broken.use)
    of, index = case.node(broken.of.use), case.node(broken.index.use)
    if source is None or call is None or of is None or index is None:
        return None
    return Picking(broken, source, call, of, index)


def fits(here: Picking) -> Iterator[IndexFit]:
    """Those that follow from the shapes, the surest first."""
    if len(here.index) < len(here.of):
        yield from with_more_axes(here)
    elif len(here.index) > len(here.of):
        yield from with_fewer_axes(here)
    else:
        yield from turned(here)
        yield from along_another_axis(here)
        yield from shifted(here)


def with_more_axes(here: Picking) -> Iterator[IndexFit]:
    of, index, axis = here.of, here.index, here.axis
    if index == of[:axis] + of[axis + 1 :]:
        yield with_axis(here)
        if not (index == of[: len(index)] and axis != len(of) - 1):
            return
    src = here.broken.src
    if src is not None and index == src.shape[: len(index)] and src.use is not None:
        axes = ".unsqueeze(-1)" * (len(of) - len(index))
        text = f"{here.written(here.index_node)}{axes}.expand_as({src.use.text})"
        words = f"Give each number of {src.name} its index"
        yield IndexFit(words, text, shape=src.shape, result=of)
        return
    if here.broken.writes or index[:axis] != of[:axis] or len(index) not in (axis, axis + 1):
        return
    last = len(index) == len(of) - 1 and index == of[:-1]
    if last:
        text = f"{here.written(here.index_node)}.unsqueeze(-1)"
        words = f"Pick a single one of {of[-1]} at each position"
        at = len(of) - 1
        yield IndexFit(words, text, ".squeeze(-1)", at, (*index, 1), index, choice=True)
    sizes = [f"{here.written(here.of_node)}.size({at})" for at in range(axis + 1, len(of))]
    axes = ".unsqueeze(-1)" * (len(of) - len(index))
    expanded = ", ".join([*["-1"] * (axis + 1), *sizes])
    text = f"{here.written(here.index_node)}{axes}.expand({expanded})"
    shape = (*index, *(1,) * (axis + 1 - len(index)), *of[axis + 1 :])
    words = "Pick whole vectors: give the index an axis for each of the tensor"
    yield IndexFit(words, text, shape=shape, result=shape, choice=last)


def with_axis(here: Picking) -> IndexFit:
    """One index for each position that is left when the axis is taken away."""
    of, index, axis = here.of, here.index, here.axis
    at = "-1" if axis == len(of) - 1 and len(of) > 2 else str(axis)
    text = f"{here.written(here.index_node)}.unsqueeze({at})"
    shape = (*index[:axis], 1, *index[axis:])
    words = "Give the index the axis that is picked along"
    if here.broken.writes:
        return IndexFit(words, text, shape=shape, result=of)
    if axis_is_used(here):
        return IndexFit(words, text, shape=shape, result=shape)
    words += f"; `.squeeze({at})` after the call takes it away again"
    return IndexFit(words, text, f".squeeze({at})", shape=shape, result=index)


def axis_is_used(here: Picking) -> bool:
    """What follows takes the axis away."""
    parent = here.source.parents.get(here.call)
    if isinstance(parent, ast.Attribute) and parent.attr in TAKES_AXES_AWAY:
        return True
    name = assigned_name(here.source.statement_of(here.call))
    scope = here.source.scope_of(here.call)
    used = {f"{name}.{attribute}" for attribute in TAKES_AXES_AWAY} if name else set()
    later = {ast.unparse(node) for node in ast.walk(scope) if isinstance(node, ast.Attribute)}
    return isinstance(parent, ast.Subscript) or bool(used & later)


def assigned_name(statement: ast.stmt) -> str | None:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return None


def with_fewer_axes(here: Picking) -> Iterator[IndexFit]:
    node = here.index_node
    for at in reversed(range(len(here.index))):
        left = here.index[:at] + here.index[at + 1 :]
        if here.index[at] != 1 or len(left) != len(here.of) or not goes(left, here.of, here.axis):
            continue
        text = f"{here.written(node)}.squeeze({at})"
        if isinstance(node, ast.Call) and called(node) == "unsqueeze":
            inner = node.func.value if isinstance(node.func, ast.Attribute) else node
            text = here.source.segment(inner)
        words = "Take the axis of size 1 away"
        yield IndexFit(words, text, shape=left, result=here.result(left))
        return


def goes(index: Shape, of: Shape, axis: int) -> bool:
    """On every axis but one they are as long as each other."""
    pairs = enumerate(zip(index, of, strict=True))
    return all(size == other for at, (size, other) in pairs if at != axis)


def turned(here: Picking) -> Iterator[IndexFit]:
    """Two axes of the index that fit the tensor when they are swapped."""
    if goes(here.index, here.of, here.axis):
        return
    for first, second in combinations(range(len(here.index)), 2):
        sizes = list(here.index)
        sizes[first], sizes[second] = sizes[second], sizes[first]
        shape = tuple(sizes)
        if goes(shape, here.of, here.axis):
            text = f"{here.written(here.index_node)}.transpose({first}, {second})"
            words = f"Swap axes {first} and {second} of the index"
            yield IndexFit(words, text, shape=shape, result=here.result(shape))
            return


def along_another_axis(here: Picking) -> Iterator[IndexFit]:
    """The index fits along exactly one other axis, and so do its numbers."""
    broken = here.broken
    if broken.axis_use is None or len(here.index) != len(here.of) or broken.least < 0:
        return
    inside = [axis for axis, size in enumerate(here.of) if broken.greatest < size]
    others = [at for at in inside if at != here.axis and goes(here.index, here.of, at)]
    if len(others) == 1:
        words = f"Pick along axis {others[0]}: on all others index and tensor are equally long"
        yield IndexFit(words, axis=others[0], shape=here.index, result=here.result(here.index))


def shifted(here: Picking) -> Iterator[IndexFit]:
    """Labels of the position after each prediction, where the tensor is `logits[:, :-1]`."""
    pairs = enumerate(zip(here.index, here.of, strict=True))
    longer = [at for at, (size, other) in pairs if size == other + 1 and at != here.axis]
    if len(longer) != 1 or not is_cut(here, longer[0]):
        return
    base = here.index_node
    while isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute):
        base = base.func.value
    if isinstance(base, ast.Name):
        at = longer[0]
        cut = f"{base.id}[{':, ' * at}1:]"
        text = here.source.segment(here.index_node).replace(base.id, cut, 1)
        shape = tuple(size - (axis == at) for axis, size in enumerate(here.index))
        words = (
            "The tensor lacks its last position; what is predicted there is the position after it"
        )
        yield IndexFit(words, text, shape=shape, result=here.result(shape))


def is_cut(here: Picking, axis: int) -> bool:
    """`logits[:, :-1]`, which the tensor was computed from."""
    node: ast.expr = here.of_node
    for _ in range(MOST_STEPS):
        node = here.source.value_of(node)
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            texts = [ast.unparse(part) for part in parts]
            if texts[: axis + 1] == [*[":"] * axis, ":-1"]:
                return True
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        library = here.source.imported(node.func).startswith("torch.")
        if library and not node.args:
            return False
        node = node.args[0] if library else node.func.value
    return False
