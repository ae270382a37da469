"""Adapters were to be put on layers that the model does not have.

## What happens
PEFT finds layers by the last part of their names, which every architecture has of its own: `q_proj`
in Llama, `c_attn` in GPT-2, `query` in BERT. And a list that a script collects by
`isinstance(module, nn.Linear)` is empty for GPT-2, whose projections are `Conv1D`.

## Why it matters
Names copied from a tutorial for another model match nothing. Where some of them match, PEFT says
nothing, and the others are simply not trained.

## What to do
Name layers that this model has; or leave `target_modules` out, and PEFT takes its own choice for a
known architecture; or `target_modules="all-linear"`, which knows `Conv1D`, too.

## How it is recognised
PEFT was putting adapters into a model, and none of the names asked for is the last part of the name
of one of its layers, or none was asked for. In a script that is only read: the names are written
out, and the model is created in the file or of an architecture that surefit knows.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.adapters import AdaptersMove
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted, some, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.adapters import TARGETS, AskedTargets, TargetsWithoutLayers
from surefit.remedies.arguments import DropArgument, SetArgument
from surefit.remedies.replace import ReplaceWith
from surefit.source.reading import called

SYMPTOM = Symptom(
    r"[Tt]arget.modules .*(not found|passed)|No modules were targeted",
    "the names of the layers that the model has",
    passed=r"peft",
)
RULE = Rule("SF320", "adapter-targets-missing", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

CONV1D = "transformers.pytorch_utils"


@RULE.on(TargetsWithoutLayers)
def no_layer_has_such_a_name(broken: TargetsWithoutLayers, case: Case) -> Finding:
    targets, collects = broken.targets, collecting_test(broken, case)
    place = collects or broken.names or broken.config or broken.use
    usual = ", ".join(targets.usual)
    return case.finding(
        place.place,
        headline(targets),
        facts=(
            Fact(f"`{TARGETS}`", ", ".join(targets.asked) or "none"),
            *(
                Fact(f"`{name}`", spoken([f"{count} of {kind}" for kind, count in kinds.items()]))
                for name, kinds in list(targets.adaptable.items())[:6]
            ),
            *([Fact(f"PEFT's own choice for {targets.type}", usual)] if usual else []),
        ),
        why=f"The projections of `{targets.model}` are `Conv1D` layers of transformers, not"
        " `nn.Linear`: the test that collects the names leaves all of them out."
        if collects is not None and conv1d_names(targets)
        else "PEFT matches the last part of a layer's name, and every architecture has its own"
        " names.",
        remedies=remedies(broken, collects),
    )


def headline(targets: AskedTargets) -> str:
    names = [f"`{name}`" for name in targets.asked[:4]]
    has = some(targets.adaptable)
    if not names:
        return f"`{TARGETS}` is empty, and `{targets.model}` has layers to adapt: {has}."
    listed = spoken(names).replace(" and ", " or ")
    return f"`{targets.model}` has no layer named {listed}; it has {has}."


def conv1d_names(targets: AskedTargets) -> list[str]:
    return [name for name, kinds in targets.adaptable.items() if "Conv1D" in kinds]


def collecting_test(broken: TargetsWithoutLayers, case: Case) -> Expression | None:
    """The class in `isinstance(module, nn.Linear)`, in the function that collects the names."""
    node, source = case.node(broken.names), case.source(broken.names)
    if source is None or node is None or isinstance(node, ast.List | ast.Tuple | ast.Set):
        return None
    scope = source.scope_of(node)
    around = node if isinstance(scope, ast.Module) else scope
    kinds = [
        call.args[1]
        for call in ast.walk(around)
        if isinstance(call, ast.Call) and called(call) == "isinstance" and len(call.args) == 2
    ]
    linear = [kind for kind in kinds if source.segment(kind).rpartition(".")[2] == "Linear"]
    return case.expression(source, linear[0]) if len(linear) == 1 else None


def remedies(broken: TargetsWithoutLayers, collects: Expression | None) -> Iterator[Remedy | None]:
    targets, moved = broken.targets, AdaptersMove()
    if collects is not None and conv1d_names(targets):
        yield ReplaceWith(
            at=collects,
            text=f"({collects.text}, Conv1D)",
            words=f"Collect `Conv1D` layers, too: {some(conv1d_names(targets))}.",
            must=moved,
            imports=(CONV1D, "Conv1D"),
        )
    elif targets.usual:
        usual = spoken([f"`{name}`" for name in targets.usual])
        words = f"Leave `{TARGETS}` out, and PEFT takes {usual}, its own choice for {targets.type}."
        yield DropArgument(at=broken.config, name=TARGETS, words=words, must=moved)
        listed = ", ".join(f'"{name}"' for name in targets.usual)
        words = f"Name {usual}, which PEFT itself chooses for {targets.type}."
        yield ReplaceWith(at=broken.names, text=f"[{listed}]", words=words, must=moved)
    count = counted(sum(sum(kinds.values()) for kinds in targets.adaptable.values()), "layer")
    yield SetArgument(
        at=broken.config,
        name=TARGETS,
        value='"all-linear"',
        words=f'Adapt all of them: `{TARGETS}="all-linear"`, {count}.',
        must=moved,
        choice=True,
    )
