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
"""

from surefit.doctor.conditions.re_executed import ReExecuted
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import counted, some
from surefit.laws.case import Case
from surefit.laws.contracts.state_dicts import StateDictNames
from surefit.remedies.append import Append

SYMPTOM = Symptom(
    r"(Missing|Unexpected) key\(s\) in state_dict",
    "whether the model's state dict is one entry of what was given",
)
RULE = Rule("SF902", "whole-checkpoint-loaded", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(StateDictNames)
def state_dict_is_an_entry(broken: StateDictNames, case: Case) -> Finding | None:
    key, loading = broken.key_of_the_module, broken.loading
    if not key:
        return None
    tensors = counted(len(loading.own), "tensor")
    what = f"names and shapes under `{key}` and those of the model, tensor by tensor"
    question = case.answered("names-under-a-key", key=key)
    return case.finding(
        broken.use.place,
        f"`{loading.kind}` was given a whole checkpoint; its state dict is the entry `{key}`.",
        facts=(
            Fact("entries given", some([*loading.given, *loading.other, *loading.inside])),
            Fact(f"under `{key}`", f"{tensors}, with the names and shapes of `{loading.kind}`"),
        ),
        why="`load_state_dict` takes every entry of its argument for a tensor of the model.",
        remedies=(
            Append(
                at=case.argument(broken.call(case), "state_dict", 0),
                suffix=f'["{key}"]',
                words=f'Give it the entry: `["{key}"]`.',
                must=ReExecuted(question, what),
                alike=False,
            ),
        ),
    )
