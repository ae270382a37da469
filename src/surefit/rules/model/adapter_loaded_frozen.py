"""An adapter was loaded frozen, for inference, and should be trained: `is_trainable` is missing.

## What happens
`PeftModel.from_pretrained` and `load_adapter` load an adapter for inference unless they are told
`is_trainable=True`; so does a configuration with `inference_mode=True`. Every parameter is frozen
then. Where inputs are made to require grad, as gradient checkpointing needs, `backward` runs all
the same.

## Why it matters
The second stage of a training ends with the adapter that it began with, without an error.

## What to do
`PeftModel.from_pretrained(model, folder, is_trainable=True)`.

## How it is recognised
None of the tensors that an optimizer holds requires grad, at every step that was looked at, and the
model has an adapter of PEFT whose configuration is in inference mode.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.measures.weights_learn import Adapters, AdapterSeen
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.weights_learn import FrozenWeights
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import SetArgument
from surefit.source.reading import Source, called

RULE = Rule("SF331", "adapter-loaded-frozen", Severity.ERROR, __doc__)


@RULE.on(FrozenWeights)
def adapter_is_in_inference_mode(broken: FrozenWeights, case: Case) -> Finding | None:
    adapter = frozen_adapter(case)
    if adapter is None:
        return None
    settings = list(switched_off(case))
    loads = [] if settings else list(loading_calls(case, adapter))
    call = next(iter(settings or loads), None)
    name, value = ("inference_mode", "False") if settings else ("is_trainable", "True")
    what = f"`{name}={value}` is missing" if loads else f"it has `{name}=True`"
    remedies: list[Remedy] = []
    if call is not None:
        words = f"Load it to be trained: `{name}={value}`."
        must = law_holds(broken)
        remedies = [SetArgument(at=call, name=name, value=value, words=words, must=must)]
    place = call.place if call is not None else adapter.made_at or broken.use.place
    return case.finding(
        place,
        f"The adapter was loaded frozen, for inference ({what}): none of the"
        f" {counted(broken.held.tensors, 'tensor')} that {broken.name} holds requires grad.",
        facts=(
            Fact("the adapter", f"{adapter.kind} on `{adapter.model}`, in inference mode"),
            Fact("gradients", f"None in all tensors, at each of {broken.held.empty:,} steps"),
            *broken.facts,
        ),
        why="PEFT loads an adapter for inference unless it is told otherwise, and freezes it:"
        " `requires_grad` is False in all of it. An optimizer passes over tensors without a"
        " gradient.",
        remedies=remedies,
    )


def frozen_adapter(case: Case) -> AdapterSeen | None:
    every = [adapter for measure in case.recording.all(Adapters) for adapter in measure.adapters]
    return next((adapter for adapter in reversed(every) if adapter.frozen), None)


def loading_calls(case: Case, adapter: AdapterSeen) -> Iterator[Expression]:
    """Calls that load an adapter and do not say that it is to be trained; that at the line where
    the adapter was made before others."""
    found: list[tuple[Source, ast.Call]] = []
    for source, call in case.recording.every(ast.Call):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        peft = owner is not None and "Peft" in source.segment(owner)
        loads = called(call) == "load_adapter" or (called(call) == "from_pretrained" and peft)
        if loads and source.argument(call, "is_trainable", 3) is None:
            found.append((source, call))
    at = adapter.made_at.line if adapter.made_at else None
    found.sort(key=lambda pair: not pair[1].lineno <= (at or 0) <= (pair[1].end_lineno or 0))
    yield from (case.expression(source, call) for source, call in found)


def switched_off(case: Case) -> Iterator[Expression]:
    for source, call in case.recording.every(ast.Call):
        value = source.argument(call, "inference_mode")
        if isinstance(value, ast.Constant) and value.value is True:
            yield case.expression(source, call)
