"""`ignore_index` names a class that the model must learn.

## What happens
A cross entropy passes over every target that equals `ignore_index`. With `ignore_index=0` and
labels that begin at 0, the first class, often the background, takes no part in the loss, although
the model has an output for it.

## Why it matters
Nothing is raised, and the loss is low: the class is never a target, so that predicting any other in
its place costs nothing. It is never predicted, and metrics over all classes are poor.

## What to do
Leave `ignore_index` out. To ignore pixels or tokens without a label, give these an index outside of
the classes: -100 is the default, 255 is common in segmentation.

## How it is recognised
Targets from the loader were counted that equal `ignore_index`, an index of the classes; they are
some and not all; and nothing in the source speaks of padding, of void or unlabelled rows, or leaves
a class out of a metric.
"""

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.losses.ignored_classes import IgnoredClass
from surefit.laws.losses.loss_calls import loss_call_at
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import DropArgument

RULE = Rule("SF442", "class-ignored-by-the-loss", Severity.WARNING, __doc__)


@RULE.on(IgnoredClass)
def a_real_class_takes_no_part(broken: IgnoredClass, case: Case) -> Finding:
    site = broken.site
    loss = loss_call_at(case, site.place, site.name)
    place = loss.place if loss is not None else broken.use.place
    return case.finding(
        place,
        f"`ignore_index={site.ignore_index}` leaves class {site.ignore_index} out of the loss, and"
        f" {site.ignored:,} of {site.labels:,} targets are this class: it is never learned.",
        facts=broken.facts,
        why=f"The model has an output for class {site.ignore_index}, and no target ever asks for"
        " it: any other prediction in its place costs nothing.",
        remedies=(
            DropArgument(
                at=case.expression(loss.source, loss.made) if loss is not None else None,
                name="ignore_index",
                words="Leave `ignore_index` out; mark labels to ignore with -100, its default.",
                must=law_holds(broken),
            ),
        ),
    )
