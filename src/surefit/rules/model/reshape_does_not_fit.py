"""A reshape asks for another number of elements than the tensor has.

## What happens
`view` and `reshape` arrange the elements that there are; the sizes asked for must multiply to
exactly as many. A flattened map has channels × height × width features per row, whatever the layer
after it was created for; heads times features per head must be the width.

## Why it matters
With a -1 for the rows it often does not fail: `x.view(-1, 400)` makes another number of rows, and
the loss then compares rows with the wrong labels.

## What to do
Keep the rows and compute the rest: `x.flatten(1)`, `x.view(x.size(0), -1)`; and create the layer
after it as wide as that. For heads, a width that they divide.

## How it is recognised
The failing expression is a `view` or `reshape` in your own code, and the sizes asked for do not
multiply to the elements of the tensor. Axes that both shapes share are removed; what is left says
which factor is wrong. In a script that is only read, the same where all sizes are known.
"""

import ast
from collections.abc import Iterator
from math import prod

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Value
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Operand, Written
from surefit.doctor.words import code, shape_of, times
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.reshapes import ElementCount
from surefit.laws.layers.layer_tables import declared_width
from surefit.laws.layers.ways import input_widths
from surefit.laws.values.written_numbers import lineages_of_models
from surefit.lineage.producers import Producer, ProducerKind
from surefit.remedies.replace import ReplaceWith
from surefit.remedies.together import Together

SYMPTOM = Symptom(
    r"shape '\[.*\]' is invalid for input of size",
    "the shape of the tensor, and which of the sizes asked for is not its own",
)
RULE = Rule("SF307", "reshape-does-not-fit", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(ElementCount)
def elements_do_not_fit(broken: ElementCount, case: Case) -> Finding:
    tensor = broken.tensor
    has, takes = multiplied(broken.axes), multiplied(broken.asked)
    chosen = size_chosen(broken, case)
    unwritten = [
        Fact(code(part.text), str(size))
        for part, size in zip(broken.written, broken.asked, strict=True)
        if not isinstance(case.node(part), ast.Constant)
    ]
    return case.finding(
        (chosen or broken.use).place,
        f"{tensor.name} holds {has} features in a row, and {takes} are asked for.",
        facts=(
            tensor.fact(f"{prod(tensor.shape):,} elements"),
            Fact("asked for", shape_of(broken.target)),
            *unwritten,
        ),
        ruled_out=(Fact("number of rows", f"{tensor.shape[0]}, which is not what differs"),),
        why="The sizes asked for must multiply to the elements that there are.",
        remedies=remedies(broken, case, chosen),
    )


def multiplied(sizes: tuple[int, ...]) -> str:
    return f"{times(sizes)} = {prod(sizes)}" if len(sizes) > 1 else str(prod(sizes))


def size_chosen(broken: ElementCount, case: Case) -> Written | None:
    """Where a size that the reshape does not write as a number was computed or written."""
    for part in reversed(broken.written):
        if isinstance(case.node(part), ast.Attribute | ast.Name):
            operand = Operand(value=Value(part.text, "int"), name="", frame=case.number)
            made = case.lineage(operand).producers
            if made:
                return made[0]
    return None


def remedies(
    broken: ElementCount, case: Case, chosen: Written | None
) -> Iterator[Remedy | Fix | None]:
    has, asked = prod(broken.axes), broken.asked
    if len(asked) == 1:
        yield fitted(broken, case, has)
        yield Fix(
            f"If {asked[0]} is right, the map must be another: check the size of the pictures and"
            " the poolings.",
            choice=True,
        )
        return
    for at, part in enumerate(broken.written):
        rest = prod(asked) // asked[at] if asked[at] else 0
        if rest and has % rest == 0:
            size = has // rest
            place = chosen if chosen is not None and at == len(asked) - 1 else part
            words = f"If {code(part.text)} is not meant to be {asked[at]}, make it {size}."
            yield ReplaceWith(at=place, text=str(size), words=words, choice=True)
    parts = " × ".join(code(part.text) for part in broken.written)
    yield Fix(f"Choose sizes with {parts} = {has}.", choice=True)


def fitted(broken: ElementCount, case: Case, has: int) -> Remedy:
    """The size that there is, in the reshape and in the layer that takes the result."""
    part, layer = broken.written[0], layer_taking(case, broken.asked[0])
    after = f" and in the layer after it, {layer.place}" if layer is not None else ""
    same = layer is not None and layer.place.file == part.place.file
    sites = (part, layer) if same else (part,)
    return Together(
        parts=tuple(ReplaceWith(at=site, text=str(has), words="") for site in sites),
        words=f"If {has} is right, ask for it{after}: {code(part.text)} → {has}.",
        choice=True,
    )


def layer_taking(case: Case, width: int) -> Written | None:
    """Where the one layer of the model that was created for this width declares it."""
    found: dict[str, Producer] = {}
    for lineage in lineages_of_models(case):
        for producer in lineage.all:
            layer = producer.value.layer
            if producer.kind is not ProducerKind.CALL or layer is None or not producer.own:
                continue
            if declared_width(layer) == width:
                found |= {str(at.place): at for at in input_widths(lineage, producer)[-1:]}
    return next(iter(found.values())) if len(found) == 1 else None
