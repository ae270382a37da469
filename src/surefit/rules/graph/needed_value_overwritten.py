"""A value that backward needs was written to in place, after it was kept and before it was used.

## What happens
`sigmoid`, `exp`, `softmax` keep their result for `backward`, a product keeps its factors. `h += x`,
`weights[mask] = 0`, `relu_()` and `nn.ReLU(inplace=True)` write into the very tensor. Torch counts
the writings and says so: "one of the variables needed for gradient computation has been modified by
an inplace operation". It names the operation that kept the value, not the one that wrote to it.

## Why it matters
`.data` and `torch.no_grad()` around the writing hide it from torch, and the gradient is then wrong
without a word.

## What to do
Use the form that makes a new tensor: `h = h + x`, `masked_fill`, `relu()`, `inplace=False`; before
writing by an index, `.clone()`.

## How it is recognised
Of what the graph kept, torch counts more writings now than when it was kept. A second run notes
every operation that writes into a tensor: the first one after the value was kept is the one.

In a script that is only read: the result of a `softmax`, `sigmoid`, `tanh`, `exp`, `sqrt` or `relu`
is written to in place, and `backward` goes through it afterwards.
"""

from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of, some
from surefit.evidence.graph_stories import (
    Change,
    Overwritten,
    by_an_optimizer,
    story_of_overwritten_graph,
)
from surefit.evidence.writing_in_place import Writing, writing_of
from surefit.interpreter import violations, wording

RULE = Rule(
    "SF628",
    "needed-value-overwritten",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"modified by an inplace operation",
            "which line writes into a tensor that an earlier operation keeps for backward",
        ),
    ),
)


@RULE.on(Crash)
def value_was_written_to_after_it_was_kept(crash: Crash, seen: Recording) -> Iterator[Finding]:
    story = story_of_overwritten_graph(seen, crash) if is_cause(crash, seen) else None
    if story is None or by_an_optimizer(story):
        return
    value = next(one for one in story.changed if one.changes)
    change = value.changes[0]
    writing = writing_of(seen, change)
    place = writing.place if writing else change.stack[-1].place if change.stack else None
    if place is None or change.library:
        return
    yield RULE.finding(
        place,
        f"{subject(value, writing, change)} writes in place into a value that `backward` still"
        " needs.",
        facts=tuple(facts(value, change, place)),
        why="`backward` computes with the value as it was; what stands there now is another one.",
        fixes=tuple(fixes(value, writing)),
        python_said=crash.said,
        about=crash.id,
    )


def subject(value: Overwritten, writing: Writing | None, change: Change) -> str:
    if writing is not None:
        return code(writing.text)
    name = f" on `{value.names[0].text}`" if value.names else ""
    return f"`{change.name}`{name}"


def facts(value: Overwritten, change: Change, place: Place) -> Iterator[Fact]:
    kept = f"{value.function.removesuffix('0').removesuffix('Backward')}, {shape_of(value.shape)}"
    where = f", at {value.made[-1].place}" if value.made else ""
    yield Fact("the value is kept by", kept + where)
    at = change.stack[-1].place if change.stack else None
    if at is not None and (at.file, at.line) != (place.file, place.line):
        yield Fact("and written to at", f"{at}, by `{change.name}`")
    else:
        yield Fact("and written to by", f"`{change.name}`")


def fixes(value: Overwritten, writing: Writing | None) -> Iterator[Fix]:
    if value.parameters:
        yield Fix(
            f"Write to {some(value.parameters)} behind `optimizer.step()`, or before the forward"
            " pass begins.",
            why_not_tried="where in your step it belongs only you know",
        )
        return
    if writing is None or writing.edit is None:
        yield Fix(
            "Use the form that makes a new tensor: `x = x + y`, `masked_fill`, `inplace=False`, or"
            " `.clone()` before.",
            why_not_tried="which name the new tensor should have could not be read from the line",
        )
        return
    if writing.by_layer:
        yield Fix(
            f"Let it make a new tensor: {code(writing.instead)}. Whatever reads its input after it"
            " then gets the input as it was.",
            writing.edit,
            GradientsStay(changes_the_past=True),
        )
        return
    yield Fix(
        f"Make a new tensor{' before it' if writing.before else ' in its place'}:"
        f" {code(writing.instead)}.",
        writing.edit,
        GradientsStay(),
    )


@RULE.on(Script)
def value_in_the_source_is_overwritten(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.SavedValueOverwritten):
        if one.writer != "write":
            continue
        statement = source.statement_of(one.written)
        whole = " ".join(source.segment(statement).split())
        yield RULE.finding(
            wording.place_of(source, statement),
            f"{code(whole)} writes in place into a value that `backward` still needs.",
            facts=(
                Fact("the value is kept by", wording.line_at(source, one.operation.node)),
                Fact("`backward` is called at", wording.line_at(source, one.node)),
            ),
            why="`backward` computes with the value as it was; what stands there now is another"
            " one.",
            fixes=(
                Fix(
                    "Make a new tensor instead: `masked_fill` for `x[mask] = ...`, `x = x + y` for"
                    " `x += y`; or write into a `clone()`.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
