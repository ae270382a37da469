"""A tensor or a model was not moved to the device that everything else is on.

## What happens
An operation takes tensors of one device. Batches come from a loader on the CPU and must be moved,
each tensor of them; a tensor made inside `forward` without `device=` is on the CPU, wherever the
model is; `model.to(device)` moves a model, and a tensor's `.to` gives back another tensor.

## Why it matters
It fails only where there is a second device, which is where time is dear.

## What to do
Move every tensor of a batch before the model is called (`labels = labels.to(device)`), make tensors
where their neighbours are (`torch.zeros(n, device=x.device)`, `x.new_zeros(n)`), and move the model
before the optimizer is made.

## How it is recognised
The operation that failed was given tensors on two devices. By a second run that records every
operation the one that is not where the weights are is followed back to where it was made: in a
method of a module, or outside. Weights on the CPU that meet inputs which your code has moved are a
model that was not. Tensors that a module holds as plain attributes are another rule's
(unregistered-buffer).

In a script that is only read: a tensor that is certain to be on the CPU meets one that the script
has moved to another device; or a statement moves a tensor and drops the result. Where the device
depends on the machine, that is so on a machine that has it.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Operation, Script, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of
from surefit.evidence.failed_operations import Failure, failure_of
from surefit.evidence.failing_expressions import assigned_to
from surefit.evidence.layer_names import name
from surefit.evidence.plain_attributes import left_behind
from surefit.evidence.stray_names import Named, names_of, outside_the_model
from surefit.evidence.strays import PARAMETER, Stray, stray_device
from surefit.evidence.two_kinds import several_devices
from surefit.evidence.value_stories import line_of
from surefit.interpreter import violations, wording
from surefit.source.edits import appended, argument_added, inserted_after, inserted_before, wrapped
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

RULE = Rule(
    "SF722",
    "tensor-not-moved",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"same device|not on the expected device|found at least two devices"
            r"|indices should be either on",
            "which of the tensors is not where the weights are, and where it was made",
        ),
    ),
)

FACTORIES = (
    "zeros",
    "ones",
    "full",
    "rand",
    "randn",
    "randint",
    "arange",
    "linspace",
    "empty",
    "eye",
    "tensor",
    "as_tensor",
    "randperm",
    "tril_indices",
)
MOVES = ("to", "cuda", "xpu", "mps")


@RULE.on(Crash)
def devices_differ(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame if is_cause(crash, seen) else None
    failure = failure_of(seen, crash) if frame and several_devices(crash) else None
    stray = stray_device(failure) if failure else None
    if frame is None or failure is None or stray is None:
        return
    if any(True for _ in left_behind(crash, seen, stray, failure)):
        return  # unregistered-buffer speaks of that
    if stray.wanted == "cpu" or stray.operand.name == PARAMETER:
        yield from model_was_not_moved(crash, seen, frame, failure, stray)
    elif is_made_inside(seen, stray.origin):
        yield made_elsewhere(crash, seen, frame, stray)
    else:
        yield from was_not_moved(crash, seen, stray)


def is_made_inside(seen: Recording, origin: Operation) -> bool:
    """By a call in a method of a class, other than the one that makes its objects."""
    source = seen.source(origin.place) if origin.own else None
    call = call_of(source, origin) if source else None
    if source is None or call is None or origin.name not in FACTORIES:
        return False
    function = source.scope_of(call)
    owner = source.parents.get(function)
    is_method = isinstance(owner, ast.ClassDef) and isinstance(function, ast.FunctionDef)
    return is_method and getattr(function, "name", "") not in ("__init__", "__getitem__")


def call_of(source: Source, origin: Operation) -> ast.Call | None:
    line = origin.place.line if origin.place else None
    found = [one for one in source.calls_in(line) if called(one) == origin.name] if line else []
    return found[0] if len(found) == 1 else None


def made_elsewhere(crash: Crash, seen: Recording, frame: Frame, stray: Stray) -> Finding:
    origin = stray.origin
    source = seen.source(origin.place)
    call = call_of(source, origin) if source else None
    assert source is not None
    assert call is not None
    beside = neighbour(crash, origin, stray.wanted)
    device = f"{beside}.device" if beside else repr(stray.wanted)
    return RULE.finding(
        Place(source.file, call.lineno, call.end_lineno),
        f"{code(source.segment(call))} makes a tensor on {stray.is_}, and it meets one on"
        f" {stray.wanted} at {frame.place}.",
        facts=(
            Fact("made", f"{stray.is_} {shape_of(origin.shape)}, {origin.place}"),
            Fact("met at", f"{frame.place}  {frame.line}"),
        ),
        why="A tensor is made on the CPU unless the call says where.",
        fixes=(
            Fix(
                f"Make it where its neighbours are: `device={device}`.",
                argument_added(source, call, "device", device),
                watched(crash, frame, stray),
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def neighbour(crash: Crash, origin: Operation, wanted: str) -> str | None:
    """An argument of the function that made it, on the wanted device."""
    line = origin.place.line if origin.place else None
    file = origin.place.file if origin.place else ""
    for frame in reversed(crash.frames):
        near = frame.own and frame.place.file == file and line and frame.place.line
        if near and abs((frame.place.line or 0) - (line or 0)) < NEAR:
            values = {value.text: value for value in frame.values}
            given = [values[text] for text in frame.arguments if text in values]
            fitting = [one.text for one in given if one.device == wanted]
            if fitting:
                return fitting[0]
    return None


NEAR = 40
"""Lines: the frame that failed and the one that made the tensor are of one method."""


def watched(crash: Crash, frame: Frame, stray: Stray) -> ValuesAt | None:
    """The tensor by its name on the failing line, or what the line gives a name to."""
    here = [one for one in names_of(crash, stray.operand) if one.frame is frame]
    if here:
        wanted = Wanted(here[0].text, stray.operand.shape, device=stray.wanted)
        return ValuesAt(frame.place, (wanted,))
    target = assigned_to(frame)
    return result_on(frame, target, stray.wanted) if target else None


def result_on(frame: Frame, target: str, device: str) -> ValuesAt:
    return ValuesAt(frame.place, (Wanted(target, device=device),), after=True)


@dataclass(frozen=True, slots=True)
class Moved:
    """A statement that moves something, and the device as it writes it."""

    statement: ast.stmt
    device: str


def was_not_moved(crash: Crash, seen: Recording, stray: Stray) -> Iterator[Finding]:
    names = names_of(crash, stray.operand)
    known = outside_the_model(names) or (names[0] if names else None)
    source = seen.source(known.frame.place) if known else None
    statement = source.statement_at(known.frame.place.line or 0) if source and known else None
    if known is None or source is None or statement is None:
        return
    beside = moved_before(source, statement)
    device = beside.device if beside else device_there(known, stray.wanted)
    text = f"{known.text} = {known.text}.to({device})"
    place = Place(source.file, beside.statement.lineno) if beside else known.frame.place
    yield RULE.finding(
        place,
        f"{code(known.text)} is on {stray.is_}, and the model is on {stray.wanted}: it was not"
        " moved.",
        facts=(
            Fact(code(known.text), f"{shape_of(known.value.shape or ())} on {known.value.device}"),
            Fact("used at", f"{known.frame.place}  {known.frame.line}"),
            *moved_beside(source, beside),
        ),
        why="Every tensor of a batch is moved on its own, and `.to` gives back another tensor.",
        fixes=(
            Fix(
                f"Move it before it is used: {code(text)}.",
                moving(source, statement, beside, text),
                ValuesAt(
                    known.frame.place,
                    (Wanted(known.text, known.value.shape, device=stray.wanted),),
                ),
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def moving(source: Source, statement: ast.stmt, beside: Moved | None, text: str) -> Edit | None:
    try:
        if beside is not None:
            return inserted_after(source, beside.statement, text)
        return None if hasattr(statement, "body") else inserted_before(source, statement, text)
    except ValueError:
        return None


def moved_beside(source: Source, beside: Moved | None) -> Iterator[Fact]:
    if beside is not None:
        text = " ".join(source.segment(beside.statement).split())
        yield Fact("moved beside it", f"{source.file}:{beside.statement.lineno}  {text}")


def moved_before(source: Source, statement: ast.stmt) -> Moved | None:
    """The last statement before, in the same block, that moves another tensor."""
    block = next(
        (
            members
            for _, members in ast.iter_fields(source.parents[statement])
            if isinstance(members, list) and statement in members
        ),
        [statement],
    )
    for earlier in reversed(block[: block.index(statement)]):
        match earlier:
            case ast.Assign(value=ast.Call(func=ast.Attribute(attr="to"), args=[device])):
                return Moved(earlier, source.segment(device))
    return None


def device_there(known: Named, wanted: str) -> str:
    """A name that the frame has for a device, or that of a module's weights."""
    devices = [one.text for one in known.frame.values if one.kind == "device"]
    plain = [one for one in devices if one.isidentifier()]
    texts = [one.text for one in known.frame.values if one.scalar == wanted]
    modules = [one.text for one in known.frame.values if one.layer and one.text.isidentifier()]
    if plain or texts:
        return (plain or texts)[0]
    return f"next({modules[0]}.parameters()).device" if modules else repr(wanted)


