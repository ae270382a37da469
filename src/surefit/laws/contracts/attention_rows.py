"""What torch's attention takes as masks: as many rows and positions as its input has."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Frame, Value
from surefit.doctor.violations import Expression, Operand, Violation, in_code
from surefit.laws.case import Case, use_of
from surefit.laws.values.names import name_in
from surefit.laws.values.origins import names_in

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
    own, last = case.own, case.frames[-1] if case.frames else None
    if last is None or own is None:
        return
    if last.function == CHECKS_PADDING:
        mask, rows = last.value("key_padding_mask"), integer(last, "bsz")
        if mask is not None and rows is not None and len(mask.shape or ()) == OVER_POSITIONS:
            takes = (rows, integer(last, "src_len") or (mask.shape or (0,))[0])
            yield violation(case, own, "key_padding_mask", mask, takes, rows)
    elif last.function.rpartition(".")[2] == ATTENTION:
        yield from of_attention(case, own, last)


def of_attention(case: Case, own: Frame, frame: Frame) -> Iterator[MaskRows]:
    mask, rows, length = frame.value("attn_mask"), integer(frame, "bsz"), integer(frame, "tgt_len")
    heads = integer(frame, "num_heads") or 1
    if mask is None or rows is None:
        return
    shape = mask.shape or ()
    if len(shape) == OVER_POSITIONS and length and shape[0] == shape[1] != length:
        yield violation(case, own, "attn_mask", mask, (length, length), rows, heads)
    elif len(shape) == FOR_EACH_ROW and shape[0] != rows * heads:
        yield violation(case, own, "attn_mask", mask, (rows * heads, *shape[1:]), rows, heads)


def violation(
    case: Case,
    own: Frame,
    argument: str,
    mask: Value,
    takes: tuple[int, ...],
    rows: int,
    heads: int = 1,
) -> MaskRows:
    number = len(case.frames) - 1
    name = name_in(case, mask, number) or same_shape(own, mask)
    use = case.argument(use_of(own), argument, None) or next(padding_masks(case), None)
    operand = Operand(value=mask, name=in_code(name, f"`{argument}`"), frame=number, use=use)
    return MaskRows(
        use=use_of(own), argument=argument, mask=operand, takes=takes, rows=rows, heads=heads
    )


def same_shape(own: Frame, mask: Value) -> str:
    """A layer may hand over a copy: what the failing expression has in the same shape."""
    names = names_in(own.expression or own.line)
    alike = [known.text for known in own.values if known.shape == mask.shape]
    named = [text for text in alike if text in names]
    return named[0] if len(named) == 1 else ""


def padding_masks(case: Case) -> Iterator[Expression]:
    """What the failing call gives under a name that ends so: `src_key_padding_mask`."""
    node, source = case.node(case.own), case.source(case.own)
    for keyword in node.keywords if isinstance(node, ast.Call) else ():
        if (keyword.arg or "").endswith("key_padding_mask") and source is not None:
            yield case.expression(source, keyword.value)


def integer(frame: Frame, text: str) -> int | None:
    value = frame.value(text)
    return value.scalar if value is not None and type(value.scalar) is int else None
