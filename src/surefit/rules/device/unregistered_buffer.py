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
The operation that failed was given tensors on two devices, or of two dtypes, and the odd one is, or
by a second run was computed from, a tensor that the module holds as a plain attribute.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Frame
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, shape_of
from surefit.laws.case import Case, Remedy, use_of
from surefit.laws.contracts.mixed_operands import MixedOperands, PlainTensor, TwoDevices, TwoDtypes
from surefit.laws.layers.plain_tensors import left_behind
from surefit.laws.layers.registration import AttributeAssignment, attribute_assignments
from surefit.remedies.change import Change
from surefit.source.edits import replaced
from surefit.source.patches import Edit

SYMPTOM = Symptom(
    r"same device|not on the expected device|found at least two devices"
    r"|same dtype|expected scalar type|expected m1 and m2",
    "whether one of the tensors is a plain attribute of a module that was moved or cast",
)
RULE = Rule("SF721", "unregistered-buffer", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(TwoDevices)
@RULE.on(TwoDtypes)
def attribute_was_left_behind(broken: TwoDevices | TwoDtypes, case: Case) -> Finding | None:
    held = left_behind(broken, case)
    if held is None:
        return None
    frame = case.crash.frames[held.frame] if case.crash and held.frame is not None else None
    assigned = attribute_assignments(case, owners_of(held, frame), held.name)
    text = f"self.{held.name}"
    by_device = isinstance(broken, TwoDevices)
    where = "on" if by_device else "in"
    moved = f"`.to({broken.takes!r})`" if by_device else f"the cast to {broken.takes}"
    place = frame.place if frame else broken.use.place
    return case.finding(
        assigned[0].place if assigned else place,
        f"`{text}` of `{held.owner}` is a plain attribute, no registered buffer, so that {moved}"
        f" leaves it {where} {broken.has}.",
        facts=(
            Fact(code(text), f"{held.dtype} {shape_of(held.shape)} on {held.device}".strip()),
            Fact("what it meets", f"{where} {broken.takes}"),
            *fact_at("used at", use_of(frame) if frame else broken.use),
        ),
        why="A module moves and casts its parameters and registered buffers, and nothing else.",
        remedies=remedies(broken, held, assigned, place),
    )


def owners_of(held: PlainTensor, frame: Frame | None) -> tuple[str, ...]:
    """The class whose method the frame runs can be one that the module's class inherits from."""
    method = frame.function.rpartition(".")[0].rpartition(".")[2] if frame else ""
    return tuple(dict.fromkeys(name for name in (held.owner, method) if name))


def remedies(
    broken: MixedOperands, held: PlainTensor, assigned: list[AttributeAssignment], place: Place
) -> Iterator[Remedy | Fix]:
    name = held.name
    by_device = isinstance(broken, TwoDevices)
    if held.learned:
        yield Fix(f"If it should be trained: `self.{name} = nn.Parameter(...)`.", choice=True)
    words = (
        f'Register it: `self.register_buffer("{name}", ...)`; with `persistent=False` it stays out'
        " of `state_dict`."
    )
    wanted = Wanted(
        f"self.{name}",
        held.shape,
        device=broken.takes if by_device else None,
        dtype=held.dtype if by_device else broken.takes,
    )
    edit = registered(assigned[0], name) if len(assigned) == 1 else None
    must = ValuesAt(place, (wanted,))
    yield Change(to=edit, words=words, must=must) if edit else Fix(words, choice=True)


def registered(assigned: AttributeAssignment, name: str) -> Edit | None:
    """`self.mask = ...` as a call; not where several names get the same tensor, nor where it is
    set again and again."""
    source, statement = assigned.source, assigned.statement
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if len(targets) != 1 or statement.value is None or isinstance(statement.value, ast.Tuple):
        return None
    if getattr(source.scope_of(statement), "name", "") != "__init__":
        return None
    value = source.segment(statement.value)
    return replaced(source, statement, f'self.register_buffer("{name}", {value})')
