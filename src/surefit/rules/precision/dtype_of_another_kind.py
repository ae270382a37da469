"""A layer or a product was given numbers of another dtype than its own.

## What happens
NumPy counts in float64, pictures come as uint8, `model.half()` casts weights and not the data: a
matrix product takes one dtype only. Sums do not complain; they give the wider dtype, so that the
error comes later, in the next layer.

## Why it matters
The line that Python names is rarely the one where the dtype came from, and casting there (or making
the model float64) costs time and memory at every step.

## What to do
Cast where the tensor is made: `torch.from_numpy(x).float()`, `torch.tensor(x,
dtype=torch.float32)`, `.astype(np.float32)`. To a model in half precision give inputs of its dtype,
or keep it in float32 and use `torch.autocast`.

## How it is recognised
The operation that failed is a product, a convolution, a norm or an assignment into a tensor, which
take one dtype only, and was given two. By a second run that records every operation the odd one is
followed back to the operation that made it so. Targets of losses are left to other rules.

In a script that is only read: a layer whose weights have a dtype that the source tells is given a
tensor of another one, outside of autocast.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Operation, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of
from surefit.evidence.failed_operations import Failure, failure_of
from surefit.evidence.layer_names import described, name
from surefit.evidence.plain_attributes import left_behind
from surefit.evidence.returned_rows import returned_for
from surefit.evidence.stray_names import Named, names_of, outside_the_model
from surefit.evidence.strays import (
    HALVES,
    INTO_THE_FIRST,
    PARAMETER,
    Stray,
    stray_device,
    stray_dtype,
)
from surefit.evidence.two_kinds import several_dtypes
from surefit.evidence.value_stories import line_of
from surefit.interpreter import violations, wording
from surefit.source.edits import appended, argument_added, inserted_before, replaced
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

RULE = Rule(
    "SF702",
    "dtype-of-another-kind",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"must have the same dtype|expected scalar type|expected m1 and m2|Found dtype"
            r"|Input type .* and (weight|bias) type|source and destination dtypes match",
            "which of the tensors has a dtype that the others have not, and where it got that",
        ),
    ),
)

FACTORIES = ("zeros", "ones", "full", "rand", "randn", "arange", "linspace", "empty", "eye")
PICTURE = 2
SCALED = "Pictures are usually divided by 255, too."
IDS = "If these are ids of a vocabulary, an `nn.Embedding` is meant, and no cast."


@dataclass(frozen=True, slots=True)
class Cast:
    """A place at which the dtype can be set, and how."""

    place: Place
    text: str
    edit: Edit | None


@RULE.on(Crash)
def dtypes_differ(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame if is_cause(crash, seen) else None
    failure = failure_of(seen, crash) if frame and several_dtypes(crash) else None
    stray = stray_dtype(failure) if failure and not stray_device(failure) else None
    if frame is None or failure is None or stray is None:
        return
    if any(True for _ in left_behind(crash, seen, stray, failure)):
        return  # unregistered-buffer speaks of that
    two_layers = layers_of_two_dtypes(failure, stray)
    if two_layers:
        yield layers_differ(crash, failure, two_layers)
        return
    names = names_of(crash, stray.operand)
    cast = where_to_cast(seen, stray, names) or Cast(frame.place, "", None)
    yield RULE.finding(
        cast.place,
        headline(failure, stray, names),
        facts=tuple(facts(seen, failure, stray, names)),
        ruled_out=(Fact("shapes", "they fit; in one dtype the operation would run"),),
        why=why(failure, stray),
        fixes=(fix(stray, names, cast),),
        python_said=crash.said,
        about=crash.id,
    )


def headline(failure: Failure, stray: Stray, names: list[Named]) -> str:
    known = outside_the_model(names) or (names[0] if names else None)
    what = code(known.text) if known else f"A tensor of shape {shape_of(stray.operand.shape)}"
    weights = [one for one in failure.given if one.name == PARAMETER and one.layer]
    layer = weights[0].layer if weights else None
    meets = f"{name(layer)} is {stray.wanted}" if layer else f"what it meets is {stray.wanted}"
    return f"{what} is {stray.is_}, and {meets}."


def facts(seen: Recording, failure: Failure, stray: Stray, names: list[Named]) -> Iterator[Fact]:
    if names:
        shape = shape_of(stray.operand.shape)
        yield Fact(code(names[0].text), f"{stray.is_} {shape}, at {names[0].frame.place}")
    weights = [one for one in failure.given if one.name == PARAMETER and one.layer]
    for one in weights[:1]:
        if one.layer:
            yield Fact(name(one.layer), f"{described(one.layer)}, {one.dtype}")
    origin = stray.origin
    if origin.own and origin.place is not None:
        line = line_of(origin, seen)
        yield Fact(f"{stray.is_} since", f"{origin.place}  {line}")


def why(failure: Failure, stray: Stray) -> str:
    if failure.name in INTO_THE_FIRST:
        return "Writing into a tensor does not cast what is written."
    if stray.is_ == "float64":
        return "NumPy and Python count in float64, and a tensor made of their numbers keeps that."
    if stray.is_whole:
        return f"A layer multiplies numbers with a fraction, and these are {stray.is_}."
    return "A cast of the model does not cast what it is given."


def where_to_cast(seen: Recording, stray: Stray, names: list[Named]) -> Cast | None:
    """Where it was made, if numbers came in there; otherwise before the model, under its name."""
    if stray.wanted not in HALVES and (stray.is_ == "float64" or stray.is_whole):
        made = at_origin(seen, stray) or in_rows(seen, stray, names)
        if made is not None:
            return made
    return before_use(seen, stray, names)


def at_origin(seen: Recording, stray: Stray) -> Cast | None:
    origin = stray.origin
    source = seen.source(origin.place) if origin.own else None
    node = call_of(source, origin) if source else None
    if source is None or node is None or origin.place is None:
        return None
    place = Place(source.file, node.lineno)
    if origin.name in ("tensor", "as_tensor", *FACTORIES):
        edit = argument_added(source, node, "dtype", f"torch.{stray.wanted}")
        return Cast(place, f"`dtype=torch.{stray.wanted}`", edit)
    return Cast(place, f"`{caster(stray.wanted)}`", appended(source, node, caster(stray.wanted)))


def call_of(source: Source, origin: Operation) -> ast.Call | None:
    """The one call on the operation's line that has its name."""
    line = origin.place.line if origin.place else None
    calls = list(source.calls_in(line)) if line else []
    found = [one for one in calls if called(one) == origin.name]
    return found[0] if len(found) == 1 else None


