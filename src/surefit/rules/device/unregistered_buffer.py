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
The operation that failed was given tensors on two devices, or of two dtypes, and the line names, or
by a second run the tensor was computed from, a tensor that the module holds as a plain attribute,
neither parameter nor buffer, on the device or of the dtype that does not go with the others.

In a script that is only read: a tensor that a module keeps as a plain attribute meets, in its
`forward`, what is on the device that the script has moved the module or its input to. Where the
device depends on the machine, that is so on a machine that has it.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, shape_of
from surefit.evidence.attribute_assignments import Assignment, assignments_of
from surefit.interpreter import violations, wording
from surefit.laws.case import Case, Remedy, use_of
from surefit.laws.contracts.mixed_operands import MixedOperands, TwoDevices, TwoDtypes
from surefit.laws.plain_tensors import PlainTensor, left_behind
from surefit.remedies.change import Change
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


@RULE.on(TwoDevices)
@RULE.on(TwoDtypes)
def attribute_was_left_behind(broken: TwoDevices | TwoDtypes, case: Case) -> Finding | None:
    held = left_behind(broken, case)
    if held is None or case.crash is None:
        return None
    frame = case.crash.frames[held.frame]
    assigned = assignments_of(case.recording, frame, held.name)
    text = f"{frame.arguments[0]}.{held.name}"
    by_device = isinstance(broken, TwoDevices)
    where = "on" if by_device else "in"
    owner = frame.layer.kind if frame.layer else "the module"
    moved = f"`.to({broken.takes!r})`" if by_device else f"the cast to {broken.takes}"
    return case.finding(
        assigned[0].place if assigned else frame.place,
        f"`{text}` of `{owner}` is a plain attribute, no registered buffer, so that {moved}"
        f" left it {where} {broken.has}.",
        facts=(
            Fact(code(text), f"{held.dtype} {shape_of(held.shape)} on {held.device}"),
            Fact("what it meets", f"{where} {broken.takes}"),
            *fact_at("used at", use_of(frame)),
        ),
        why="A module moves and casts its parameters and registered buffers, and nothing else.",
        remedies=remedies(broken, case, held, assigned),
    )


def remedies(
    broken: MixedOperands, case: Case, held: PlainTensor, assigned: list[Assignment]
) -> Iterator[Remedy | Fix]:
    assert case.crash is not None
    frame, name = case.crash.frames[held.frame], held.name
    by_device = isinstance(broken, TwoDevices)
    if held.learned:
        yield Fix(f"If it should be trained: `self.{name} = nn.Parameter(...)`.", choice=True)
    words = (
        f'Register it: `self.register_buffer("{name}", ...)`; with `persistent=False` it stays out'
        " of `state_dict`."
    )
    wanted = Wanted(
        f"{frame.arguments[0]}.{name}",
        held.shape,
        device=broken.takes if by_device else None,
        dtype=held.dtype if by_device else broken.takes,
    )
    edit = registered(assigned[0], name) if len(assigned) == 1 else None
    must = ValuesAt(frame.place, (wanted,))
    yield Change(to=edit, words=words, must=must) if edit else Fix(words, choice=True)


def registered(assigned: Assignment, name: str) -> Edit | None:
    """`self.mask = ...` as a call; not where several names get the same tensor, nor where it is
    set again and again."""
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
