"""What is added to positions: rows that are no longer than there are positions."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.observations import Frame, Layer, Value
from surefit.doctor.violations import Operand, Violation
from surefit.doctor.words import counted, shape_of
from surefit.laws.case import Case, use_of
from surefit.laws.contracts.tables import POSITIONS
from surefit.source import snippets
from surefit.source.reading import dotted


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionsShort(Violation):
    """A module holds fewer positions than a row needs: a buffer or a parameter, no table."""

    table: str
    """In backticks: what holds the positions."""
    needed: int
    usable: int
    held: Operand
    """What the positions are taken from."""
    layer: Layer
    offset: int = 0
    """Positions before the first that is used: some models count from 2."""
    shown: tuple[Fact, ...] = ()

    @property
    def missing(self) -> int:
        return self.needed - self.usable

    def facts(self) -> Iterator[Fact]:
        yield from self.shown


def violations_of(case: Case) -> Iterator[Violation]:
    layer = case.frames[-1].layer if case.own is not None else None
    if layer is None:
        return
    whole = snippets.statement(case.frames[-1].expression or case.frames[-1].line)
    node = whole.value if isinstance(whole, ast.Expr | ast.Assign | ast.Return) else whole
    broken = beyond_buffer(case, layer, node) or added(case, layer, node)
    if broken is not None:
        yield broken


def beyond_buffer(case: Case, layer: Layer, node: ast.AST | None) -> PositionsShort | None:
    """A library's module that takes positions from a buffer by their numbers, some too large."""
    frame = case.frames[-1]
    if layer.own or not isinstance(node, ast.Call) or case.own is None:
        return None
    sizes = [shape[-1] for held, shape in layer.parameters.items() if POSITIONS.search(held)]
    for given in (*node.args, *(keyword.value for keyword in node.keywords)):
        value = frame.value(ast.unparse(given))
        if value is None or value.greatest is None or len(sizes) != 1:
            continue
        if POSITIONS.search(value.text) and value.greatest >= sizes[0]:
            offset = layer.sizes.get("padding_idx", -1) + 1
            first, last = int(value.least or 0), int(value.greatest)
            words = f"{shape_of(value.shape or ())}, from {first:,} to {last:,}"
            return PositionsShort(
                use=use_of(case.own),
                table=f"`{layer.path or layer.kind}`",
                needed=last + 1 - offset,
                usable=sizes[0] - offset,
                held=Operand(value=value, name=f"`{value.text}`", frame=len(case.frames) - 1),
                layer=layer,
                offset=offset,
                shown=(Fact(f"`{value.text}`", words),),
            )
    return None


def added(case: Case, layer: Layer, node: ast.AST | None) -> PositionsShort | None:
    """The innermost frame's sum, or `expand`, of a row and of positions that end before it."""
    frame = case.frames[-1]
    for longer, expression in sides(node, frame):
        shorter = frame.value(ast.unparse(expression)) or before_the_cut(frame, expression)
        axis = shorter_axis(longer, shorter)
        if axis is None or longer is None or shorter is None or not shorter.shape:
            continue
        usable, needed = shorter.shape[axis], (longer.shape or ())[axis]
        held = held_for(expression, usable, layer)
        if held is None or case.own is None:
            continue
        whole = frame.value(f"self.{held}")
        table = f"`{layer.path}.{held}`" if layer.path else f"`{held}`"
        at = f", created at {layer.made_at}" if layer.made_at else ""
        shape = shape_of(layer.parameters[held])
        return PositionsShort(
            use=use_of(case.own),
            table=table,
            needed=needed,
            usable=usable,
            held=Operand(value=whole or shorter, name=table, frame=len(case.frames) - 1),
            layer=layer,
            shown=(
                Fact(table, f"{shape}: {counted(usable, 'position')}{at}"),
                Fact("added to", shape_of(longer.shape or ())),
            ),
        )
    return None


def sides(node: ast.AST | None, frame: Frame) -> Iterator[tuple[Value | None, ast.expr]]:
    """What is as long as the row, and the expression for what is shorter; both ways round."""
    match node:
        case ast.BinOp(left=left, right=right, op=ast.Add()):
            yield frame.value(ast.unparse(left)), right
            yield frame.value(ast.unparse(right)), left
        case ast.AugAssign(target=target, value=value, op=ast.Add()):
            yield frame.value(ast.unparse(target)), value
        case ast.Call(func=ast.Attribute(value=receiver, attr="expand"), args=args):
            numbers = [frame.value(ast.unparse(size)) for size in args]
            sizes = [number.scalar for number in numbers if number and type(number.scalar) is int]
            if sizes and len(sizes) == len(args):
                shape = tuple(size for size in sizes if isinstance(size, int))
                yield Value(ast.unparse(node), "Tensor", shape=shape), receiver


def before_the_cut(frame: Frame, node: ast.expr) -> Value | None:
    """`self.pe` for `self.pe[:, : x.size(1)]`: where that end exceeds its own, they are equal."""
    if cut_from(node) is None or not isinstance(node, ast.Subscript):
        return None
    slices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    plain = all(isinstance(part, ast.Slice) and part.lower is None for part in slices)
    return frame.value(ast.unparse(node.value)) if plain else None


def shorter_axis(longer: Value | None, shorter: Value | None) -> int | None:
    """The single axis, counted from the end, on which one is shorter; the others fit."""
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
    held = {name for name, shape in layer.parameters.items() if size in shape}
    if cut is not None and cut in held:
        return cut
    named = [name for name in held if POSITIONS.search(name)]
    return named[0] if named and not layer.own else None


def cut_from(node: ast.expr) -> str | None:
    """`pe` for `self.pe[:, : x.size(1)]`; nothing for what is not cut at an end."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value  # `.to(x.device)`, `.unsqueeze(0)`
    if not isinstance(node, ast.Subscript):
        return None
    slices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if not any(isinstance(part, ast.Slice) and part.upper is not None for part in slices):
        return None
    owner, _, held = dotted(node.value).rpartition(".")
    return held if owner else None
