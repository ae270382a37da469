"""A module keeps a tensor as a plain attribute, so that `.to()` leaves it behind.

## What happens
`model.to(device)` and `model.half()` move and cast the parameters and the registered buffers of a
model, and nothing else. A mask or a table of positions that is set by `self.mask = torch.ones(...)`
is neither: it stays on the CPU, in float32, while inputs and weights go elsewhere.

## Why it matters
It works on the machine without a GPU and fails on the one with it. Moving it in `forward` copies
it from the host at every step, and it is missing from `state_dict` all the same.

## What to do
`self.register_buffer("mask", ...)` in place of the assignment. With `persistent=False` it moves
with the model and stays out of `state_dict`, so that older checkpoints still load.

## How it is recognised
The operation that failed was given tensors on two devices, or of two dtypes, and by a second run
that records every operation one of them was made from a tensor that the module holds as a plain
attribute, neither parameter nor buffer, and that `forward` reads. The attribute is on the device,
or of the dtype, that does not go with the weights.

In a script that is only read: a tensor that a module keeps as a plain attribute meets, in its
`forward`, what is on the device that the script has moved the module or its input to. Where the
device depends on the machine, that is so on a machine that has it.
"""

import ast
from collections.abc import Iterator, Sequence

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Crash, Frame, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of
from surefit.evidence.attribute_assignments import Assignment, assignments_of
from surefit.evidence.failed_operations import failure_of
from surefit.evidence.plain_attributes import Attribute, left_behind
from surefit.evidence.strays import Stray, stray_device, stray_dtype
from surefit.evidence.two_kinds import several_devices, several_dtypes
from surefit.interpreter import violations, wording
from surefit.source.edits import replaced
from surefit.source.patches import Edit

RULE = Rule(
    "SF721",
    "unregistered-buffer",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"same device|not on the expected device|found at least two devices"
            r"|same dtype|expected scalar type|expected m1 and m2",
            "whether one of the tensors is a plain attribute of a module that was moved or cast",
        ),
    ),
)


@RULE.on(Crash)
def attribute_was_left_behind(crash: Crash, seen: Recording) -> Iterator[Finding]:
    if not is_cause(crash, seen):
        return
    by_device, by_dtype = several_devices(crash), several_dtypes(crash)
    failure = failure_of(seen, crash) if by_device or by_dtype else None
    if failure is None:
        return
    stray = stray_device(failure) or stray_dtype(failure)
    found = list(left_behind(crash, seen, stray, failure)) if stray else []
    if stray is None or len(found) != 1:
        return
    yield from finding(crash, seen, stray, found[0])


def finding(crash: Crash, seen: Recording, stray: Stray, attribute: Attribute) -> Iterator[Finding]:
    frame = crash.frames[attribute.at]
    assigned = assignments_of(seen, frame, attribute.name)
    text = f"{frame.arguments[0]}.{attribute.name}"
    by_device = stray.is_ == attribute.device
    where = "on" if by_device else "in"
    owner = frame.layer.kind if frame.layer else "the module"
    moved = f"`.to({stray.wanted!r})`" if by_device else f"the cast to {stray.wanted}"
    yield RULE.finding(
        assigned[0].place if assigned else frame.place,
        f"`{text}` of `{owner}` is a plain attribute, no registered buffer, so that {moved}"
        f" left it {where} {stray.is_}.",
        facts=(
            Fact(
                code(text), f"{attribute.dtype} {shape_of(attribute.shape)} on {attribute.device}"
            ),
            Fact("what it meets", f"{where} {stray.wanted}"),
            Fact("used at", f"{frame.place}  {frame.line}"),
        ),
        why="A module moves and casts its parameters and registered buffers, and nothing else.",
        fixes=tuple(fixes(frame, attribute, stray, assigned, by_device)),
        python_said=crash.said,
        about=crash.id,
    )


def fixes(
    frame: Frame,
    attribute: Attribute,
    stray: Stray,
    assigned: Sequence[Assignment],
    by_device: bool,
) -> Iterator[Fix]:
    name = attribute.name
    if attribute.learned:
        text = f"`self.{name} = nn.Parameter(...)`"
        why = "whether it is to be trained only you know"
        yield Fix(f"It needs a gradient: if it is to be trained, {text}.", why_not_tried=why)
    edit = registered(assigned[0], name) if len(assigned) == 1 else None
    wanted = Wanted(
        f"{frame.arguments[0]}.{name}",
        attribute.shape,
        device=stray.wanted if by_device else None,
        dtype=attribute.dtype if by_device else stray.wanted,
    )
    yield Fix(
        f'Register it: `self.register_buffer("{name}", ...)`; with `persistent=False` it stays'
        " out of `state_dict`.",
        edit,
        ValuesAt(frame.place, (wanted,)),
        "" if edit else "it is set elsewhere than once in `__init__`",
    )


def registered(assigned: Assignment, name: str) -> Edit | None:
    """`self.mask = ...` as a call; not where several names get the same tensor, nor where it is
    set anew again and again."""
    source, statement = assigned.source, assigned.statement
    if len(statement.targets) != 1 or isinstance(statement.value, ast.Tuple):
        return None
    if getattr(source.scope_of(statement), "name", "") != "__init__":
        return None
    owner = source.segment(assigned.target.value)
    value = source.segment(statement.value)
    return replaced(source, statement, f'{owner}.register_buffer("{name}", {value})')


@RULE.on(Script)
def plain_attribute_in_the_source_stays(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.DeviceMismatch):
        attribute = wording.attribute_assignment(source, one.left_node)
        if attribute is None:
            continue
        owner, statement, target = attribute
        yield RULE.finding(
            wording.place_of(source, statement),
            f"`self.{target.attr}` of `{owner.name}` is a plain attribute, no registered buffer, so"
            f" that it stays on the CPU while the model is moved to `{one.moved}`.",
            facts=(Fact("used at", wording.line_at(source, one.node)),),
            why="`.to()` moves parameters and registered buffers, and nothing else.",
            fixes=(
                Fix(
                    f'Register it: `self.register_buffer("{target.attr}", ...)`; with'
                    " `persistent=False` it stays out of `state_dict`.",
                    registered(Assignment(source, statement, target), target.attr),
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
