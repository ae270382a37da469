"""A module was created without data, and moved before everything in it had some.

## What happens
Under `with torch.device("meta")` and `init_empty_weights()` a module is created without memory for
its parameters and buffers. Loading with `assign=True` puts tensors in their place; a buffer that is
in no checkpoint (`persistent=False`) stays empty, and `model.to(device)` fails.

## Why it matters
`to_empty`, which the message suggests, gives memory with whatever values it held.

## What to do
Create the module outside of the context, or only the parameters inside (`init_empty_weights()` does
that); load with `assign=True`. After `to_empty`, initialise or load every tensor, buffers too.

## How it is recognised
A module's own method that goes through all its tensors failed, and some of these are on the meta
device. Which they are says whether nothing was loaded, or only buffers are left.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.training import TrainingGoesOn
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, fact_at
from surefit.doctor.words import counted, some, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.module_data import ModuleWithoutData
from surefit.remedies.arguments import SetArgument
from surefit.remedies.change import Change
from surefit.source.blocks import unwrapped
from surefit.source.reading import Source, called

SYMPTOM = Symptom(
    "Cannot copy out of meta tensor",
    "which parameters and buffers of the module have no data, and where it was created",
)
RULE = Rule("SF723", "module-without-data", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

EMPTY = ("init_empty_weights", "init_on_device", "device", "skip_init")


@RULE.on(ModuleWithoutData)
def moved_module_has_tensors_without_data(broken: ModuleWithoutData, case: Case) -> Finding:
    without = broken.without
    constructor = case.constructor(broken.layer)
    block = context_of(case, constructor) if constructor else None
    loaded = not without.parameters
    counts = {"parameter": len(without.parameters), "buffer": len(without.buffers)}
    shown = spoken([counted(count, kind) for kind, count in counts.items() if count])
    return case.finding(
        (block[1] if block else constructor or broken.use).place,
        f"{broken.name} is moved, and has {shown} without data, on the meta device.",
        facts=(
            Fact("parameters without data", some(without.parameters) if not loaded else "none"),
            Fact("buffers without data", some(without.buffers) if without.buffers else "none"),
            *fact_at("created at", constructor),
            *fact_at("moved at", broken.use),
        ),
        why="A checkpoint has no buffers that are not persistent: what was created without data has"
        " none after loading, either."
        if loaded
        else "Moving copies data, and there is none to copy. `to_empty` would give memory without"
        " values.",
        remedies=remedies(case, without.parameters, block),
    )


def context_of(
    case: Case, constructor: Expression
) -> tuple[tuple[Source, ast.With], Expression] | None:
    """The block around a constructor under which modules get no data, and its head."""
    source, node = case.source(constructor.place), case.node(constructor)
    for outer in source.up(node) if source and node else ():
        if isinstance(outer, ast.With) and source is not None:
            for item in outer.items:
                head = item.context_expr
                if isinstance(head, ast.Call) and called(head) in EMPTY:
                    return (source, outer), case.expression(source, head)
    return None


def remedies(
    case: Case,
    parameters: tuple[str, ...],
    block: tuple[tuple[Source, ast.With], Expression] | None,
) -> Iterator[Remedy | Fix]:
    must = TrainingGoesOn(changes_the_past=True)
    for load in loads_without_assigning(case, block[0][0]) if parameters and block else ():
        words = "Put the loaded tensors in place of the empty ones: `assign=True`."
        yield SetArgument(at=load, name="assign", value="True", words=words, must=must)
    edit = unwrapped(*block[0]) if block else None
    words = "Create the module with data: outside of this block."
    yield Change(to=edit, words=words, must=must) if edit else Fix(words, choice=True)
    yield Fix(
        "Or `to_empty(device=...)`, and initialise or load every parameter and buffer after it.",
        choice=True,
    )


def loads_without_assigning(case: Case, source: Source) -> Iterator[Expression]:
    for call in source.calls_named("load_state_dict"):
        if source.argument(call, "assign") is None:
            yield case.expression(source, call)
