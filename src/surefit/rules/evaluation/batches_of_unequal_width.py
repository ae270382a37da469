"""Predictions of batches that were padded to different widths are put together.

## What happens
Batches are padded to their own longest row, so that predictions, labels or logits of one batch are
(8, 31) and of the next (8, 40). `np.concatenate` and `torch.cat` join along rows and need the same
width; `np.array` needs the same shape.

## Why it matters
It comes after a whole evaluation, when everything is put together, and not at all if one batch
holds all rows.

## What to do
Pad each to the greatest width first, with -100 for ids and labels, as the Trainer and
`accelerator.pad_across_processes` do, and leave these places out of the metric; or keep a list.

## How it is recognised
A call that joins a list of tensors or arrays failed, and their shapes differ on one axis that is
not the one they are joined along.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.condition import All, Condition
from surefit.doctor.conditions.re_executed import ReExecuted
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Crash, Frame, Question
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, listed, shape_of, spoken
from surefit.source.edits import replaced
from surefit.source.patches import Edit, both
from surefit.source.reading import Source, called, targets

RULE = Rule(
    "SF504",
    "batches-of-unequal-width",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"except for the concatenation axis must match|Sizes of tensors must match except"
            r"|inhomogeneous shape|stack expects each tensor to be equal size",
            "whether the arrays of a list differ on one axis, padded by batches of their own width",
        ),
    ),
)

JOINS = ("concatenate", "cat", "concat", "vstack", "row_stack")
"""Along an axis that there is."""
FILL = -100
NOT_LEFT_OUT = (
    f"nothing in your source leaves {FILL} out, and padding that is counted makes a wrong metric"
)


@dataclass(frozen=True, slots=True)
class Shapes:
    """Of everything in a list."""

    shapes: list[list[int]]
    kinds: list[str]
    dtypes: list[str]
    least: float | None = None

    @property
    def whole(self) -> bool:
        return all(one.startswith(("int", "uint")) for one in self.dtypes)


@dataclass(frozen=True, slots=True)
class Joined:
    """A call that joins a list."""

    frame: Frame
    source: Source
    call: ast.Call
    node: ast.expr
    """The list."""
    along: int

    @property
    def text(self) -> str:
        return " ".join(self.source.segment(self.node).split())


@RULE.on(Crash)
def widths_of_batches_differ(crash: Crash, seen: Recording) -> Iterator[Finding]:
    joined = joined_in(crash, seen) if is_cause(crash, seen) else None
    shapes = shapes_of(crash, joined, seen) if joined else None
    axis = differing_axis(shapes, joined.along) if shapes and joined else None
    if joined is None or shapes is None or axis is None:
        return
    widths = [shape[axis] for shape in shapes.shapes]
    yield RULE.finding(
        joined.frame.place,
        f"The {len(widths):,} batches in `{joined.text}` have {len(set(widths))} different widths,"
        f" and `{called(joined.call)}` joins only equal ones.",
        facts=tuple(facts(joined, shapes, axis, widths)),
        why="Each batch was padded to its own longest row.",
        fixes=tuple(fixes(crash, joined, shapes, axis, seen)),
        python_said=crash.said,
        about=crash.id,
    )


def joined_in(crash: Crash, seen: Recording) -> Joined | None:
    frame = crash.own_frame
    source = seen.source(frame.place) if frame else None
    node = source.expression_at(frame.span) if source and frame and frame.span else None
    if frame is None or source is None or not isinstance(node, ast.Call):
        return None
    return as_join(frame, source, node)


def as_join(frame: Frame, source: Source, node: ast.Call) -> Joined | None:
    if not node.args:
        return None
    if called(node) not in JOINS or not source.imported(node.func).startswith(("numpy", "torch")):
        return None
    axis = source.argument(node, "axis", 1) or source.argument(node, "dim", 1)
    along = 0 if axis is None else number(axis)
    if along is None or not isinstance(node.args[0], ast.Name | ast.Attribute | ast.Subscript):
        return None
    return Joined(frame, source, node, node.args[0], along)


def number(node: ast.expr) -> int | None:
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def shapes_of(crash: Crash, joined: Joined, seen: Recording) -> Shapes | None:
    about = {"frame": crash.frames.index(joined.frame), "text": ast.unparse(joined.node)}
    said = seen.ask(Question("shapes-in-list", crash.id, about))
    return msgspec.convert(said, Shapes, strict=False) if said else None


def differing_axis(shapes: Shapes, along: int) -> int | None:
    """The one axis, other than that of joining, on which sizes differ."""
    if len({len(one) for one in shapes.shapes}) != 1 or len(shapes.kinds) != 1:
        return None
    axes = range(len(shapes.shapes[0]))
    apart = [at for at in axes if len({one[at] for one in shapes.shapes}) > 1 and at != along]
    return apart[0] if len(apart) == 1 else None


def facts(joined: Joined, shapes: Shapes, axis: int, widths: list[int]) -> Iterator[Fact]:
    first = shape_of(shapes.shapes[0])
    other = next(one for one in shapes.shapes if one[axis] != shapes.shapes[0][axis])
    yield Fact(code(joined.text), f"{counted(len(widths), 'batch')}: {first}, {shape_of(other)}...")
    yield Fact(f"sizes of axis {axis}", listed(widths))
    yield Fact("joined along", f"axis {joined.along}")
    yield Fact("they are", f"{', '.join(shapes.dtypes)}")


def fixes(
    crash: Crash, joined: Joined, shapes: Shapes, axis: int, seen: Recording
) -> Iterator[Fix]:
    edit, changed = padded_all(crash, joined, seen)
    rows = sum(one[joined.along] for one in shapes.shapes)
    widest = max(one[axis] for one in shapes.shapes)
    said = (
        f"Pad each batch of {spoken(map(code, changed or [joined.text]))} to the greatest width,"
        f" here {widest}, with {filler(joined)}: all {rows:,} rows stay."
    )
    if decoder_in(joined) is None:
        said += f" Leave these places out of the metric, as those with labels of {FILL}."
    if edit is None:
        yield Fix(said, why_not_tried="axes that are joined in this way are not padded by one call")
        return
    at = crash.frames.index(joined.frame)
    about = {"frame": at, "text": ast.unparse(joined.node), "axis": axis}
    asked = Question("padded-together", crash.id, {**about, "along": joined.along, "fill": FILL})
    seen.ask(asked)
    if not is_left_out(joined):
        yield Fix(said, edit, why_not_tried=NOT_LEFT_OUT)
        return
    must: Condition = ReExecuted(asked, "the batches, and the same in the padded whole")
    target = assigned_to(joined)
    if target is not None:
        whole = list(shapes.shapes[0])
        whole[joined.along], whole[axis] = rows, widest
        wanted = Wanted(target, shape=tuple(whole))
        must = All((must, ValuesAt(joined.frame.place, (wanted,), after=True)))
    yield Fix(said, edit, must)


def is_left_out(joined: Joined) -> bool:
    """The source compares something with the filler, or decodes it as padding."""
    return decoder_in(joined) is not None or any(
        ast.unparse(side) == str(FILL)
        for node in joined.source.every(ast.Compare)
        for side in (node.left, *node.comparators)
    )


def decoder_in(joined: Joined) -> str | None:
    """The tokenizer that the same function decodes with: what it skips is its own padding."""
    source = joined.source
    scope = source.scope_of(joined.call)
    calls = [one for one in source.every(ast.Call) if source.scope_of(one) is scope]
    decodes = [one.func for one in calls if called(one) in ("batch_decode", "decode")]
    names = [source.segment(one.value) for one in decodes if isinstance(one, ast.Attribute)]
    return names[0] if names else None


def filler(joined: Joined) -> str:
    tokenizer = decoder_in(joined)
    return f"{tokenizer}.pad_token_id" if tokenizer else str(FILL)


def padded_all(crash: Crash, joined: Joined, seen: Recording) -> tuple[Edit | None, list[str]]:
    """This call, and others of the function that join lists of unequal widths."""
    edit: Edit | None = None
    changed: list[str] = []
    source = joined.source
    scope = source.scope_of(joined.call)
    for call in source.every(ast.Call):
        one = as_join(joined.frame, source, call) if source.scope_of(call) is scope else None
        shapes = shapes_of(crash, one, seen) if one else None
        axis = differing_axis(shapes, one.along) if shapes and one else None
        new = padded(one, shapes, axis) if one and shapes and axis is not None else None
        if one is not None and new is not None:
            change = replaced(source, one.node, new)
            edit = both(edit, change) if edit else change
            changed.append(one.text)
    return (edit if joined.text in changed else None), changed


def assigned_to(joined: Joined) -> str | None:
    statement = joined.source.statement_of(joined.call)
    if not isinstance(statement, ast.Assign) or statement.value is not joined.call:
        return None
    names = [one.id for one in targets(statement) if isinstance(one, ast.Name)]
    return names[0] if len(names) == 1 else None


def padded(joined: Joined, shapes: Shapes, axis: int) -> str | None:
    """The list with each of its members as wide as the widest."""
    text = joined.text
    widest = f"max(one.shape[{axis}] for one in {text})"
    missing = f"{widest} - one.shape[{axis}]"
    module = joined.source.segment(joined.call.func).rpartition(".")[0]
    axes = len(shapes.shapes[0])
    if not module:
        return None
    if shapes.kinds == ["tensor"]:
        behind = "".join("0, 0, " for _ in range(axes - 1 - axis))
        pad = f"torch.nn.functional.pad(one, ({behind}0, {missing}), value={filler(joined)})"
        return f"[{pad} for one in {text}]" if module == "torch" else None
    widths = ", ".join(f"(0, {missing})" if at == axis else "(0, 0)" for at in range(axes))
    return f"[{module}.pad(one, ({widths}), constant_values={filler(joined)}) for one in {text}]"
