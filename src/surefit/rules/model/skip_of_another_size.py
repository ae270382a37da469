"""A skip connection and the map that it is joined with have other heights, widths or lengths.

## What happens
A pooling of stride 2 turns 25 into 12: it rounds down. Going up again doubles 12 to 24, and the
skip connection from the way down still has 25. A network with n such steps gives back the size that
it was given only for multiples of 2ⁿ. Convolutions without padding take off an edge as well, and a
transposed one of kernel 3 and stride 2 gives one less than the double without `output_padding=1`.

## Why it matters
An even size is not enough, and a size that works at one depth fails after one more pooling. Cutting
or filling pictures by hand changes targets, too, if nobody does the same to the masks.

## What to do
Give the network sizes that are multiples of 2ⁿ, pictures and masks alike; or bring the map to the
size of its skip connection just before they are joined: `F.interpolate(x, size=skip.shape[2:])` or
`F.pad`. For convolutions without padding: `padding="same"`, or crop the skip connection.

## How it is recognised
`torch.cat` or a sum was given maps whose channels fit and whose sides do not. By a second run that
records every operation, the smaller one was made by operations that make the sides smaller by a
factor they are no multiple of, or that take off an edge. Sizes of pictures are looked for among
the numbers of the source.

In a script that is only read: heights and widths are followed through convolutions and poolings
from sizes that stand in the source, and two maps that are joined or added have different ones.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Operation, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of, spoken, times
from surefit.evidence.failed_operations import failure_of
from surefit.evidence.failing_expressions import calls_or_adds
from surefit.evidence.joins import Misjoin, misjoin_of
from surefit.evidence.map_sizes import Change, changes, multiple_of, sides, way_back
from surefit.evidence.written_sizes import where_written
from surefit.interpreter import wording
from surefit.interpreter.violation_kinds import is_of_map_sides
from surefit.interpreter.violations import JoinMismatch
from surefit.source.edits import argument_added, both, inserted_before, replaced, with_import
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

RULE = Rule(
    "SF304",
    "skip-of-another-size",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"Sizes of tensors must match except in dimension"
            r"|size of tensor a \(\d+\) must match the size of tensor b",
            "whether the sizes that differ are sides of maps, and which operation rounded one down",
        ),
    ),
)

ONLY_YOU = "which size your pictures and their targets are to have only you can choose"
MOST_STEPS = 4
FUNCTIONAL = "torch.nn.functional"


@RULE.on(Crash)
def maps_have_other_sides(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame if is_cause(crash, seen) else None
    failure = failure_of(seen, crash) if frame and calls_or_adds(frame) else None
    join = misjoin_of(failure) if failure else None
    if frame is None or join is None or not is_of_maps(join) or len(join.operands) != 2:
        return
    skip, newer = sorted(join.operands, key=lambda one: one.serial)
    found = changes(join.failure, newer)
    short = [one for one in found[:1] if is_short(one, newer, skip)]
    if short:
        yield one_short(crash, seen, frame, join, short[0])
    elif any(one.rounds for one in found):
        yield rounded(crash, seen, frame, join, found)
    elif any(one.takes_off_an_edge for one in found):
        yield without_padding(crash, frame, join, found)


def is_short(change: Change, newer: Operation, skip: Operation) -> bool:
    """A transposed convolution gave a little less than whole steps, which would have fitted."""
    transposed = change.operation.name.startswith("conv_transpose")
    whole = change.grows_to
    return transposed and sides(newer) == change.after and whole == sides(skip) != change.after


def is_of_maps(join: Misjoin) -> bool:
    """Only sides differ; rows and channels fit, or are joined."""
    return set(join.axes) <= set(join.inner_axes) and join.dim in (None, 1 - join.rank)


def rounded(
    crash: Crash, seen: Recording, frame: Frame, join: Misjoin, found: list[Change]
) -> Finding:
    newer = max(join.operands, key=lambda one: one.serial)
    given = sides(list(way_back(join.failure, newer))[-1])
    step = multiple_of(found)
    place = where_written(seen, given) or frame.place
    first = next(one for one in reversed(found) if one.rounds)
    made_by = f"`{first.operation.name}` rounds {times(first.before)} to {times(first.after)}"
    return RULE.finding(
        place,
        f"Each side of {times(given)} must be a multiple of {step}: {made_by}, so that the skip"
        f" connection at {frame.place} is of another size than what it meets.",
        facts=(*facts(frame, join, found), Fact("what it was given", times(given))),
        ruled_out=(Fact("channels", fitting_channels(join)),),
        why="What a pooling or a stride has rounded, going up again does not give back.",
        fixes=(
            Fix(
                f"Crop, pad or resize pictures and targets to multiples of {step}:"
                f" {' or '.join(sizes_near(given, step))}.",
                why_not_tried=ONLY_YOU,
            ),
            *resized(seen, frame, join),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def sizes_near(given: tuple[int, ...], step: int) -> Iterator[str]:
    below = tuple(side // step * step for side in given)
    if all(below):
        yield times(below)
    yield times(tuple(-(-side // step) * step for side in given))


def facts(frame: Frame, join: Misjoin, found: list[Change]) -> Iterator[Fact]:
    shapes = [shape_of(one.shape) for one in join.operands]
    yield Fact("to be joined" if join.joins else "to be added", spoken(shapes))
    yield Fact("at", f"{frame.place}  {frame.line}")
    shown = [one for one in reversed(found) if one.rounds or one.factor > 1]
    for one in shown[:MOST_STEPS]:
        how = ", rounded" if one.rounds else ""
        said = f"{times(one.before)} → {times(one.after)}{how}"
        yield Fact(f"`{one.operation.name}`", f"{said}, {one.operation.place}")


def fitting_channels(join: Misjoin) -> str:
    channels = spoken([str(one.shape[1]) for one in join.operands])
    return f"{channels}, joined along axis 1" if join.joins else f"{channels} fit"


def without_padding(crash: Crash, frame: Frame, join: Misjoin, found: list[Change]) -> Finding:
    small, large = sorted(join.operands, key=sides)
    edges = [one for one in reversed(found) if one.takes_off_an_edge]
    layer = layer_behind(join, edges[0])
    lost = f"{times(edges[0].before)} → {times(edges[0].after)}"
    place = layer or edges[0].operation.place or frame.place
    return RULE.finding(
        place,
        f"`{edges[0].operation.name}` without padding takes an edge off the map ({lost}), so that"
        f" {times(sides(small))} is to be joined with a skip connection of {times(sides(large))}.",
        facts=tuple(facts(frame, join, found)),
        why="A convolution of width k without padding makes each side k - 1 smaller.",
        fixes=(
            Fix(
                'Keep the sides: `padding="same"` (or k // 2) in the convolutions.',
                why_not_tried="every convolution on the way must be decided on",
            ),
            Fix(
                "Or crop the skip connection to the smaller size, and the targets likewise.",
                why_not_tried="what becomes of the edges of your targets only you can choose",
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def one_short(
    crash: Crash, seen: Recording, frame: Frame, join: Misjoin, change: Change
) -> Finding:
    place = layer_behind(join, change) or change.operation.place or frame.place
    missing = max(whole - new for whole, new in zip(change.grows_to, change.after, strict=True))
    gave = f"makes {times(change.after)} of {times(change.before)}"
    return RULE.finding(
        place,
        f"`{change.operation.name}` {gave}, and the skip connection has {times(change.grows_to)}:"
        f" `output_padding={missing}` is missing.",
        facts=tuple(facts(frame, join, [])),
        why="Several sizes give the same result going down; `output_padding` says which was meant.",
        fixes=(
            Fix(
                f"Give the transposed convolution `output_padding={missing}`.",
                *padded(seen, frame, join, place, missing),
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def padded(
    seen: Recording, frame: Frame, join: Misjoin, place: Place, missing: int
) -> tuple[Edit | None, ValuesAt | None, str]:
    """The edit, what it must achieve, and why it cannot be tried."""
    source = seen.source(place)
    calls = list(source.calls_in(place.line or 0)) if source else []
    calls = [one for one in calls if called(one).startswith("ConvTranspose")]
    newer = max(join.operands, key=lambda one: one.serial)
    skip = min(join.operands, key=lambda one: one.serial)
    known = [value for value in frame.values if value.shape == newer.shape]
    if source is None or len(calls) != 1 or not known:
        return None, None, "the call was not found in your source, or its result has no name"
    edit = argument_added(source, calls[0], "output_padding", str(missing))
    wanted = Wanted(known[0].text, (None, None, *sides(skip)))
    return edit, ValuesAt(frame.place, (wanted,)), ""


def layer_behind(join: Misjoin, change: Change) -> Place | None:
    """Where the layer was made that an operation belongs to."""
    weights = [one for one in join.failure.taken(change.operation) if one.layer]
    return weights[0].layer.made_at if weights and weights[0].layer else None


def resized(seen: Recording, frame: Frame, join: Misjoin) -> Iterator[Fix]:
    """Brings the map that came up to the size of the skip connection, where they are joined."""
    newer = max(range(2), key=lambda at: join.operands[at].serial)
    source = seen.source(frame.place)
    pair = written_pair(source, frame) if source else None
    if source is None or pair is None:
        return
    grown, other = pair[newer], source.segment(pair[1 - newer])
    edit = brought_to(source, grown, other) if is_simple(pair[1 - newer]) else None
    yield Fix(
        f"Or bring {code(source.segment(grown))} to the size of {code(other)} before they meet:"
        f" `F.interpolate(..., size={other}.shape[2:])`; rows and targets stay as they are.",
        edit,
        why_not_tried="whether a map is stretched, padded or cut only you can choose",
    )


def written_pair(source: Source, frame: Frame) -> list[ast.expr] | None:
    """The two operands as the failing expression writes them."""
    node = source.expression_at(frame.span) if frame.span else None
    match node:
        case ast.Call(args=[ast.List(elts=items) | ast.Tuple(elts=items), *_]) if len(items) == 2:
            return items
        case ast.BinOp(left=left, right=right):
            return [left, right]
    return None


def is_simple(node: ast.expr) -> bool:
    """Reading it twice does nothing twice."""
    return all(
        isinstance(one, ast.Name | ast.Attribute | ast.Subscript | ast.Constant | ast.expr_context)
        for one in ast.walk(node)
    )


def brought_to(source: Source, grown: ast.expr, other: str) -> Edit | None:
    """A line before the statement that gives the map its new size under a name."""
    statement = source.statement_of(grown)
    if hasattr(statement, "body") or inside_a_function(source, grown, statement):
        return None
    function = "F.interpolate" if imports_f(source) else "interpolate"
    is_name = isinstance(grown, ast.Name)
    name = source.segment(grown) if is_name else unused(source, "resized")
    line = f"{name} = {function}({source.segment(grown)}, size={other}.shape[2:])"
    try:
        edit = inserted_before(source, statement, line)
    except ValueError:
        return None
    if not is_name:
        edit = both(edit, replaced(source, grown, name))
    if function == "interpolate":
        edit = with_import(edit, source, FUNCTIONAL, "interpolate")
    return edit


def inside_a_function(source: Source, node: ast.expr, statement: ast.stmt) -> bool:
    """Of a lambda or a comprehension, whose names the line before does not know."""
    for outer in source.up(node):
        if outer is statement:
            return False
        if isinstance(outer, ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.DictComp):
            return True
    return False


def imports_f(source: Source) -> bool:
    names = (FUNCTIONAL, "functional")
    return any(one.asname == "F" and one.name in names for one in source.every(ast.alias))


def unused(source: Source, name: str) -> str:
    taken = {node.id for node in source.every(ast.Name)}
    return name if name not in taken else f"{name}_map"


@RULE.on(Script)
def sides_in_the_source_differ(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, JoinMismatch):
        if not is_of_map_sides(one):
            continue
        names = [wording.text_of(source, node) for node in one.nodes]
        shapes = [str(tensor.shape) for tensor in one.tensors]
        yield RULE.finding(
            wording.place_of(source, one.node),
            f"{names[0]} is {shapes[0]} and {names[1]} is {shapes[1]}: the skip connection is of"
            " another size than what it meets.",
            why="A pooling of stride 2 rounds down, and going up again doubles what is left.",
            fixes=(
                Fix(
                    "Pad the pictures to a multiple of 2 for each step down, or bring the one map"
                    " to the size of the other before they are joined (`F.interpolate`, `F.pad`).",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
