"""A checkpoint lacks tensors that the model has, or has tensors that the model lacks.

## What happens
The code of the model has changed since it was saved, or another model was saved: a layer was
added, taken out or given another name.

## Why it matters
`strict=False` lets it pass. What is missing then keeps its random weights.

## What to do
Make the model as it was saved; rename the tensors while loading, where a layer only got another
name; or load with `strict=False` on purpose, and train what is missing. Only you can choose.

## How it is recognised
`load_state_dict` raised, the names on both sides are not the same, and neither a prefix nor an
entry of a larger checkpoint explains it.

In a script that is only read: a state dict that the script saves is loaded into a model of other
layers, both known whole from the source.
"""

from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import counted, some
from surefit.evidence.state_dicts import (
    Loading,
    by_layer,
    key_of_the_module,
    loading_in,
    prefix_too_few,
    prefix_too_many,
)
from surefit.interpreter import violations, wording
from surefit.interpreter.checkpoints import how_states_differ

RULE = Rule(
    "SF904",
    "checkpoint-of-another-model",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"(Missing|Unexpected) key\(s\) in state_dict",
            "which layers were added, taken out or renamed since the checkpoint was saved",
        ),
    ),
)

ONLY_YOU = "only you know which of the two models is meant"


@RULE.on(Crash)
def names_are_not_the_same(crash: Crash, seen: Recording) -> Iterator[Finding]:
    loading = loading_in(crash, seen) if is_cause(crash, seen) else None
    frame = crash.own_frame
    if loading is None or frame is None or is_explained(loading):
        return
    missing, unexpected = loading.missing, loading.unexpected
    if not missing and not unexpected:
        return
    yield RULE.finding(
        frame.place,
        headline(loading, missing, unexpected),
        facts=tuple(facts(loading, missing, unexpected)),
        ruled_out=(
            Fact("a prefix", "no prefix makes the names of both sides the same"),
            Fact("a whole checkpoint", f"no entry has the names of `{loading.kind}`"),
        ),
        why="A tensor is found by its name, and by nothing else.",
        fixes=tuple(fixes(loading, missing, unexpected)),
        python_said=crash.said,
        about=crash.id,
    )


def is_explained(loading: Loading) -> bool:
    """By another rule."""
    ways = (prefix_too_many(loading), prefix_too_few(loading), key_of_the_module(loading))
    return any(way is not None for way in ways) or bool(loading.of_other_shape)


def headline(loading: Loading, missing: list[str], unexpected: list[str]) -> str:
    lacks = f"lacks {some(by_layer(missing))}, which `{loading.kind}` has"
    has = f"has {some(by_layer(unexpected))}, which `{loading.kind}` lacks"
    if missing and unexpected:
        return f"The checkpoint {lacks}, and {has}."
    return f"The checkpoint {lacks if missing else has}."


def facts(loading: Loading, missing: list[str], unexpected: list[str]) -> Iterator[Fact]:
    same = len(loading.own) - len(missing)
    yield Fact("names on both sides", f"{same:,} of {counted(len(loading.own), 'tensor')}")
    if missing:
        yield Fact("missing", some(missing))
    if unexpected:
        yield Fact("not asked for", some(unexpected))
    pair = renamed(loading, missing, unexpected)
    if pair:
        yield Fact("of the same shapes", f"`{pair[0]}` there, `{pair[1]}` here")
    if loading.made_at:
        yield Fact(f"`{loading.kind}` is made at", str(loading.made_at))


def renamed(loading: Loading, missing: list[str], unexpected: list[str]) -> tuple[str, str] | None:
    """One layer there and one here, with the same tensors of the same shapes."""
    there, here = list(by_layer(unexpected)), list(by_layer(missing))
    if len(there) != 1 or len(here) != 1:
        return None
    theirs = {name.removeprefix(there[0]): loading.given[name] for name in unexpected}
    ours = {name.removeprefix(here[0]): loading.own[name] for name in missing}
    return (there[0], here[0]) if theirs == ours else None


def fixes(loading: Loading, missing: list[str], unexpected: list[str]) -> Iterator[Fix]:
    pair = renamed(loading, missing, unexpected)
    if pair:
        yield Fix(
            f"If `{pair[0]}` only got another name, rename it while loading:"
            f" `name.replace({pair[0]!r}, {pair[1]!r})`.",
            why_not_tried=ONLY_YOU,
        )
    yield Fix(
        f"Make `{loading.kind}` as it was when it was saved.",
        why_not_tried=ONLY_YOU,
    )
    if missing:
        yield Fix(
            f"If {some(by_layer(missing))} is new: `strict=False`, and train it before it is used.",
            why_not_tried=ONLY_YOU,
        )


@RULE.on(Script)
def names_in_the_source_differ(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.StateDictMismatch):
        if how_states_differ(one)[0] != "names":
            continue
        saved, has = set(one.saved.tensors or ()), set(one.tensors)
        missing, strange = sorted(has - saved), sorted(saved - has)
        name = wording.model_name(one.model)
        said = (
            f"lacks {some(missing)}, which {name} has"
            if missing
            else (f"has {some(strange)}, which {name} lacks")
        )
        yield RULE.finding(
            wording.place_of(source, one.node),
            f"The checkpoint {said}.",
            facts=(
                Fact("saved from", wording.line_at(source, one.saved.node)),
                Fact(f"{name} is made at", str(wording.place_of(source, one.model.node))),
            ),
            fixes=(
                Fix(
                    "Make the model as it was when it was saved, or load with `strict=False` and"
                    " train what is missing.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
