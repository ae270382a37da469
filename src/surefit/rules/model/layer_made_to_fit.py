"""A layer is created again, as wide as whatever arrives, in place of the one that was declared.

## What happens
`nn.Linear(271, 256)` is declared for 271 features. The data bring 4000, and a line creates
`nn.Linear(x.shape[-1], 256)` in its place, so that the shapes fit.

## Why it matters
That silences the one sign that the data are other data, or have their axes swapped; and a layer
that is created after the optimizer is in no optimizer and keeps its random weights.

## What to do
Find out which of the two widths is meant. If it is the declared one, let it fail: the data are
wrong. If it is that of the data, declare it once, before the optimizer. Sizing the first layer from
the table itself, `nn.Linear(X.shape[1], 64)`, once and before the optimizer, is fine.

## How it is recognised
A name gets a new layer whose width is read from a tensor, under a comparison with the layer's own
width or with a number, in the handler of a failed call of it, or in a loop over batches, while
another is declared outside. In a run it is reported where that line has created a layer that got
gradients; in a script that is only read, as a warning.
"""

import ast
from collections.abc import Iterator, Sequence

from surefit.doctor.causes import was_only_read
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import ParameterSeen, Script, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import code, counted
from surefit.laws.layers.fitted_layers import Fitted, fitted_at, fitted_layers

RULE = Rule("SF312", "layer-made-to-fit", Severity.ERROR, __doc__)

WHY = "The new layer takes whatever arrives: other data, or swapped axes, train silently."


@RULE.on(Steps)
def a_layer_was_made_to_fit(steps: Steps, recording: Recording) -> Iterator[Finding]:
    if steps.process.rank not in (None, 0):
        return
    every = (*steps.outside, *steps.parameters)
    for made_at in dict.fromkeys(known.made_at for known in every if known.made_at is not None):
        fitted = fitted_at(recording.source(made_at), made_at)
        here = [known for known in every if known.made_at == made_at]
        size = next((known.shape[1] for known in here if len(known.shape) > 1), None)
        if fitted is not None and size is not None and declared_number(fitted) != size:
            yield finding(fitted, size, here, steps)


def declared_number(fitted: Fitted) -> int | None:
    width = fitted.declared_width
    value = fitted.source.value_of(width) if width is not None else None
    number = value.value if isinstance(value, ast.Constant) else None
    return number if type(number) is int else None


def finding(fitted: Fitted, size: int, here: Sequence[ParameterSeen], steps: Steps) -> Finding:
    declared = declared_number(fitted)
    meant = f"for {declared} features" if declared is not None else "with another width"
    return RULE.finding(
        fitted.place,
        f"`{fitted.name}` was declared {meant}, and this line creates it again for the {size} that"
        " arrived.",
        facts=(*source_facts(fitted), *optimizer_facts(here, steps)),
        why=WHY,
        fixes=tuple(ways(fitted, str(size))),
    )


def source_facts(fitted: Fitted) -> Iterator[Fact]:
    if fitted.declared is not None:
        where = Place(fitted.source.file, fitted.declared.lineno)
        text = " ".join(fitted.source.segment(fitted.declared).split())
        yield Fact("declared at", f"{where}  {text}")
    yield Fact("created again", fitted.how)


def optimizer_facts(here: Sequence[ParameterSeen], steps: Steps) -> Iterator[Fact]:
    outside = [known for known in here if known in steps.outside]
    if outside:
        tensors = counted(len(outside), "tensor")
        yield Fact("in an optimizer", f"no: {tensors} get gradients and never move")


def ways(fitted: Fitted, size: str) -> Iterator[Fix]:
    declared, number = fitted.declared_width, declared_number(fitted)
    width = code(fitted.source.segment(declared)) if declared is not None else "the declared width"
    width = width if number is None else str(number)
    yield Fix(
        f"If {width} is right, these are other data: remove this line and let the layer fail,"
        " then check where they are read.",
        choice=True,
    )
    at = f" at {Place(fitted.source.file, fitted.declared.lineno)}" if fitted.declared else ""
    yield Fix(
        f"If {size} is right, declare it{at}, before the optimizer, and give the optimizer its"
        " parameters.",
        choice=True,
    )


@RULE.on(Script)
def a_layer_will_be_made_to_fit(script: Script, recording: Recording) -> Iterator[Finding]:
    source = recording.source(script.file) if was_only_read(recording) else None
    for fitted in fitted_layers(source) if source else ():
        width = fitted.source.segment(fitted.width)
        yield RULE.finding(
            fitted.place,
            f"`{fitted.name}` is created again for {code(width)} features, whatever was declared.",
            facts=tuple(source_facts(fitted)),
            why=WHY,
            fixes=tuple(ways(fitted, code(width))),
            severity=Severity.WARNING,
        )
