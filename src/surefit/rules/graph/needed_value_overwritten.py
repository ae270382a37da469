"""A value that backward needs was written to in place, after it was kept and before it was used.

## What happens
`sigmoid`, `exp`, `softmax` keep their result for `backward`, a product keeps its factors. `h += x`,
`weights[mask] = 0`, `relu_()` and `nn.ReLU(inplace=True)` write into the very tensor. Torch counts
the writes, and names the operation that kept the value, not the one that wrote to it.

## Why it matters
`.data` and `torch.no_grad()` around the write hide it from torch, and the gradient is then silently
wrong.

## What to do
Use the form that creates a new tensor: `h = h + x`, `masked_fill`, `relu()`, `inplace=False`;
before writing by an index, `.clone()`.

## How it is recognised
Of what the graph kept, torch counts more writes now than when it was kept. A second run notes every
operation that writes into a tensor: the first one after the value was kept is the one.
"""

from collections.abc import Iterator

from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.graph_stories import OverwrittenValue, Write
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of, some
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.graphs import ValueOverwritten
from surefit.remedies.change import Change
from surefit.remedies.out_of_place import Writing, writing_of

SYMPTOM = Symptom(
    r"modified by an inplace operation",
    "which line writes into a tensor that an earlier operation keeps for backward",
)
RULE = Rule("SF628", "needed-value-overwritten", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(ValueOverwritten)
def value_was_written_to_after_it_was_kept(broken: ValueOverwritten, case: Case) -> Finding | None:
    value = broken.story.first_overwritten
    if value is None or broken.story.by_an_optimizer or value.changes[0].library:
        return None
    write = value.changes[0]
    writing = writing_of(case.recording, write)
    place = writing.place if writing else write.stack[-1].place if write.stack else None
    if place is None:
        return None
    name = f" on `{value.names[0].text}`" if value.names else ""
    subject = code(writing.text) if writing else f"`{write.name}`{name}"
    return case.finding(
        place,
        f"{subject} writes in place into a value that `backward` still needs.",
        facts=facts(value, write, place),
        why="`backward` computes with the value as it was; it now holds another.",
        remedies=remedies(value, writing),
    )


def facts(value: OverwrittenValue, write: Write, place: Place) -> Iterator[Fact]:
    operation = value.function.removesuffix("0").removesuffix("Backward")
    shape = f", {shape_of(value.shape)}" if value.shape else ""
    where = f", at {value.made[-1].place}" if value.made else ""
    yield Fact("the value is kept by", f"{operation}{shape}{where}")
    at = write.stack[-1].place if write.stack else None
    if at is not None and (at.file, at.line) != (place.file, place.line):
        yield Fact("and written to at", f"{at}, by `{write.name}`")
    else:
        yield Fact("and written to by", f"`{write.name}`")


def remedies(value: OverwrittenValue, writing: Writing | None) -> Iterator[Remedy | Fix]:
    if value.parameters:
        yield Fix(
            f"Write to {some(value.parameters)} after `optimizer.step()`, or before the forward"
            " pass begins.",
            choice=True,
        )
    elif writing is None or writing.edit is None:
        yield Fix(
            "Use the form that creates a new tensor: `x = x + y`, `masked_fill`, `inplace=False`,"
            " or `.clone()` before.",
            choice=True,
        )
    else:
        where = "before it" if writing.before else "in its place"
        words = f"Create a new tensor {where}: {code(writing.instead)}."
        if writing.by_layer:
            words = (
                f"Let it create a new tensor: {code(writing.instead)}. Whatever reads its input"
                " after it then gets the input as it was."
            )
        must = GradientsStay(changes_the_past=writing.by_layer)
        yield Change(to=writing.edit, words=words, must=must)
