"""Rows that are longer than a model has positions: by a lookup, or by a sum that does not fit."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.findings import Fact
from surefit.doctor.observations import Crash, Frame, Layer, Value
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted, shape_of
from surefit.evidence.layer_names import name
from surefit.evidence.table_lookups import POSITIONS, Lookup, are_positions, facts, lookup_of
from surefit.source.reading import dotted


@dataclass(frozen=True, slots=True)
class Added:
    """What holds the positions, and what it was added to."""

    frame: Frame
    longer: Value
    shorter: Value
    shorter_text: str
    axis: int
    """Of the shorter one, from its end."""
    held: str
    """The buffer or parameter of the module that the shorter one is cut from: `pe`."""
    shape: tuple[int, ...]
    """Of what is held."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """So many positions are needed, and there are fewer."""

    needed: int
    usable: int
    offset: int
    """Rows of the table before that of the first position: some models count from 2."""
    layer: Layer | None
    lookup: Lookup | None = None
    added: Added | None = None
    taken: Value | None = None
    """Positions that were taken from a buffer by their numbers."""

    @property
    def missing(self) -> int:
        return self.needed - self.usable

    @property
    def table(self) -> str:
        if self.added is not None and self.layer is not None:
            path = f"{self.layer.path}." if self.layer.path else ""
            return f"`{path}{self.added.held}`"
        if self.lookup is None and self.layer is not None:
            return name(self.layer)
        return self.lookup.table if self.lookup else "the table"

    def facts(self) -> Iterator[Fact]:
        if self.lookup is not None:
            yield from facts(self.lookup)
        if self.taken is not None:
            first, last = int(self.taken.least or 0), int(self.taken.greatest or 0)
            shape = shape_of(self.taken.shape or ())
            yield Fact(f"`{self.taken.text}`", f"{shape}, from {first:,} to {last:,}")
        if self.added is not None and self.layer is not None:
            made = f", made at {self.layer.made_at}" if self.layer.made_at else ""
            held = f"{shape_of(self.added.shape)}: {counted(self.usable, 'position')}{made}"
            yield Fact(self.table, held)
            yield Fact("added to", f"{shape_of(self.added.longer.shape or ())}")


def stretch_of(crash: Crash, seen: Recording) -> Stretch | None:
    lookup = lookup_of(crash, seen)
    if lookup is not None:
        if not are_positions(crash, lookup):
            return None
        offset = lookup.outside.counts_up_from or 0
        needed = lookup.outside.greatest + 1 - offset
        return Stretch(needed, lookup.rows - offset, offset, lookup.layer, lookup)
    if not is_cause(crash, seen):
        return None
    counted_in_buffer = beyond_buffer(crash)
    if counted_in_buffer is not None:
        return counted_in_buffer
    added = added_in(crash)
    if added is None or added.longer.shape is None or added.shorter.shape is None:
        return None
    needed, usable = added.longer.shape[added.axis], added.shorter.shape[added.axis]
    return Stretch(needed, usable, 0, added.frame.layer, added=added)


def beyond_buffer(crash: Crash) -> Stretch | None:
    """A library's module that takes positions from a buffer by their numbers, some too large."""
    frame = crash.frames[-1] if crash.frames else None
    layer = frame.layer if frame else None
    node = parsed(frame.expression) if frame else None
    if frame is None or layer is None or layer.own or not isinstance(node, ast.Call):
        return None
    for one in (*node.args, *(keyword.value for keyword in node.keywords)):
        value = value_in(frame, one)
        sizes = [shape[-1] for held, shape in layer.parameters.items() if POSITIONS.search(held)]
        if value is None or value.greatest is None or len(sizes) != 1:
            continue
        if POSITIONS.search(value.text) and value.greatest >= sizes[0]:
            offset = layer.sizes.get("padding_idx", -1) + 1
            needed = int(value.greatest) + 1 - offset
            return Stretch(needed, sizes[0] - offset, offset, layer, taken=value)
    return None


