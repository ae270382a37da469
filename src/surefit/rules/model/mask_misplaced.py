"""A mask of padding is given where attention takes one of places, or the other way round.

## What happens
Attention of torch takes two masks. `key_padding_mask` (rows, places) hides the padding of each row;
`attn_mask`, called `mask` or `src_mask` in an encoder, (from, to) hides places from each other, as
a causal mask does. One in the place of the other has another shape; and whole numbers, as
tokenizers give them, are no mask at all: `only bool and floating types are supported`.

## Why it matters
Where there happen to be as many rows as places it runs, and every row hides the places of another
one. And True means the opposite of what it means in `attention_mask`: it hides.

## What to do
`encoder(x, src_key_padding_mask=ids == PAD)`; `attn(x, x, x, key_padding_mask=mask == 0)` for a
tokenizer's `attention_mask`; a causal mask as `mask=` or `attn_mask=`.

## How it is recognised
Torch's own attention failed on the shape or the dtype of a mask, and the shape is just that of the
other kind. Whether True marks padding is read from the ends of its rows. The text of the exception
is not looked at.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Crash, Frame, Question, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of
from surefit.source.comma_lists import at, start
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source, called
from surefit.source.spans import Span

RULE = Rule(
    "SF348",
    "mask-misplaced",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"The shape of the 2D attn_mask is|Expected key_padd(ed|ing)_mask.shape"
            r"|key_padding_mask.shape\[\d\] should"
            r"|only bool and floating types of \w+ are supported",
            "the shapes of the mask, the rows and the places, and what True means in it",
        ),
    ),
)

TAKES = {
    "MultiheadAttention": (
        "query",
        "key",
        "value",
        "key_padding_mask",
        "need_weights",
        "attn_mask",
    ),
    "TransformerEncoder": ("src", "mask", "src_key_padding_mask", "is_causal"),
    "TransformerEncoderLayer": ("src", "src_mask", "src_key_padding_mask", "is_causal"),
    "TransformerDecoder": (
        *("tgt", "memory", "tgt_mask", "memory_mask", "tgt_key_padding_mask"),
        "memory_key_padding_mask",
    ),
    "TransformerDecoderLayer": (
        *("tgt", "memory", "tgt_mask", "memory_mask", "tgt_key_padding_mask"),
        "memory_key_padding_mask",
    ),
    "Transformer": (
        *("src", "tgt", "src_mask", "tgt_mask", "memory_mask", "src_key_padding_mask"),
        *("tgt_key_padding_mask", "memory_key_padding_mask"),
    ),
}
PADDING = {
    "attn_mask": "key_padding_mask",
    "mask": "src_key_padding_mask",
    "src_mask": "src_key_padding_mask",
    "tgt_mask": "tgt_key_padding_mask",
    "memory_mask": "memory_key_padding_mask",
}
"""The mask of places -> that of padding, for the same sequence."""
IN_ONE_CALL = "scaled_dot_product_attention"
CHECKS_SHAPE = "multi_head_attention_forward"
CHECKS_PADDING = "_check_key_padding_mask"
CHECKS_DTYPE = "_canonical_mask"


@dataclass(frozen=True, slots=True)
class Argument:
    """A mask as the user's call gives it."""

    name: str
    node: ast.expr
    keyword: ast.keyword | None


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A mask that is of another kind than the argument."""

    source: Source
    frame: Frame
    call: ast.Call
    given: Argument
    meant: str
    """The argument that it fits; the same where only its dtype is wrong."""
    mask: Value
    rows: int | None
    places: int | None
    keeps: bool = False
    """Of attention in one call, in which True keeps."""


@RULE.on(Crash)
def a_mask_is_of_the_other_kind(crash: Crash, seen: Recording) -> Iterator[Finding]:
    found = misplaced(crash, seen) if is_cause(crash, seen) else None
    if found is None:
        return
    found = replace(found, mask=as_given(found))
    hides = hiding(crash, seen, found)
    yield RULE.finding(
        found.frame.place,
        headline(found),
        facts=tuple(facts(found, hides)),
        why=why(found),
        fixes=(fix(found, hides),),
        python_said=crash.said,
        about=crash.id,
    )


def why(found: Misplaced) -> str:
    if found.keeps:
        return "Whole numbers are neither True and False nor numbers to add to scores."
    return (
        "In both masks True hides; one is for the padding of each row, the other for places that"
        " must not see each other, alike in all rows."
    )


def as_given(found: Misplaced) -> Value:
    """Under the user's own name; further in, torch has made floats of True and False."""
    text = ast.unparse(found.given.node)
    known = next((one for one in found.frame.values if one.text == text and one.dtype), None)
    if known is not None:
        return known
    logical = ast.Compare | ast.UnaryOp | ast.BoolOp
    is_bool = isinstance(found.given.node, logical)
    return replace(found.mask, dtype="bool") if is_bool else found.mask


