"""Every name of a state dict has a prefix that the model does not have, or lacks one that it has.

## What happens
A model that was wrapped when it was saved (`DataParallel`, `DistributedDataParallel`,
`torch.compile`, a class that holds it) gives its tensors the name of the wrapper: `module.`,
`_orig_mod.`, `model.`. Loaded into the bare model, every name is unexpected and every name missing.

## Why it matters
`strict=False`, the first advice that one finds, silences it and loads nothing: training goes on
from random weights without a word.

## What to do
Take the prefix from the names while loading, or load into the wrapped model's inside. Save
`model.module.state_dict()` next time.

## How it is recognised
The names and shapes of what was given are, without one prefix, exactly those of the model: as many
tensors, of the same shapes, none left over.

In a script that is only read: a state dict that the script saves from a wrapped model is loaded
into the bare one, or the other way round, and both are known whole from the source.
"""

from collections.abc import Iterator
from math import prod

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.re_executed import ReExecuted
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Crash, Question, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted
from surefit.evidence.state_dicts import (
    Loading,
    loader_call,
    loading_in,
    prefix_too_few,
    prefix_too_many,
)
from surefit.interpreter import violations, wording
from surefit.interpreter.checkpoints import how_states_differ
from surefit.source.edits import replaced, wrapped
from surefit.source.patches import Edit

RULE = Rule(
    "SF901",
    "state-dict-prefix",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"(Missing|Unexpected) key\(s\) in state_dict",
            "whether the names of checkpoint and model differ by one prefix alone",
        ),
    ),
)

WRAPPERS = {
    "module.": "`DataParallel` or `DistributedDataParallel`",
    "_orig_mod.": "`torch.compile`",
}


@RULE.on(Crash)
def names_differ_by_a_prefix(crash: Crash, seen: Recording) -> Iterator[Finding]:
    loading = loading_in(crash, seen) if is_cause(crash, seen) else None
    frame = crash.own_frame
    if loading is None or frame is None:
        return
    more, less = prefix_too_many(loading), prefix_too_few(loading)
    prefix = more or less
    if prefix is None:
        return
    yield RULE.finding(
        frame.place,
        headline(loading, prefix, saved_with_it=more is not None),
        facts=tuple(facts(loading)),
        ruled_out=(same_shapes(loading),),
        why=why(prefix, saved_with_it=more is not None),
        fixes=(fix(crash, seen, loading, prefix, saved_with_it=more is not None),),
        python_said=crash.said,
        about=crash.id,
    )


def headline(loading: Loading, prefix: str, *, saved_with_it: bool) -> str:
    if saved_with_it:
        return (
            f"All {counted(len(loading.given), 'name')} of the state dict begin with `{prefix}`,"
            f" and those of `{loading.kind}` do not."
        )
    return (
        f"All {counted(len(loading.own), 'name')} of `{loading.kind}` begin with `{prefix}`, and"
        " those of the state dict do not."
    )


def facts(loading: Loading) -> Iterator[Fact]:
    yield Fact("given", f"`{next(iter(loading.given))}`, ...")
    yield Fact(f"`{loading.kind}` has", f"`{next(iter(loading.own))}`, ...")


def same_shapes(loading: Loading) -> Fact:
    tensors = counted(len(loading.own), "tensor")
    return Fact("another model", f"without the prefix, names and shapes of {tensors} are the same")


def why(prefix: str, *, saved_with_it: bool) -> str:
    wrapper = WRAPPERS.get(prefix, "a module that holds this one")
    if saved_with_it:
        return f"It was saved from {wrapper}. `strict=False` would load nothing, without a word."
    return f"It is loaded into {wrapper}, and was saved from what is inside."


def fix(
    crash: Crash, seen: Recording, loading: Loading, prefix: str, *, saved_with_it: bool
) -> Fix:
    call = loader_call(crash, seen)
    asked = Question("names-without-prefix", crash.id, {"prefix": prefix, "given": saved_with_it})
    seen.ask(asked)
    elements = sum(prod(shape) for shape in loading.own.values())
    what = f"names and shapes of both without `{prefix}`, {elements:,} numbers"
    edit: Edit | None = None
    if saved_with_it:
        text = f"Take the prefix from the names: `name.removeprefix({prefix!r})`."
        if call is not None:
            _, source, node = call
            given = source.segment(node.args[0])
            bare = f'name.removeprefix("{prefix}")'
            new = f"{{{bare}: tensor for name, tensor in {given}.items()}}"
            edit = replaced(source, node.args[0], new) if "\n" not in given else None
    else:
        inner = prefix.rstrip(".")
        text = f"Load it into what is inside: {code(f'.{inner}.load_state_dict(...)')}."
        if call is not None:
            _, source, node = call
            owner = getattr(node.func, "value", None)
            edit = wrapped(source, owner, "", f".{inner}") if owner is not None else None
    why_not = "" if edit else "the call was not found in your source"
    return Fix(text, edit, ReExecuted(asked, what), why_not)


@RULE.on(Script)
def names_in_the_source_differ_by_a_prefix(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.StateDictMismatch):
        how, prefix = how_states_differ(one)
        if how != "prefix":
            continue
        saved = one.saved.tensors or {}
        begin = "begin" if next(iter(saved)).startswith(prefix[0]) else "do not begin"
        yield RULE.finding(
            wording.place_of(source, one.node),
            f"All {len(saved)} names of the state dict {begin} with `{prefix[0]}`, and those of"
            f" {wording.model_name(one.model)} {'do not' if begin == 'begin' else 'do'}.",
            facts=(Fact("saved from", wording.line_at(source, one.saved.node)),),
            why="A wrapper gives its model's tensors its own name in front.",
            fixes=(
                Fix(
                    "Save the state dict of the model inside the wrapper (`model.module`), or take"
                    " the prefix off when it is loaded.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