def added_in(crash: Crash) -> Added | None:
    """The innermost frame's sum, or `expand`, of a row and of positions that end before it."""
    frame = crash.frames[-1] if crash.frames else None
    layer = frame.layer if frame else None
    node = parsed(frame.expression or frame.line) if frame else None
    if frame is None or layer is None or node is None:
        return None
    for one, shorter in pairs(node, frame):
        other = value_in(frame, shorter) or before_the_cut(frame, shorter)
        axis = shorter_axis(one, other)
        if axis is None or one is None or other is None or other.shape is None:
            continue
        held = held_for(shorter, other.shape[axis], layer)
        if held is not None:
            text = ast.unparse(shorter)
            return Added(frame, one, other, text, axis, held, layer.parameters[held])
    return None


def parsed(text: str | None) -> ast.expr | ast.stmt | None:
    if not text:
        return None
    try:
        statement = ast.parse(text.strip()).body[0]
    except (SyntaxError, IndexError):
        return None
    return statement.value if isinstance(statement, ast.Expr) else statement


def pairs(node: ast.AST, frame: Frame) -> Iterator[tuple[Value | None, ast.expr]]:
    """What is as long as the row, and the expression for what is shorter; both ways round."""
    if isinstance(node, ast.Assign | ast.Return) and node.value is not None:
        node = node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield value_in(frame, node.left), node.right
        yield value_in(frame, node.right), node.left
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        yield value_in(frame, node.target), node.value
    match node:
        case ast.Call(func=ast.Attribute(value=receiver, attr="expand"), args=args):
            numbers = [value_in(frame, one) for one in args]
            sizes = [one.scalar for one in numbers if one and type(one.scalar) is int]
            if sizes and len(sizes) == len(args):
                shape = tuple(size for size in sizes if isinstance(size, int))
                yield Value(ast.unparse(node), "Tensor", shape=shape), receiver


def before_the_cut(frame: Frame, node: ast.expr) -> Value | None:
    """`self.pe` for `self.pe[:, : x.size(1)]`: where that end is behind its own, they are equal."""
    if cut_from(node) is None or not isinstance(node, ast.Subscript):
        return None
    slices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    plain = all(isinstance(one, ast.Slice) and one.lower is None for one in slices)
    return value_in(frame, node.value) if plain else None


def value_in(frame: Frame, node: ast.expr) -> Value | None:
    text = ast.unparse(node)
    return next((one for one in frame.values if one.text == text), None)


def shorter_axis(longer: Value | None, shorter: Value | None) -> int | None:
    """The one axis, counted from the end, on which one is shorter; the others fit."""
    if longer is None or shorter is None or not longer.shape or not shorter.shape:
        return None
    ends = range(-1, -min(len(longer.shape), len(shorter.shape)) - 1, -1)
    apart = [at for at in ends if longer.shape[at] != shorter.shape[at] and shorter.shape[at] != 1]
    if len(apart) != 1 or longer.shape[apart[0]] <= shorter.shape[apart[0]]:
        return None
    return apart[0]


def held_for(node: ast.expr, size: int, layer: Layer) -> str | None:
    """The buffer or parameter of the module, as long as the shorter one, that is cut to the row's
    length (`self.pe[:, :n]`), or that a library's module calls positions."""
    cut = cut_from(node)
    held = {one for one, shape in layer.parameters.items() if size in shape}
    if cut is not None and cut in held:
        return cut
    named = [one for one in held if POSITIONS.search(one)]
    return named[0] if named and not layer.own else None


def cut_from(node: ast.expr) -> str | None:
    """`pe` for `self.pe[:, : x.size(1)]`; nothing for what is not cut at an end."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value  # `.to(x.device)`, `.unsqueeze(0)`
    if not isinstance(node, ast.Subscript):
        return None
    slices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if not any(isinstance(one, ast.Slice) and one.upper is not None for one in slices):
        return None
    owner, _, held = dotted(node.value).rpartition(".")
    return held if owner else None