def misplaced(crash: Crash, seen: Recording) -> Misplaced | None:
    frame = crash.own_frame
    source = seen.source(frame.place) if frame else None
    call = source.expression_at(frame.span) if source and frame and frame.span else None
    if frame is None or source is None or not isinstance(call, ast.Call):
        return None
    if frame is crash.frames[-1]:
        return in_one_call(source, frame, call)
    arguments = list(masks_in(frame, call))
    for below in reversed(crash.frames):
        if below.own:
            return None
        name = below.function.rpartition(".")[2]
        values = {one.text: one for one in below.values}
        if name == CHECKS_DTYPE and below is crash.frames[-1]:
            return of_dtype(source, frame, call, arguments, values)
        if name == CHECKS_PADDING:
            return of_places(source, frame, call, arguments, values)
        if name == CHECKS_SHAPE and below is crash.frames[-1]:
            return of_padding(source, frame, call, arguments, values)
    return None


def in_one_call(source: Source, frame: Frame, call: ast.Call) -> Misplaced | None:
    """Whole numbers for `scaled_dot_product_attention`, of a shape that fits."""
    node = source.argument(call, "attn_mask", 3) if called(call) == IN_ONE_CALL else None
    text = ast.unparse(node) if node is not None else ""
    mask = next((one for one in frame.values if one.text == text and one.shape), None)
    if node is None or mask is None or "int" not in (mask.dtype or ""):
        return None
    keyword = next((one for one in call.keywords if one.value is node), None)
    given = Argument("attn_mask", node, keyword)
    return Misplaced(source, frame, call, given, "attn_mask", mask, None, None, keeps=True)


def masks_in(frame: Frame, call: ast.Call) -> Iterator[Argument]:
    """The masks that a call of one of torch's layers gives, by the names of the arguments."""
    text = ast.unparse(call.func)
    layers = [one.layer for one in frame.values if one.text == text and one.layer]
    takes = TAKES.get(layers[0].kind, ()) if layers else ()
    for name, node in zip(takes, call.args, strict=False):
        if name.endswith("mask"):
            yield Argument(name, node, None)
    for one in call.keywords:
        if one.arg in takes and str(one.arg).endswith("mask"):
            yield Argument(str(one.arg), one.value, one)


def only(arguments: list[Argument], padding: bool) -> Argument | None:
    """The one mask of a kind that is given."""
    found = [one for one in arguments if one.name.endswith("key_padding_mask") is padding]
    found = [one for one in found if not is_none(one.node)]
    return found[0] if len(found) == 1 else None


def is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def of_padding(
    source: Source,
    frame: Frame,
    call: ast.Call,
    arguments: list[Argument],
    values: dict[str, Value],
) -> Misplaced | None:
    """(rows, places) where (from, to) belongs."""
    mask, given = values.get("attn_mask"), only(arguments, padding=False)
    sizes = [values[one].scalar if one in values else None for one in ("bsz", "tgt_len", "src_len")]
    rows, asking, places = (int(one) if type(one) is int else None for one in sizes)
    if mask is None or given is None or mask.shape != (rows, places) or rows == asking:
        return None
    meant = PADDING[given.name]
    if meant in {one.name for one in arguments}:
        return None
    return Misplaced(source, frame, call, given, meant, mask, rows, places)


def of_places(
    source: Source,
    frame: Frame,
    call: ast.Call,
    arguments: list[Argument],
    values: dict[str, Value],
) -> Misplaced | None:
    """(from, to) where (rows, places) belongs."""
    mask, given = values.get("key_padding_mask"), only(arguments, padding=True)
    rows = values["bsz"].scalar if "bsz" in values else None
    if mask is None or given is None or not mask.shape or type(rows) is not int:
        return None
    if len(mask.shape) != 2 or mask.shape[0] != mask.shape[1] or mask.shape[0] == rows:
        return None
    takes = TAKES.get(kind_of(frame, call), ())
    meant = [one for one, other in PADDING.items() if other == given.name and one in takes]
    if len(meant) != 1 or meant[0] in {one.name for one in arguments}:
        return None
    return Misplaced(source, frame, call, given, meant[0], mask, rows, mask.shape[1])


def kind_of(frame: Frame, call: ast.Call) -> str:
    text = ast.unparse(call.func)
    return next((one.layer.kind for one in frame.values if one.text == text and one.layer), "")


def of_dtype(
    source: Source,
    frame: Frame,
    call: ast.Call,
    arguments: list[Argument],
    values: dict[str, Value],
) -> Misplaced | None:
    """Whole numbers in place of True and False."""
    mask = values.get("mask")
    if mask is None or not mask.dtype or mask.dtype == "bool" or "float" in mask.dtype:
        return None
    fitting = [one for one in arguments if fits(frame, one, mask)]
    if len(fitting) != 1:
        return None
    return Misplaced(source, frame, call, fitting[0], fitting[0].name, mask, None, None)


