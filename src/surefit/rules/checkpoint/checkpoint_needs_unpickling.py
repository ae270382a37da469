"""`torch.load` reads tensors alone, and the file holds objects of other classes.

## What happens
Since torch 2.6 `torch.load` has `weights_only=True`: it makes tensors, numbers, strings and their
containers, and refuses every other class. A whole model, an object with settings or an array that
was saved along needs the unpickler, which runs whatever code the file names.

## Why it matters
`weights_only=False` is the quick way out, and the dangerous one: a checkpoint from elsewhere can do
anything with your account.

## What to do
Save `model.state_dict()` and plain values, and load them into a model that your code makes. For a
file that you made yourself, allow its classes by name (`torch.serialization.safe_globals`), or pass
`weights_only=False`. surefit unpickles nothing, so neither is tried.

## How it is recognised
`torch.load` raised an unpickling error while its `weights_only` was true.

In a script that is only read: `torch.load`, without `weights_only=False`, reads a file to which the
same script saves a whole model, an object of a class of its own or an `argparse.Namespace`.
"""

from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.evidence.origins import names_in
from surefit.interpreter import violations, wording
from surefit.source.edits import argument_added

RULE = Rule(
    "SF908",
    "checkpoint-needs-unpickling",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(r"Weights only load failed", "who made the file, and whether you trust them"),
    ),
)

NOT_HERE = "unpickling runs code of the file, and only you know who made it"


@RULE.on(Crash)
def file_holds_more_than_tensors(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame
    if frame is None or not is_cause(crash, seen) or not was_refused(crash):
        return
    yield RULE.finding(
        frame.place,
        "`torch.load` was to read tensors alone, and this file holds objects of other classes.",
        facts=tuple(facts(crash)),
        why="Since torch 2.6 `weights_only=True` is the default: other classes would run code.",
        fixes=(
            Fix(
                "Save `model.state_dict()` and plain values instead of whole objects, and load them"
                " into a model that your code makes.",
                why_not_tried="the file is made elsewhere",
            ),
            Fix(
                "If you made the file yourself: `torch.load(..., weights_only=False)`.",
                why_not_tried=NOT_HERE,
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def was_refused(crash: Crash) -> bool:
    """By `torch.load`, which was to read weights alone."""
    last = crash.frames[-1] if crash.frames else None
    if last is None or not last.place.file.replace("\\", "/").endswith("torch/serialization.py"):
        return False
    asked = crash.value("weights_only")
    pickled = crash.kind.rpartition(".")[2] == "UnpicklingError"
    return pickled and asked is not None and asked.scalar is True


def facts(crash: Crash) -> Iterator[Fact]:
    frame = crash.own_frame
    for value in frame.values if frame else ():
        named = names_in(frame.expression or "") if frame else set()
        if value.text in named and isinstance(value.scalar, str):
            yield Fact("the file", value.scalar)


@RULE.on(Script)
def object_in_the_source_is_saved(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.LoadNeedsUnpickling):
        yield RULE.finding(
            wording.place_of(source, one.node),
            f"{wording.text_of(source, one.node)} reads tensors alone, and the file holds a"
            f" `{one.class_name}`.",
            facts=(Fact("saved at", wording.line_at(source, one.saved_at)),),
            why="Since torch 2.6 `weights_only=True` is the default: other classes would run code.",
            fixes=(
                Fix(
                    "Save `model.state_dict()` and plain values instead of whole objects.",
                    why_not_tried=wording.ONLY_READ,
                ),
                Fix(
                    "Or, for files that you trust, read them by `weights_only=False`.",
                    argument_added(source, one.node, "weights_only", "False"),
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
