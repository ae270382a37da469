"""`.view` was called on a tensor that is not contiguous: a slice, a transposition.

## What happens
`view` gives the same memory another shape. A slice of columns (`labels[:, 1:]`) leaves out an
element between one row and the next, and a transposition steps through memory in another order: no
new shape fits without a copy, and `view` never copies.

## Why it matters
A slice of one row has no gap, so that training with one row works, and evaluation with two fails;
inside a `try` it then fails silently in every batch. Mixed precision has nothing to do with it.

## What to do
`.reshape` copies where it must and is a `view` where it can. Where the failing `.view` is a
library's, give it a contiguous tensor: `.contiguous()` on what is not.

## How it is recognised
The failing expression is a call of `.view`, and by sizes and strides of the tensor no view of that
shape exists. A second run tells which of your expressions is the first that is not contiguous. In a
script that is only read: `.view(-1)` follows on `[:, 1:]` or `[:, :-1]`, or strides are followed to
a `.view` that does not exist.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.causes import was_only_read
from surefit.doctor.conditions.re_executed import ReExecuted
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.observations import Json, Question, Script, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Operand, fact_at
from surefit.doctor.words import code, shape_of
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.reshapes import NotContiguous
from surefit.lineage.producers import Producer
from surefit.lineage.properties import not_contiguous
from surefit.remedies.append import Append
from surefit.remedies.methods import RenameMethod
from surefit.source.definitions import definition
from surefit.source.reading import Source

SYMPTOM = Symptom(
    r"view size is not compatible with input tensor's size and stride",
    "the strides of the tensor that `.view` is called on, and what made it: a slice, a"
    " transposition, an expansion",
)
RULE = Rule("SF302", "view-of-a-slice", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@dataclass(frozen=True, slots=True)
class Reshaped:
    """Whether `.reshape` and `.contiguous().view` of a tensor are equal."""

    probe: ClassVar[str] = "reshape"

    equal: bool
    elements: int


@RULE.on(NotContiguous)
def view_needs_a_copy(broken: NotContiguous, case: Case) -> Finding:
    tensor, stride = broken.tensor, broken.tensor.value.stride
    lineage = case.lineage(tensor)
    birth = next(iter(lineage.all), None) if case.read else lineage.birth(of=not_contiguous)
    call = f"{code(broken.call)} takes a contiguous tensor"
    if broken.inside:
        call = f"`{broken.inside}` calls {code(broken.call)}, which takes a contiguous tensor"
    cause = f", because of {code(birth.text)}" if birth and code(birth.text) != tensor.name else ""
    one_row = Fact("with a batch of one row", "there is no gap, and the same line works")
    no_dtype = Fact("mixed precision", f"{tensor.name} is {tensor.dtype}; strides have no dtype")
    return case.finding(
        (birth or broken.use).place if broken.inside else broken.use.place,
        f"{call}, and {tensor.name} is not contiguous{cause}.",
        facts=(
            tensor.fact(f"strides {shape_of(stride)}" if stride else ""),
            *fact_at("not contiguous since", birth),
            *([one_row] if broken.one_row_would_do else []),
        ),
        ruled_out=(no_dtype,) if tensor.dtype else (),
        why="`view` never copies, and this shape cannot be had without a copy.",
        remedies=remedies(broken, birth, case),
    )


def remedies(broken: NotContiguous, birth: Producer | None, case: Case) -> Iterator[Remedy]:
    equal, suffix = must(broken, case), ".contiguous()"
    if not broken.inside:
        words = "Use `.reshape`, which copies where it must."
        yield RenameMethod(at=broken.use, to="reshape", words=words, must=equal)
        return
    copied = f"Copy it where it is created: {code((birth.text if birth else '') + suffix)}."
    given = f"Give `{broken.inside}` a contiguous copy: `{suffix}`."
    for at, words in ((birth, copied), (case.argument(broken.use, "input", 0), given)):
        yield Append(at=at, suffix=suffix, words=words, must=equal, alike=False)


def must(broken: NotContiguous, case: Case) -> ReExecuted | None:
    """The frames of the crash answer; where it was swallowed they are gone."""
    text = broken.tensor.value.text
    about: dict[str, Json] = {"frame": broken.tensor.frame, "text": text}
    if broken.target:
        about["shape"] = list(broken.target)
    if case.crash is None or case.crash.swallowed or case.ask(Reshaped, **about) is None:
        return None
    asked = Question(Reshaped.probe, case.crash.id, about)
    return ReExecuted(asked, f"`.reshape` and `.contiguous().view` of {code(text)}")


@RULE.on(Script)
def columns_are_cut_and_viewed(script: Script, recording: Recording) -> Iterator[Finding]:
    source = recording.source(script.file) if was_only_read(recording) else None
    case = Case(recording, rule=RULE, read=script.file)
    for call, cut in joined_rows(source) if source else ():
        if source is not None and isinstance(call.func, ast.Attribute):
            use, receiver = case.expression(source, call), call.func.value
            tensor = Operand(
                value=Value(ast.unparse(receiver), "Tensor"),
                name=code(source.segment(receiver)),
                birth=case.expression(source, cut),
            )
            yield view_needs_a_copy(NotContiguous(use=use, tensor=tensor, call=use.text), case)


CUT = re.compile(r"\(?:, (0*[1-9]\d*:(-\d+)?|:-\d+)(, :)*\)?")
"""`[:, 1:]`, `[:, :-1]`, `[:, 1:, :]`: all rows, and surely not all columns."""


def joined_rows(source: Source) -> Iterator[tuple[ast.Call, ast.Subscript]]:
    """`labels[:, 1:].view(-1)`, the slice as it is or under a name, where the new shape has fewer
    axes than the slice is known to have."""
    for call in source.every(ast.Call):
        match call:
            case ast.Call(func=ast.Attribute(value=cut, attr="view"), args=[first, *more]):
                cut = definition(source, cut) or cut if isinstance(cut, ast.Name) else cut
                if not isinstance(cut, ast.Subscript) or ast.unparse(first) != "-1":
                    continue
                text = ast.unparse(cut.slice)
                if CUT.fullmatch(text) and len(more) < text.count(","):
                    yield call, cut
