"""A checkpoint has the names of the model, and some of its tensors have other shapes.

## What happens
Names agree, sizes do not: the model is made with another number of classes, another vocabulary,
another width or another adapter rank than the one that was saved.

## Why it matters
The message lists tensors, not the setting that differs. Leaving the tensors out (or
`ignore_mismatched_sizes=True`) keeps random weights in their place without saying so again.

## What to do
Make the model with the sizes that were saved; or, where another size is meant (a new task), leave
those layers out on purpose and train them. Only you can choose, so neither is tried.

## How it is recognised
`load_state_dict` was given a tensor of another shape for a name that the model has.

In a script that is only read: a state dict that the script saves is loaded into a model with the
same names and other sizes, both known whole from the source.
"""

import ast
from collections import Counter
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, shape_of, some
from surefit.evidence.state_dicts import Loading, by_layer, loading_in
from surefit.interpreter import violations, wording
from surefit.interpreter.checkpoints import how_states_differ

RULE = Rule(
    "SF903",
    "checkpoint-of-other-sizes",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"size mismatch for",
            "with which sizes the model that was saved had been made",
        ),
    ),
)

MOST = 4
ONLY_YOU = "only you know which size is meant"


@RULE.on(Crash)
def tensors_have_other_shapes(crash: Crash, seen: Recording) -> Iterator[Finding]:
    loading = loading_in(crash, seen) if is_cause(crash, seen) else None
    frame = crash.own_frame
    names = loading.of_other_shape if loading else []
    if loading is None or frame is None or not names:
        return
    saved, own = sizes_that_differ(loading, names)
    place = made_with(own, loading, seen) or loading.made_at or frame.place
    tensors = counted(len(names), "tensor")
    verb = "has another shape" if len(names) == 1 else "have other shapes"
    yield RULE.finding(
        place,
        f"The checkpoint was saved with {saved} where `{loading.kind}` has {own}:"
        f" {tensors} of {some(by_layer(names))} {verb}.",
        facts=tuple(facts(loading, names, place)),
        why=why(loading, names),
        fixes=tuple(fixes(loading, names, saved, own)),
        python_said=crash.said,
        about=crash.id,
    )


def sizes_that_differ(loading: Loading, names: list[str]) -> tuple[int, int]:
    """The pair of sizes that differs most often: saved, and in the model."""
    pairs = Counter(
        (theirs, ours)
        for name in names
        for theirs, ours in zip(loading.given[name], loading.own[name], strict=False)
        if theirs != ours
    )
    if not pairs:
        return len(loading.given[names[0]]), len(loading.own[names[0]])
    return pairs.most_common(1)[0][0]


def made_with(size: int, loading: Loading, seen: Recording) -> Place | None:
    """The line that made the model, if the size stands there; or that made what it was given."""
    made = loading.made_at
    source = seen.source(made)
    statement = source.statement_at(made.line) if source and made and made.line else None
    if made is None or source is None or statement is None:
        return None
    if has_number(statement, size):
        return made
    given = [source.value_of(one) for one in ast.walk(statement) if isinstance(one, ast.Name)]
    lines = {one.lineno for one in given if isinstance(one, ast.Call) and has_number(one, size)}
    return Place(source.file, lines.pop()) if len(lines) == 1 else None


def has_number(node: ast.AST, size: int) -> bool:
    return any(isinstance(one, ast.Constant) and one.value == size for one in ast.walk(node))


def facts(loading: Loading, names: list[str], place: Place) -> Iterator[Fact]:
    for name in names[:MOST]:
        given, own = shape_of(loading.given[name]), shape_of(loading.own[name])
        yield Fact(code(name), f"saved {given}, here {own}")
    fitting = len(loading.own) - len(names) - len(loading.missing)
    yield Fact("tensors that fit", f"{fitting:,} of {len(loading.own):,}")
    if loading.made_at is not None and loading.made_at != place:
        yield Fact(f"`{loading.kind}` is made at", str(loading.made_at))


def why(loading: Loading, names: list[str]) -> str:
    if are_of_another_base(loading, names):
        return (
            "These are adapters, of the same rank `r` as here: they were trained on another base"
            " model, whose layers have other sizes."
        )
    if all("lora_" in name for name in names):
        return "These are adapters: the rank `r` that they were trained with is another."
    return "What stands in a checkpoint has the sizes of the model that was saved."


def are_of_another_base(loading: Loading, names: list[str]) -> bool:
    """The rank is the first size of each `lora_A`, the second of each `lora_B`."""
    axes = [0 if "lora_A" in name else 1 if "lora_B" in name else None for name in names]
    return all(
        axis is not None and loading.given[name][axis : axis + 1] == loading.own[name][axis:][:1]
        for name, axis in zip(names, axes, strict=True)
    )


def fixes(loading: Loading, names: list[str], saved: int, own: int) -> Iterator[Fix]:
    if are_of_another_base(loading, names):
        yield Fix(
            f"Load the adapter into the base model that it was trained on, which has {saved}"
            f" where this one has {own}.",
            why_not_tried=ONLY_YOU,
        )
        yield Fix(
            "If this base is meant, train a new adapter for it, by `get_peft_model`.",
            why_not_tried=ONLY_YOU,
        )
        return
    yield Fix(
        f"If {saved} is right, make the model with it, as it was saved.", why_not_tried=ONLY_YOU
    )
    yield Fix(
        f"If {own} is right, leave {some(by_layer(names))} out of the state dict on purpose, and"
        " train it anew.",
        why_not_tried=ONLY_YOU,
    )


@RULE.on(Script)
def sizes_in_the_source_are_others(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.StateDictMismatch):
        how, names = how_states_differ(one)
        if how != "sizes":
            continue
        saved = one.saved.tensors or {}
        yield RULE.finding(
            wording.place_of(source, one.model.node),
            f"The checkpoint has {counted(len(names), 'tensor')} of another shape than"
            f" {wording.model_name(one.model)}.",
            facts=tuple(
                Fact(f"`{name}`", f"saved {saved[name]}, here {one.tensors[name]}")
                for name in names[:3]
            ),
            why="`load_state_dict` copies tensors into tensors of the same shape.",
            fixes=(
                Fix(
                    "Make the model with the sizes that it was saved with; for another task, load"
                    " everything but the head.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
