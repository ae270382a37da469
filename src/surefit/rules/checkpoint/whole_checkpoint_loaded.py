"""A whole checkpoint was given to `load_state_dict`; the model's state dict is one entry of it.

## What happens
A checkpoint often holds several things: the model's state dict, the optimizer's, an epoch. Given to
the model as it is, its entries (`model_state_dict`, `epoch`) are taken for names of tensors.

## Why it matters
With `strict=False` it passes, nothing is loaded, and training begins from random weights.

## What to do
Take the entry out: `model.load_state_dict(checkpoint["model_state_dict"])`.

## How it is recognised
One entry of what was given is a mapping with exactly the names and shapes of the model.

In a script that is only read: `load_state_dict` is given a dict that the script saved, and one
entry of it is the state dict of that very model.
"""

from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.re_executed import ReExecuted
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Crash, Question, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import counted, some, spoken
from surefit.evidence.state_dicts import key_of_the_module, loader_call, loading_in
from surefit.interpreter import violations, wording
from surefit.source.edits import appended

RULE = Rule(
    "SF902",
    "whole-checkpoint-loaded",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"(Missing|Unexpected) key\(s\) in state_dict",
            "whether the model's state dict is one entry of what was given",
        ),
    ),
)


@RULE.on(Crash)
def state_dict_is_an_entry(crash: Crash, seen: Recording) -> Iterator[Finding]:
    loading = loading_in(crash, seen) if is_cause(crash, seen) else None
    key = key_of_the_module(loading) if loading else None
    frame = crash.own_frame
    if loading is None or key is None or frame is None:
        return
    tensors = counted(len(loading.own), "tensor")
    entries = [*loading.given, *loading.other]
    yield RULE.finding(
        frame.place,
        f"`{loading.kind}` was given a whole checkpoint; its state dict is the entry `{key}`.",
        facts=(
            Fact("entries given", some(entries)),
            Fact(f"under `{key}`", f"{tensors}, with the names and shapes of `{loading.kind}`"),
        ),
        why="`load_state_dict` takes every entry of its argument for a tensor of the model.",
        fixes=(fix(crash, seen, key),),
        python_said=crash.said,
        about=crash.id,
    )


def fix(crash: Crash, seen: Recording, key: str) -> Fix:
    call = loader_call(crash, seen)
    asked = Question("names-under-a-key", crash.id, {"key": key})
    seen.ask(asked)
    edit = appended(call[1], call[2].args[0], f'["{key}"]') if call else None
    why_not = "" if edit else "the call was not found in your source"
    must = ReExecuted(
        asked, f"names and shapes under `{key}` and those of the model, tensor by tensor"
    )
    return Fix(f'Give it the entry: `["{key}"]`.', edit, must, why_not)


@RULE.on(Script)
def checkpoint_in_the_source_is_loaded_whole(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.CheckpointLoadedWhole):
        given = source.argument(one.node, "state_dict", 0)
        entries = list(one.checkpoint.items or ())
        yield RULE.finding(
            wording.place_of(source, one.node),
            f"{wording.model_name(one.model)} is given a whole checkpoint; its state dict"
            " is the entry"
            f" `{one.entry}`.",
            facts=(Fact("entries", spoken(f"`{name}`" for name in entries)),),
            why="`load_state_dict` takes every entry of its argument for a tensor of the model.",
            fixes=(
                Fix(
                    f'Give it the entry: `["{one.entry}"]`.',
                    appended(source, given, f'["{one.entry}"]') if given is not None else None,
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
