"""A map of classes is resized or turned like a picture, to numbers between the classes.

## What happens
A segmentation mask holds a class number for each pixel. Resized or rotated by interpolation, as
`interpolate(mode="bilinear")` and `Image.resize` do it, a pixel at the border of class 1 and class
3 becomes 2. Converted to integers, it is another class.

## Why it matters
Nothing is raised: 2 is a class, too. All borders are labelled with classes that are not there, and
thin objects disappear.

## What to do
Take the nearest pixel for masks: `mode="nearest"`, `resample=Image.NEAREST`. Pictures stay as they
are.

## How it is recognised
A function that resamples is given few different integers and gives back numbers that its input does
not have; rows of the integer target of a loss have each number as often as such a result has. The
functions are `torch.nn.functional.interpolate` and `grid_sample`, and `resize`, `rotate` and
`transform` of a PIL image. Results that are only compared with a threshold have no new numbers.
"""

import ast

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.class_maps import ClassesBlended, listed
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.edits import argument_added, argument_removed, replaced
from surefit.source.patches import all_of

RULE = Rule("SF284", "classes-blended", Severity.ERROR, __doc__)

NEAREST = '"nearest"'
RESAMPLE = {"resize": 1, "rotate": 1, "transform": 3}
"""Positions of `resample`."""


@RULE.on(ClassesBlended)
def classes_are_resampled_like_a_picture(broken: ClassesBlended, case: Case) -> Finding:
    maps = broken.maps
    return case.finding(
        broken.use.place,
        f"`{maps.function}` blends the classes of a target: it computes {listed(maps.others)} where"
        f" the map has {listed(maps.classes)}.",
        facts=broken.facts,
        why="Class numbers are names. The mean of two of them is the name of a third class.",
        remedies=[remedy(broken, case)],
    )


def remedy(broken: ClassesBlended, case: Case) -> Change | Fix:
    words = "Take the nearest element for a map of classes"
    source, call = case.source(broken.use), case.node(broken.use)
    if source is None or not isinstance(call, ast.Call):
        return Fix(f"{words}.")
    must = law_holds(broken)
    if broken.maps.function not in RESAMPLE:
        edits = [argument_added(source, call, "mode", NEAREST)]
        if any(keyword.arg == "align_corners" for keyword in call.keywords):
            name = "align_corners"
            if broken.maps.function == "interpolate":
                edits.append(argument_removed(source, call, name))
        return Change(to=all_of(edits), words=f"{words}: `mode={NEAREST}`.", must=must)
    position = RESAMPLE[broken.maps.function]
    nearest = "Image.NEAREST" if "Image" in source.names_read else "0"
    if len(call.args) > position:
        edit = replaced(source, call.args[position], nearest)
    else:
        edit = argument_added(source, call, "resample", nearest)
    return Change(to=edit, words=f"{words}: `resample={nearest}`.", must=must)
