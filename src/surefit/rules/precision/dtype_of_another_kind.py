"""A layer or a product was given a tensor of another dtype than its own.

## What happens
NumPy counts in float64, pictures come as uint8, `model.half()` casts weights and not the data: a
matrix product takes one dtype only. Sums do not complain; they give the wider dtype, so that the
error comes later, in the next layer.

## Why it matters
The line that Python names is rarely the one where the dtype came from, and casting there (or making
the model float64) costs time and memory at every step.

## What to do
Cast where the tensor is created: `torch.from_numpy(x).float()`, `.astype(np.float32)`. To a model
in half precision give inputs of its dtype, or keep it in float32 and use `torch.autocast`.

## How it is recognised
The operation that failed takes one dtype only, and was given two. A second run finds the first of
the user's expressions that had the odd dtype. Targets of losses are left to other rules.
"""

from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.laws.along import along
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.mixed_operands import INTO_THE_FIRST, TwoDtypes
from surefit.laws.layers.layer_words import layer_name as name
from surefit.laws.layers.plain_tensors import left_behind
from surefit.laws.values.names import reading_of_value
from surefit.lineage.lineage import Lineage
from surefit.lineage.properties import Property, dtype, tensor_dtype
from surefit.remedies.cast import Cast

SYMPTOM = Symptom(
    r"must have the same dtype|expected scalar type|expected m1 and m2|Found dtype"
    r"|Input type .* and (weight|bias) type|source and destination dtypes match",
    "which of the tensors has a dtype that the others have not, and where it got that",
)
RULE = Rule("SF702", "dtype-of-another-kind", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

HALVES = ("float16", "bfloat16")
PICTURE = 2
"""Axes; uint8 with more of them are pictures."""


@RULE.on(TwoDtypes)
def dtypes_differ(broken: TwoDtypes, case: Case) -> Finding | None:
    if left_behind(broken, case) is not None:
        return None  # unregistered-buffer has that
    lineage = case.lineage(broken.stray)
    odd = tensor_dtype(broken.has)
    if lineage.birth(of=odd) is None:  # a library has put it together from the user's numbers
        odd = dtype(broken.has)
    birth = lineage.birth(of=odd)
    use = reading_of_value(case, broken.stray.value)
    before_use = broken.takes in HALVES and use is not None
    layer = layer_of(broken, case)
    return case.finding(
        ((use if before_use else birth) or use or broken.use).place,
        f"{broken.stray.name} is {broken.has}, and {layer or broken.other.name} is {broken.takes}.",
        facts=(
            broken.stray.fact(),
            Fact(layer or broken.other.name, broken.other.fact().value),
            *fact_at(f"{broken.has} since", birth),
            *fact_at("used at", broken.use),
        ),
        ruled_out=(Fact("shapes", "they fit; in one dtype the operation would run"),),
        why=why(broken),
        remedies=remedies(broken, case, lineage, odd),
    )


def layer_of(broken: TwoDtypes, case: Case) -> str:
    """The layer whose weights it meets."""
    frames = case.crash.frames if case.crash is not None else ()
    layer = frames[broken.stray.frame].layer if broken.stray.frame is not None else None
    return name(layer) if layer is not None else ""


def why(broken: TwoDtypes) -> str:
    if broken.operation in INTO_THE_FIRST:
        return "Writing into a tensor does not cast what is written."
    if broken.has == "float64":
        return "NumPy and Python count in float64, and a tensor of their numbers keeps that."
    if broken.has in ("int32", "int64"):
        return "A layer multiplies floats. Ids of a vocabulary go to an `nn.Embedding`, uncast."
    if broken.has == "uint8" and len(broken.stray.shape) > PICTURE:
        return "A layer multiplies floats; pictures are usually divided by 255, too."
    return "A cast of the model does not cast what it is given."


def remedies(
    broken: TwoDtypes, case: Case, lineage: Lineage, odd: Property
) -> Iterator[Remedy | Fix]:
    """At the birth of the dtype first; for a model in half precision, before the model."""
    takes, use = broken.takes, reading_of_value(case, broken.stray.value)
    casts: list[Remedy] = [
        Cast(at=producer, to=takes, value=producer.value) for producer in along(lineage, odd)
    ]
    last = [Cast(at=use, to=takes)] if use is not None else []
    yield from (*last, *casts) if takes in HALVES else (*casts, *last)
    if not casts and not last:
        yield Fix(f"Cast it to {takes}: `.to(torch.{takes})`.", choice=True)