def fits(frame: Frame, one: Argument, mask: Value) -> bool:
    text = ast.unparse(one.node)
    known = next((value for value in frame.values if value.text == text), None)
    return known is not None and (known.shape, known.dtype) == (mask.shape, mask.dtype)


def hiding(crash: Crash, seen: Recording, found: Misplaced) -> bool | None:
    """Whether True, or 1, marks padding; None where that cannot be told. Of a mask of places, it
    is left as it is."""
    if not found.meant.endswith("key_padding_mask"):
        return True
    if "float" in (found.mask.dtype or ""):
        return True if found.mask.not_finite else None
    node = found.source.value_of(found.given.node)
    match node:
        case ast.Compare(ops=[ast.Eq()], comparators=[_]):
            return True
        case ast.Compare(ops=[ast.NotEq()], comparators=[_]):
            return False
    about = {"frame": crash.frames.index(found.frame), "text": ast.unparse(found.given.node)}
    said = seen.ask(Question("mask-ends", crash.id, about))
    if not said:
        return None
    ends = {float(said["first"]), float(said["last"])}
    if 0.0 in ends and 1.0 not in ends:
        return True
    if 1.0 in ends and 0.0 not in ends:
        return False
    return None


def headline(found: Misplaced) -> str:
    what = code(ast.unparse(found.given.node))
    shape = shape_of(found.mask.shape or ())
    if found.meant == found.given.name:
        return f"{what} is {found.mask.dtype}, and `{found.given.name}` takes True and False."
    if found.meant.endswith("key_padding_mask"):
        return (
            f"{what} {shape} is a mask of padding, (rows, places), and `{found.given.name}` takes"
            f" one of places, ({found.places}, {found.places})."
        )
    return (
        f"{what} {shape} is a mask of places, and `{found.given.name}` takes one of padding, (rows,"
        f" places), ({found.rows}, {found.places})."
    )


def facts(found: Misplaced, hides: bool | None) -> Iterator[Fact]:
    dtype = found.mask.dtype
    yield Fact(code(ast.unparse(found.given.node)), f"{dtype} {shape_of(found.mask.shape or ())}")
    if found.rows is not None:
        yield Fact("rows", str(found.rows))
    if found.places is not None:
        yield Fact("places", str(found.places))
    if found.meant.endswith("key_padding_mask") and hides is not None:
        yield Fact("it is set", "for padding" if hides else "for what is no padding")


def fix(found: Misplaced, hides: bool | None) -> Fix:
    text = found.source.segment(found.given.node)
    tight = isinstance(found.given.node, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
    inner = text if tight else f"({text})"
    whole = "int" in (found.mask.dtype or "")
    if found.keeps:
        return changed(found, f"{inner}.bool()")
    if found.meant == found.given.name and not found.meant.endswith("key_padding_mask"):
        return Fix(
            f"Make it of True, for what is hidden, and False: `{inner} == 0` or `{inner}.bool()`.",
            why_not_tried="which of the two it means only you know",
        )
    if hides is None:
        return Fix(
            f"Give it as `{found.meant}`, with True for padding.",
            why_not_tried="whether it is set for padding or for the rest cannot be told",
        )
    if whole:
        text = f"{inner} != 0" if hides else f"{inner} == 0"
    elif not hides:
        text = f"~{inner}"
    return changed(found, text)


def changed(found: Misplaced, text: str) -> Fix:
    edit = renamed(found, text)
    must = condition(found)
    said = f"Give it as {code(f'{found.meant}={text}')}."
    can_be = edit is not None and must is not None
    return Fix(said, edit, must, "" if can_be else "its result has no name on that line")


def renamed(found: Misplaced, text: str) -> Edit | None:
    source, given = found.source, found.given
    changes = [Replace(source.span(given.node), text)]
    if given.keyword is not None:
        span = source.span(given.keyword)
        name = Span(span.line, span.column, span.line, span.column + len(given.name))
        if found.meant != given.name:
            changes = [Replace(name, found.meant), *changes]
    elif given.node is not found.call.args[-1]:
        return None
    else:
        changes = [Replace(at(start(source.span(given.node))), f"{found.meant}="), *changes]
    return Edit(source.file, tuple(changes))


def condition(found: Misplaced) -> ValuesAt | None:
    """What comes out has the shape of what goes in."""
    statement = found.source.statement_of(found.call)
    first = found.call.args[0] if found.call.args else None
    text = ast.unparse(first) if first is not None else ""
    value = next((one for one in found.frame.values if one.text == text and one.shape), None)
    shape: tuple[int | None, ...] | None = value.shape if value else None
    if shape is None and "batch_first=True" in found.source.text and found.rows and found.places:
        shape = (found.rows, found.places, None)
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=call) if call is found.call:
            pass
        case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id=name), *_])], value=call) if (
            call is found.call
        ):
            pass
        case _:
            return None
    return ValuesAt(found.frame.place, (Wanted(name, shape),), after=True) if shape else None
