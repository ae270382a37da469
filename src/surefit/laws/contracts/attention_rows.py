"""What torch's attention takes as masks: as many rows and positions as its input has."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Frame, Value
from surefit.doctor.violations import Expression, Operand, Violation, in_code
from surefit.laws.batch_lines import names_in
from surefit.laws.case import Case, use_of
from surefit.laws.names import name_in

ATTENTION = "multi_head_attention_forward"
CHECKS_PADDING = "_check_key_padding_mask"
OVER_POSITIONS, FOR_EACH_ROW = 2, 3
"""Axes of an attention mask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskRows(Violation):
    """A mask has other rows or positions than the attention counted in its input."""

    argument: str
    """`key_padding_mask`, `attn_mask`."""
    mask: Operand
    takes: tuple[int, ...]
    rows: int
    """That the attention counted."""
    heads: int = 1


def violations_of(case: Case) -> Iterator[Violation]:
    frames = case.crash.frames if case.crash is not None else ()
    innermost = frames[-1] if frames else None
    if innermost is None or case.own is None:
        return
    if innermost.function == CHECKS_PADDING:
        yield from of_padding(case, innermost)
    elif innermost.function.rpartition(".")[2] == ATTENTION:
        yield from of_attention(case, innermost)


def of_padding(case: Case, frame: Frame) -> Iterator[MaskRows]:
    mask, rows = tensor(frame, "key_padding_mask"), integer(frame, "bsz")
    length = integer(frame, "src_len")
    if mask is not None and rows is not None and len(mask.shape or ()) == OVER_POSITIONS:
        takes = (rows, length or (mask.shape or (0,))[0])
        yield violation(case, "key_padding_mask", mask, takes, rows)


def of_attention(case: Case, frame: Frame) -> Iterator[MaskRows]:
    mask, rows, length = (
        tensor(frame, "attn_mask"),
        integer(frame, "bsz"),
        integer(frame, "tgt_len"),
    )
    heads = integer(frame, "num_heads") or 1
    shape = mask.shape if mask is not None and mask.shape else ()
    if mask is None or rows is None:
        return
    if len(shape) == OVER_POSITIONS and length and shape[0] == shape[1] != length:
        yield violation(case, "attn_mask", mask, (length, length), rows, heads)
    elif len(shape) == FOR_EACH_ROW and shape[0] != rows * heads:
        yield violation(case, "attn_mask", mask, (rows * heads, *shape[1:]), rows, heads)


def violation(
    case: Case, argument: str, mask: Value, takes: tuple[int, ...], rows: int, heads: int = 1
) -> MaskRows:
    assert case.crash is not None
    assert case.own is not None
    number = len(case.crash.frames) - 1
    name = name_in(case, mask, number) or same_shape(case, mask)
    use = case.argument(use_of(case.own), argument, None)
    known = use or next(iter(padding_masks(case)), None)
    operand = Operand(value=mask, name=in_code(name, f"`{argument}`"), frame=number, use=known)
    return MaskRows(
        use=use_of(case.own),
        argument=argument,
        mask=operand,
        takes=takes,
        rows=rows,
        heads=heads,
    )


def same_shape(case: Case, mask: Value) -> str:
    """A layer may hand over a copy: what the failing expression has in the same shape."""
    own = case.own
    names = names_in(own.expression or own.line) if own is not None else set()
    values = own.values if own is not None else ()
    alike = [value.text for value in values if value.text in names and value.shape == mask.shape]
    return alike[0] if len(alike) == 1 else ""


def padding_masks(case: Case) -> Iterator[Expression]:
    """What the failing call gives under a name that ends so: `src_key_padding_mask`."""
    node, source = case.node(use_of(case.own)) if case.own else None, None
    if case.own is not None:
        source = case.source(case.own.place)
    for keyword in node.keywords if isinstance(node, ast.Call) else ():
        if (keyword.arg or "").endswith("key_padding_mask") and source is not None:
            yield case.expression(source, keyword.value)


def tensor(frame: Frame, text: str) -> Value | None:
    return next((value for value in frame.values if value.text == text and value.shape), None)


def integer(frame: Frame, text: str) -> int | None:
    scalars = [value.scalar for value in frame.values if value.text == text]
    return next((scalar for scalar in scalars if type(scalar) is int), None)
