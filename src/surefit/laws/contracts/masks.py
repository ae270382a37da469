"""What masks must be: as many axes as what they cover, and of the kind that attention takes."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.observations import Value
from surefit.doctor.violations import Expression, Operand, Violation
from surefit.laws.case import Case, use_of
from surefit.laws.operations.operands import fails_in_own_code, operand_in, result_is
from surefit.laws.values.frame_numbers import tensor_in
from surefit.source.reading import Source, called

FILLS = ("masked_fill", "masked_fill_")
ATTENDS = "scaled_dot_product_attention"
DECODED = "tgt memory tgt_mask memory_mask tgt_key_padding_mask memory_key_padding_mask"
NAMES = {
    "MultiheadAttention": "query key value key_padding_mask need_weights attn_mask",
    "TransformerEncoder": "src mask src_key_padding_mask is_causal",
    "TransformerEncoderLayer": "src src_mask src_key_padding_mask is_causal",
    "TransformerDecoder": DECODED,
    "TransformerDecoderLayer": DECODED,
    "Transformer": "src tgt src_mask tgt_mask memory_mask src_key_padding_mask"
    " tgt_key_padding_mask memory_key_padding_mask",
}
TAKES = {kind: tuple(names.split()) for kind, names in NAMES.items()}
"""Layers with attention -> their arguments, in order."""
PADDING = {"attn_mask": "key_padding_mask", "mask": "src_key_padding_mask"} | {
    f"{side}_mask": f"{side}_key_padding_mask" for side in ("src", "tgt", "memory")
}
"""The attention mask -> the key padding mask of the same sequence."""
Covered = tuple[Operand, Operand, tuple[int, ...]]
"""A mask, what it covers, and the shape of the result."""
CHECKS_SHAPE = "multi_head_attention_forward"
CHECKS_PADDING = "_check_key_padding_mask"
CHECKS_DTYPE = "_canonical_mask"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskAxes(Violation):
    """A mask has fewer axes than what it covers, and fits with axes added after its rows."""

    mask: Operand
    over: Operand
    index: str
    """What makes it fit: `[:, None, None, :]`."""
    meets: tuple[str, int, str]
    """Rows of the mask, the axis that they are lined up with, and the size of that."""
    holds: ValuesAt | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskKind(Violation):
    """A layer with attention was given a mask of the other kind, or of integers."""

    argument: str
    """As which it was given: `mask`."""
    mask: Operand
    meant: str
    """The argument that it fits; the same where only its dtype is wrong."""
    takes: str = ""
    """The shape that the argument takes: `(10, 10)`."""
    true_keeps: bool = False
    """Of `scaled_dot_product_attention`, in which True keeps."""
    hides: bool | None = None
    """True or 1 marks padding; None where that cannot be told."""
    holds: ValuesAt | None = None

    @property
    def is_padding(self) -> bool:
        return self.meant.endswith("key_padding_mask")


@dataclass(frozen=True, slots=True)
class MaskEnds:
    """Mean of the first and of the last column of a mask."""

    probe: ClassVar[str] = "mask-ends"

    first: float
    last: float


def violations_of(case: Case) -> Iterator[Violation]:
    node, source = case.node(case.own), case.source(case.own)
    if case.own is None or source is None or not isinstance(node, ast.Call):
        return
    use = use_of(case.own)
    if fails_in_own_code(case):
        yield from lacks_axes(case, use, source, node)
        yield from of_integers(case, use, source, node)
    else:
        yield from of_another_kind(case, use, source, node)


def lacks_axes(case: Case, use: Expression, source: Source, call: ast.Call) -> Iterator[MaskAxes]:
    attends = called(call) == ATTENDS
    covered = attended(case, source, call) if attends else filled(case, source, call)
    if covered is None:
        return
    mask, over, result = covered
    index = index_for(mask.shape, over.shape)
    if not index:
        return
    if attends and mask.dtype.startswith(("int", "uint")):
        index += ".bool()"
    meets = len(over.shape) - len(mask.shape)
    yield MaskAxes(
        use=use,
        mask=mask,
        over=over,
        index=index,
        meets=(str(mask.shape[0]), meets, str(over.shape[meets])),
        holds=result_is(case, use, result),
    )


def filled(case: Case, source: Source, call: ast.Call) -> Covered | None:
    """The mask and the tensor of `masked_fill` or `where`."""
    name = called(call)
    match call:
        case ast.Call(func=ast.Attribute(value=over), args=[mask, _]) if name in FILLS:
            pass
        case ast.Call(args=[over, mask, _]) if name in FILLS:
            pass
        case ast.Call(args=[mask, over, _]) if name == "where":
            pass
        case _:
            return None
    tensor = operand_in(case, source, over)
    return operand_in(case, source, plain(mask)), tensor, tensor.shape


def attended(case: Case, source: Source, call: ast.Call) -> Covered | None:
    """The mask of a call of attention, the scores that it covers, and the shape of the result."""
    node = source.argument(call, "attn_mask", 3)
    if node is None or len(call.args) < 3:
        return None
    query, key, value = (operand_in(case, source, part) for part in call.args[:3])
    if not query.shape or len(key.shape) < 2 or not value.shape:
        return None
    text = f"{query.value.text} @ {key.value.text}.mT"
    scores = Value(text, "Tensor", shape=(*query.shape[:-1], key.shape[-2]))
    over = Operand(value=scores, name=f"`{text}`")
    return operand_in(case, source, plain(node)), over, (*query.shape[:-1], value.shape[-1])


def plain(node: ast.expr) -> ast.expr:
    """`mask` of `~mask`, `mask == 0`, `mask.bool()`."""
    match node:
        case ast.UnaryOp(op=ast.Invert() | ast.Not(), operand=inside):
            return plain(inside)
        case ast.Compare(left=inside, comparators=[ast.Constant()]):
            return plain(inside)
        case ast.Call(func=ast.Attribute(value=inside, attr="bool" | "logical_not"), args=[]):
            return plain(inside)
    return node


def index_for(mask: tuple[int, ...], over: tuple[int, ...]) -> str:
    """After the rows, as many axes as are missing; empty where it fits as it is, or not so."""
    missing = len(over) - len(mask)
    if len(mask) < 2 or missing < 1 or broadcasts(mask, over[missing:]):
        return ""
    whole = (mask[0], *(1,) * missing, *mask[1:])
    if mask[0] != over[0] or mask[-1] != over[-1] or not broadcasts(whole, over):
        return ""
    return f"[:{', None' * missing}{', :' * (len(mask) - 1)}]"


def broadcasts(mask: tuple[int, ...], over: tuple[int, ...]) -> bool:
    return all(size in (1, other) for size, other in zip(mask, over, strict=True))


def of_integers(case: Case, use: Expression, source: Source, call: ast.Call) -> Iterator[MaskKind]:
    """Integers for `scaled_dot_product_attention`, of a shape that fits."""
    node = source.argument(call, "attn_mask", 3) if called(call) == ATTENDS else None
    mask = operand_in(case, source, node, recorded=False) if node is not None else None
    if mask is None or "int" not in mask.dtype:
        return
    yield MaskKind(
        use=use,
        argument="attn_mask",
        meant="attn_mask",
        mask=mask,
        true_keeps=True,
        hides=False,
        holds=same_shape(case, source, call, ()),
    )


def of_another_kind(
    case: Case, use: Expression, source: Source, call: ast.Call
) -> Iterator[MaskKind]:
    """A layer of torch's own rejected a mask: by the function that checks it."""
    arguments = dict(masks_in(case, call))
    for frame in reversed(case.frames):
        if frame.own:
            return
        values = {value.text: value for value in frame.values}
        innermost = frame is case.frames[-1]
        match frame.function.rpartition(".")[2]:
            case name if name == CHECKS_DTYPE and innermost:
                broken = wrong_dtype(case, arguments, values)
            case name if name == CHECKS_PADDING:
                broken = attention_for_padding(case, call, arguments, values)
            case name if name == CHECKS_SHAPE and innermost:
                broken = padding_for_attention(arguments, values)
            case _:
                continue
        if broken is None:
            return
        argument, meant, mask, rows, length = broken
        operand = operand_in(case, source, arguments[argument], recorded=False)
        if operand.value.shape is None:
            logical = isinstance(arguments[argument], ast.Compare | ast.UnaryOp | ast.BoolOp)
            value = replace(mask, text=operand.value.text, dtype="bool" if logical else mask.dtype)
            operand = replace(operand, value=value)
        padding = argument.endswith("key_padding_mask")
        yield MaskKind(
            use=use,
            argument=argument,
            meant=meant,
            mask=operand,
            takes=f"({rows}, {length})" if padding else f"({length}, {length})",
            hides=hides(case, source, operand) if meant.endswith("key_padding_mask") else True,
            holds=same_shape(case, source, call, (rows, length)),
        )
        return


