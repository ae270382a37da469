"""A checkpoint lacks tensors that the model has, or has tensors that the model lacks.

## What happens
The code of the model has changed since it was saved, or another model was saved: a layer was
added, taken out or given another name.

## Why it matters
`strict=False` lets it pass. What is missing then keeps its random weights.

## What to do
Make the model as it was saved; rename the tensors while loading, where a layer only got another
name; or load with `strict=False` on purpose, and train what is missing. Each way is tried.

## How it is recognised
`load_state_dict` raised, the names on both sides are not the same, and neither a prefix nor an
entry of a larger checkpoint explains it.
"""

from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import counted, some
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.state_dicts import StateDictNames, by_layer
from surefit.remedies.arguments import SetArgument
from surefit.remedies.wrap import Wrap

SYMPTOM = Symptom(
    r"(Missing|Unexpected) key\(s\) in state_dict",
    "which layers were added, removed or renamed since the checkpoint was saved",
)
RULE = Rule("SF904", "checkpoint-of-another-model", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(StateDictNames)
def names_are_not_the_same(broken: StateDictNames, case: Case) -> Finding | None:
    if not broken.is_another_model or not (broken.missing or broken.unexpected):
        return None
    loading, missing, unexpected = broken.loading, broken.missing, broken.unexpected
    lacks = f"lacks {some(by_layer(missing))}, which `{loading.kind}` has"
    has = f"has {some(by_layer(unexpected))}, which `{loading.kind}` lacks"
    said = " and ".join(part for part, names in ((lacks, missing), (has, unexpected)) if names)
    return case.finding(
        broken.use.place,
        f"The checkpoint {said}.",
        facts=facts(broken),
        ruled_out=(
            Fact("a prefix", "no prefix makes the names of both sides the same"),
            Fact("a whole checkpoint", f"no entry has the names of `{loading.kind}`"),
        ),
        why="A tensor is found by its name, and by nothing else.",
        remedies=remedies(broken, case),
    )


def facts(broken: StateDictNames) -> Iterator[Fact]:
    loading = broken.loading
    same = len(loading.own) - len(broken.missing)
    yield Fact("names on both sides", f"{same:,} of {counted(len(loading.own), 'tensor')}")
    if broken.missing:
        yield Fact("missing", some(broken.missing))
    if broken.unexpected:
        yield Fact("not expected", some(broken.unexpected))
    pair = renamed(broken)
    if pair:
        yield Fact("of the same shapes", f"`{pair[0]}` there, `{pair[1]}` here")
    if loading.made_at:
        yield Fact(f"`{loading.kind}` is created at", str(loading.made_at))


def renamed(broken: StateDictNames) -> tuple[str, str] | None:
    """One layer there and one here, with the same tensors of the same shapes."""
    there, here = by_layer(broken.unexpected), by_layer(broken.missing)
    if len(there) != 1 or len(here) != 1:
        return None
    given, own = broken.loading.given, broken.loading.own
    theirs = {name.removeprefix(there[0]): given[name] for name in broken.unexpected}
    ours = {name.removeprefix(here[0]): own[name] for name in broken.missing}
    return (there[0], here[0]) if theirs == ours else None


def remedies(broken: StateDictNames, case: Case) -> Iterator[Remedy | Fix]:
    call, pair = broken.call(case), renamed(broken)
    if pair:
        replaced = f'name.replace("{pair[0]}", "{pair[1]}")'
        yield Wrap(
            at=case.argument(call, "state_dict", 0),
            before=f"{{{replaced}: tensor for name, tensor in ",
            after=".items()}",
            words=f"If `{pair[0]}` only got another name, rename it while loading: `{replaced}`.",
            choice=True,
            alike=False,
        )
    yield Fix(f"Create `{broken.loading.kind}` as it was when it was saved.", choice=True)
    if broken.missing:
        yield SetArgument(
            at=call,
            name="strict",
            value="False",
            words=f"If {some(by_layer(broken.missing))} is new: `strict=False`, and train it.",
            choice=True,
        )
