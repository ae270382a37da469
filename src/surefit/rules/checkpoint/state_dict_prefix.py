"""Every name of a state dict has a prefix that the model does not have, or lacks one that it has.

## What happens
A model that was wrapped when it was saved (`DataParallel`, `DistributedDataParallel`,
`torch.compile`, a class that holds it) gives its tensors the name of the wrapper: `module.`,
`_orig_mod.`, `model.`. Loaded into the bare model, every name is unexpected and every name missing.

## Why it matters
`strict=False`, the first advice that one finds, silences it and loads nothing: training starts
from random weights silently.

## What to do
Take the prefix from the names while loading, or load into the wrapped model's inside. Save
`model.module.state_dict()` next time.

## How it is recognised
The names and shapes of what was given are, without one prefix, exactly those of the model: as many
tensors, of the same shapes, none left over.
"""

from math import prod

from surefit.doctor.conditions.re_executed import ReExecuted
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, some
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.state_dicts import StateDictNames
from surefit.remedies.append import Append
from surefit.remedies.wrap import Wrap

SYMPTOM = Symptom(
    r"(Missing|Unexpected) key\(s\) in state_dict",
    "whether the names of checkpoint and model differ by one prefix alone",
)
RULE = Rule("SF901", "state-dict-prefix", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

WRAPPERS = {
    "module.": "`DataParallel` or `DistributedDataParallel`",
    "_orig_mod.": "`torch.compile`",
}


@RULE.on(StateDictNames)
def names_differ_by_a_prefix(broken: StateDictNames, case: Case) -> Finding | None:
    saved, prefix = bool(broken.prefix_too_many), broken.prefix_too_many or broken.prefix_too_few
    loading = broken.loading
    if not prefix:
        return None
    begins, does_not = ("the state dict", f"`{loading.kind}`")[:: 1 if saved else -1]
    counters = broken.counters if saved and not only_prefix(broken, prefix) else []
    names = counted(len(loading.given if saved else loading.own) - len(counters), "name")
    tensors = counted(len(loading.own), "tensor")
    wrapper = WRAPPERS.get(prefix, "a module that holds this one")
    if counters:
        wrapper = f"a wrapper, such as `AveragedModel`, which also has {some(counters)}"
    return case.finding(
        broken.use.place,
        f"All {names} of {begins} begin with `{prefix}`, and those of {does_not} do not.",
        facts=(
            Fact("given", f"`{next(name for name in loading.given if name not in counters)}`, ..."),
            Fact(f"`{loading.kind}` has", f"`{next(iter(loading.own))}`, ..."),
        ),
        ruled_out=(
            Fact("another model", f"without the prefix, names and shapes of {tensors} are equal"),
        ),
        why=f"It was saved from {wrapper}. `strict=False` would silently load nothing."
        if saved
        else f"It is loaded into {wrapper}, and was saved from what is inside.",
        remedies=(remedy(broken, case, prefix, saved=saved),),
    )


def only_prefix(broken: StateDictNames, prefix: str) -> bool:
    return all(name.startswith(prefix) for name in broken.loading.given)


def remedy(broken: StateDictNames, case: Case, prefix: str, *, saved: bool) -> Remedy:
    question = case.answered("names-without-prefix", prefix=prefix, given=saved)
    elements = sum(prod(shape) for shape in broken.loading.own.values())
    must = ReExecuted(
        question, f"names and shapes of both without `{prefix}`, {elements:,} numbers"
    )
    call = broken.call(case)
    if saved:
        return Wrap(
            at=case.argument(call, "state_dict", 0),
            before=f'{{name.removeprefix("{prefix}"): tensor for name, tensor in ',
            after=".items()}"
            if only_prefix(broken, prefix)
            else f'.items() if name.startswith("{prefix}")}}',
            words=f"Remove the prefix from the names: `name.removeprefix({prefix!r})`.",
            must=must,
            alike=False,
        )
    inner = prefix.rstrip(".")
    return Append(
        at=case.owner(call),
        suffix=f".{inner}",
        words=f"Load it into what is inside: {code(f'.{inner}.load_state_dict(...)')}.",
        must=must,
        alike=False,
    )