Misplaced = tuple[str, str, Value, int | None, int | None]
"""The argument, the one that it is meant for, the mask, rows and positions."""


def masks_in(case: Case, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The masks that a call of one of torch's layers gives, by the names of the arguments."""
    takes = TAKES.get(kind_of(case, call), ())
    named = [(keyword.arg or "", keyword.value) for keyword in call.keywords]
    for name, node in (*zip(takes, call.args, strict=False), *named):
        is_none = isinstance(node, ast.Constant) and node.value is None
        if name in takes and name.endswith("mask") and not is_none:
            yield name, node


def kind_of(case: Case, call: ast.Call) -> str:
    module = case.own.value(ast.unparse(call.func)) if case.own is not None else None
    return module.layer.kind if module is not None and module.layer is not None else ""


def only(arguments: dict[str, ast.expr], padding: bool) -> str | None:
    """The one mask of a kind that is given."""
    names = [name for name in arguments if name.endswith("key_padding_mask") is padding]
    return names[0] if len(names) == 1 else None


def padding_for_attention(
    arguments: dict[str, ast.expr], values: dict[str, Value]
) -> Misplaced | None:
    """(N, S) where (L, S) belongs."""
    mask, argument = values.get("attn_mask"), only(arguments, padding=False)
    rows, asking, length = (integer(values, name) for name in ("bsz", "tgt_len", "src_len"))
    if mask is None or argument is None or mask.shape != (rows, length) or rows == asking:
        return None
    meant = PADDING[argument]
    return (argument, meant, mask, rows, length) if meant not in arguments else None


def attention_for_padding(
    case: Case, call: ast.Call, arguments: dict[str, ast.expr], values: dict[str, Value]
) -> Misplaced | None:
    """(L, S) where (N, S) belongs."""
    mask, argument = values.get("key_padding_mask"), only(arguments, padding=True)
    rows, shape = integer(values, "bsz"), (mask.shape if mask is not None else None) or ()
    if mask is None or argument is None or rows is None or len(shape) != 2:
        return None
    takes = TAKES.get(kind_of(case, call), ())
    meant = [name for name, other in PADDING.items() if other == argument and name in takes]
    if shape[0] != shape[1] or shape[0] == rows or len(meant) != 1 or meant[0] in arguments:
        return None
    return argument, meant[0], mask, rows, shape[1]


def wrong_dtype(
    case: Case, arguments: dict[str, ast.expr], values: dict[str, Value]
) -> Misplaced | None:
    """Integers in place of True and False."""
    mask = values.get("mask")
    if mask is None or not mask.dtype or mask.dtype == "bool" or "float" in mask.dtype:
        return None
    like = (mask.shape, mask.dtype)
    fitting = [
        name
        for name, node in arguments.items()
        if (value := tensor_in(case.own, node)) and (value.shape, value.dtype) == like
    ]
    return (fitting[0], fitting[0], mask, None, None) if len(fitting) == 1 else None


def integer(values: dict[str, Value], name: str) -> int | None:
    scalar = values[name].scalar if name in values else None
    return scalar if type(scalar) is int else None


def hides(case: Case, source: Source, mask: Operand) -> bool | None:
    """Whether True, or 1, marks padding: by how it was compared, or by the ends of its rows."""
    if "float" in mask.dtype:
        return True if mask.value.not_finite else None
    node = case.node(mask.use)
    match source.value_of(node) if node is not None else None:
        case ast.Compare(ops=[ast.Eq()], comparators=[_]):
            return True
        case ast.Compare(ops=[ast.NotEq()], comparators=[_]):
            return False
    answer = case.ask(MaskEnds, frame=mask.frame, text=mask.value.text)
    ends = {answer.first, answer.last} if answer is not None else set()
    if 0.0 in ends and 1.0 not in ends:
        return True
    return False if 1.0 in ends and 0.0 not in ends else None


def same_shape(
    case: Case, source: Source, call: ast.Call, sizes: tuple[int | None, ...]
) -> ValuesAt | None:
    """What comes out has the shape of what goes in."""
    value = tensor_in(case.own, call.args[0]) if call.args else None
    shape: tuple[int | None, ...] | None = value.shape if value is not None else None
    if shape is None and all(sizes) and sizes and "batch_first=True" in source.text:
        shape = (*sizes, None)
    match source.statement_of(call):
        case ast.Assign(
            targets=[ast.Name(id=name) | ast.Tuple(elts=[ast.Name(id=name), *_])], value=result
        ) if result is call and shape and case.own is not None:
            return ValuesAt(case.own.place, (Wanted(name, shape),), after=True)
    return None