def model_was_not_moved(
    crash: Crash, seen: Recording, frame: Frame, failure: Failure, stray: Stray
) -> Iterator[Finding]:
    """The input was moved, or made, on another device than the weights are on."""
    weights = [one for one in failure.given if one.name == PARAMETER and one.layer]
    layer = weights[0].layer if weights else None
    device = stray.is_ if stray.wanted == "cpu" else stray.wanted
    if layer is None:
        return
    elsewhere = {one.device for one in failure.before if one.name == PARAMETER}
    root = root_value(crash, layer.root) if len(elsewhere) == 1 else None
    made_at = (root.layer.made_at if root and root.layer else None) or layer.made_at
    what = code(root.text) if root else name(layer)
    moved = moved_to(seen, stray)
    source = seen.source(made_at)
    kind = root.layer.kind if root and root.layer else layer.kind
    edit = moved_when_made(source, made_at, kind, moved) if source and moved else None
    yield RULE.finding(
        made_at or frame.place,
        f"{what} is on cpu, and what it is given is on {device}: it was not moved.",
        facts=(
            Fact(name(layer), "weights on cpu"),
            Fact("its input", f"{shape_of(stray.operand.shape)} on {device}"),
            *where_from(seen, stray),
        ),
        why="Moving the data does not move the weights.",
        fixes=(
            Fix(
                f"Move it when it is made, before the optimizer: `.to({moved or device!r})`."
                if not moved
                else f"Move it when it is made, before the optimizer: `.to({moved})`.",
                edit,
                weights_on(frame, device) if edit else None,
                "" if edit else "where it is made could not be found",
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def where_from(seen: Recording, stray: Stray) -> Iterator[Fact]:
    if stray.origin.own and stray.origin.place:
        yield Fact("moved at", f"{stray.origin.place}  {line_of(stray.origin, seen)}")


def root_value(crash: Crash, root: str | None) -> Value | None:
    """The whole model, under the name that the outermost own frame has for it."""
    for frame in crash.frames:
        for value in frame.values if frame.own else ():
            if value.layer and value.layer.kind == root and value.layer.made_at:
                return value
    return None


def moved_to(seen: Recording, stray: Stray) -> str:
    """The device as the line writes it that moved the input."""
    source = seen.source(stray.origin.place) if stray.origin.own else None
    call = call_of(source, stray.origin) if source else None
    if source is None or call is None:
        return ""
    if stray.origin.name in MOVES and call.args:
        return source.segment(call.args[0])
    device = source.argument(call, "device")
    return source.segment(device) if device is not None else ""


def moved_when_made(source: Source, made_at: Place | None, kind: str, device: str) -> Edit | None:
    line = made_at.line if made_at else None
    calls = [one for one in source.calls_in(line) if called(one) == kind] if line else []
    return appended(source, calls[0], f".to({device})") if len(calls) == 1 else None


def weights_on(frame: Frame, device: str) -> ValuesAt | None:
    """A weight of a layer that the failing line names; or the result, where that has a name."""
    named = [one for one in frame.values if one.layer and "weight" in one.layer.parameters]
    if named:
        return ValuesAt(frame.place, (Wanted(f"{named[0].text}.weight", device=device),))
    target = assigned_to(frame)
    return result_on(frame, target, device) if target else None


@RULE.on(Script)
def tensor_in_the_source_is_not_moved(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.DeviceMismatch):
        if wording.attribute_assignment(source, one.left_node) is not None:
            continue
        name = wording.text_of(source, one.left_node)
        move = wording.last_move_before(source, one.node)
        yield RULE.finding(
            wording.place_of(source, move or one.node),
            f"{name} is on the CPU, and what it meets at line"
            f" {wording.place_of(source, one.node).line}"
            f" was moved to `{one.moved}`.",
            facts=(Fact("used at", wording.line_at(source, one.node)),),
            why="Every tensor is moved on its own, and an operation takes tensors of one device.",
            fixes=(Fix(f"Move {name}, too: `.to(...)`.", why_not_tried=wording.ONLY_READ),),
            severity=Severity.WARNING,
        )


@RULE.on(Script)
def moved_tensor_is_dropped(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.MoveDiscarded):
        owner = one.node.func.value if isinstance(one.node.func, ast.Attribute) else one.node
        name = source.segment(owner)
        yield RULE.finding(
            wording.place_of(source, one.node),
            f"{wording.text_of(source, one.node)} gives back another tensor, which is dropped:"
            f" `{name}`"
            " stays where it is.",
            why="`.to` moves a model in place, and a tensor never.",
            fixes=(
                Fix(
                    f"Keep the result: `{name} = {source.segment(one.node)}`.",
                    wrapped(source, one.node, f"{name} = ", ""),
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