def caster(dtype: str) -> str:
    return ".float()" if dtype == "float32" else f".to(torch.{dtype})"


def in_rows(seen: Recording, stray: Stray, names: list[Named]) -> Cast | None:
    """A loader made it of what a dataset returns."""
    outside = outside_the_model(names)
    returned = returned_for(seen, outside) if outside else None
    if returned is None or not knows_torch(returned.source):
        return None
    text = f"torch.as_tensor({returned.source.segment(returned.node)}, dtype=torch.{stray.wanted})"
    return Cast(returned.place, f"{code(text)}", replaced(returned.source, returned.node, text))


def knows_torch(source: Source) -> bool:
    return any(one.name == "torch" and not one.asname for one in source.every(ast.alias))


def before_use(seen: Recording, stray: Stray, names: list[Named]) -> Cast | None:
    """A line that casts it, before it goes into the model or into the operation."""
    known = outside_the_model(names) or (names[0] if names else None)
    source = seen.source(known.frame.place) if known else None
    statement = source.statement_at(known.frame.place.line or 0) if source and known else None
    if known is None or source is None or statement is None:
        return None
    text = f"{known.text} = {known.text}{caster(stray.wanted)}"
    can_be = not hasattr(statement, "body") and knows_torch(source)
    try:
        edit = inserted_before(source, statement, text) if can_be else None
    except ValueError:
        edit = None
    return Cast(known.frame.place, code(text), edit)


def fix(stray: Stray, names: list[Named], cast: Cast) -> Fix:
    text = f"Cast it to {stray.wanted} here" + (f": {cast.text}." if cast.text else ".")
    if stray.is_ in ("int32", "int64"):
        text += f" {IDS}"
    if stray.is_ == "uint8" and len(stray.operand.shape) > PICTURE:
        text += f" {SCALED}"
    can_be = cast.edit is not None and bool(names)
    return Fix(
        text,
        cast.edit,
        must(stray, names[0]) if names else None,
        "" if can_be else "no line of yours names the tensor",
    )


def must(stray: Stray, named: Named) -> ValuesAt:
    wanted = Wanted(named.text, named.value.shape, stray.wanted)
    return ValuesAt(named.frame.place, (wanted,))


def layers_of_two_dtypes(failure: Failure, stray: Stray) -> list[Operation]:
    """The weights of the layer that failed, and of the one before it, if theirs differ."""
    here = [one for one in failure.given if one.name == PARAMETER and one.layer]
    for made in stray.chain:
        weights = [one for one in failure.taken(made) if one.name == PARAMETER and one.layer]
        if weights:
            return [here[0], weights[0]] if here else []
    return []


def layers_differ(crash: Crash, failure: Failure, weights: list[Operation]) -> Finding:
    """Two layers of a model were cast differently; the one that few are like is named."""
    dtypes = [one.dtype for one in failure.before if one.name == PARAMETER]
    odd = min(weights, key=lambda one: dtypes.count(one.dtype))
    other = next(one for one in weights if one is not odd)
    assert odd.layer is not None
    assert other.layer is not None
    place = odd.layer.made_at or (crash.own_frame.place if crash.own_frame else Place(""))
    return RULE.finding(
        place,
        f"{name(odd.layer)} has weights in {odd.dtype}, and {name(other.layer)} in {other.dtype}.",
        facts=(
            Fact(name(odd.layer), f"{described(odd.layer)}, {odd.dtype}"),
            Fact(name(other.layer), f"{described(other.layer)}, {other.dtype}"),
        ),
        why="What one layer gives is of its own dtype, and the next takes only its own.",
        fixes=(
            Fix(
                f"Make both of one dtype: `.to(torch.{other.dtype})` behind what makes"
                f" {name(odd.layer)}, before the optimizer; or cast between them.",
                why_not_tried="which of the two dtypes is meant only you know",
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


@RULE.on(Script)
def dtypes_in_the_source_differ(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.LayerDtypeMismatch):
        name = wording.layer_name(source, one.node, one.layer)
        weights = one.layer.dtype
        made = one.tensor.node if isinstance(one.tensor.node, ast.expr) else one.node
        yield RULE.finding(
            wording.place_of(source, made),
            f"{wording.text_of(source, made)} is {one.tensor.dtype}, and {name} is {weights}.",
            facts=(
                Fact("used at", wording.line_at(source, one.node)),
                Fact(name, f"made at {wording.place_of(source, one.layer.node)}"),
            ),
            why="A product takes numbers of one dtype.",
            fixes=(
                Fix(
                    f"Cast it before it is used: `.to(torch.{weights})`.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
