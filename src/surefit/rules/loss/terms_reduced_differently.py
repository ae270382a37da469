"""One term of a loss is averaged over batch and elements, and another is summed.

## What happens
A loss is the sum of two terms, and their reductions differ: `reduction="mean"`, the default,
divides by the rows and by all elements of a row, and `torch.sum` divides by nothing, or
`.sum(1).mean()` by the rows alone. In a variational autoencoder these are the reconstruction term
and the KL divergence.

## Why it matters
The summed term outweighs the averaged one by the number of elements, thousands of times, and by
more in a larger batch. A KL divergence that dominates so makes the posterior collapse: the latent
code says nothing, and all reconstructions are the same mean image.

## What to do
Use one reduction for all terms: `reduction="sum"` for the reconstruction, and divide the loss by
the number of rows; or sum each over the elements of a row and average over the rows. If a term is
to count less, say so with a weight.

## How it is recognised
The graph of the loss has the terms that are added, how each was reduced, over what shape, and its
factor. One is a mean over rows and elements, the other a sum over the same rows; both are computed
from the same tensor, and no weight stands before either. A sum over the elements of each row, of
which the mean is taken, counts where it is a divergence and has vanished: all variances are 1.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.measures.loss_terms import LossTerm
from surefit.doctor.rule import Rule
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.invariants.loss_terms import ROW_SUM, TermsReducedDifferently, times_as_much
from surefit.laws.losses.loss_calls import loss_call_at
from surefit.laws.losses.loss_law import measures
from surefit.laws.losses.loss_sources import entering_loss
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.edits import appended, argument_added, both, replaced
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

RULE = Rule("SF435", "terms-reduced-differently", Severity.ERROR, __doc__)

OF_ROWS = ".flatten(1).sum(1).mean()"


@dataclass(frozen=True, slots=True)
class ReductionCall:
    """`F.mse_loss(...)`, `nn.MSELoss()`, `x.mean()`, `torch.sum(x)`."""

    source: Source
    call: ast.Call
    """Where the reduction is, or would be, written."""
    at: ast.Call
    """Where the term is computed."""
    is_loss: bool

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.call.lineno, self.call.end_lineno)

    @property
    def name(self) -> str:
        """Of what the term is assigned to; empty where it is used as it is."""
        statement = self.source.statement_of(self.at)
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                return name
        return ""


@RULE.on(TermsReducedDifferently)
def a_mean_and_a_sum_are_added(broken: TermsReducedDifferently, case: Case) -> Finding:
    by_rows = broken.summed.reduction == ROW_SUM
    averaged = averaged_call(case, broken.use.place, broken.averaged)
    summed = None if by_rows else summed_call(case, broken.use.place)
    elements = prod(broken.averaged.shape)
    first = name_of(averaged, broken.averaged.operation)
    second = name_of(summed, broken.summed.operation)
    over = "the elements of each row" if by_rows else "the batch"
    times = times_as_much(broken.averaged, broken.summed)
    return case.finding(
        averaged.place if averaged is not None else broken.use.place,
        f"Terms of the loss have different reductions: {first} is averaged over batch and elements"
        f" ({elements:,}), and {second} is summed over {over}, so that it counts {times:,} times as"
        " much per element.",
        facts=broken.facts,
        why="A mean divides by rows and elements, a sum by nothing: the summed term dominates the"
        " gradient. A KL divergence that does so collapses the posterior.",
        remedies=(reduced_alike(broken, averaged, first),),
    )


def reduced_alike(
    broken: TermsReducedDifferently, averaged: ReductionCall | None, name: str
) -> Change:
    if broken.summed.reduction == ROW_SUM:
        edit = with_sums_of_rows(averaged) if averaged is not None else None
        words = f"Sum {name} over the elements of each row as well, and average over the rows."
    else:
        edit = with_a_sum(averaged) if averaged is not None else None
        words = (
            f"Sum {name} as well; divide the whole loss by the rows if its size matters to the"
            " learning rate."
        )
    return Change(to=edit, words=words, must=law_holds(broken))


def with_sums_of_rows(reduction: ReductionCall) -> Edit | None:
    """`F.mse_loss(x, y, reduction="none").flatten(1).sum(1).mean()`."""
    source, call = reduction.source, reduction.call
    if not reduction.is_loss:
        text = source.segment(call)
        inner = text.removesuffix(".mean()")
        return replaced(source, call, f"{inner}{OF_ROWS}") if inner != text else None
    none = argument_added(source, call, "reduction", '"none"')
    return both(none, appended(source, reduction.at, OF_ROWS))


def name_of(call: ReductionCall | None, operation: str) -> str:
    return f"`{call.name}`" if call is not None and call.name else code(operation)


def with_a_sum(reduction: ReductionCall) -> Edit | None:
    source, call = reduction.source, reduction.call
    if reduction.is_loss:
        return argument_added(source, call, "reduction", '"sum"')
    text = source.segment(call.func)
    if not text.endswith("mean") or not isinstance(call.func, ast.Attribute):
        return None
    return replaced(source, call.func, f"{text.removesuffix('mean')}sum")


def averaged_call(case: Case, backward: Place, term: LossTerm) -> ReductionCall | None:
    """By the loss function that was called with predictions of this shape; or the only `mean`."""
    if term.operation != "mean":
        places = {
            site.place
            for measure in measures(case.recording)
            for site in measure.sites
            if site.shape == term.shape and site.reduction == "mean"
            if site.name == term.operation
        }
        written = loss_call_at(case, places.pop(), term.operation) if len(places) == 1 else None
        return ReductionCall(written.source, written.made, written.call, True) if written else None
    return only_call(case, backward, "mean")


def summed_call(case: Case, backward: Place) -> ReductionCall | None:
    return only_call(case, backward, "sum")


def only_call(case: Case, backward: Place, name: str) -> ReductionCall | None:
    """Of all that can enter the loss, the only reduction of this name over all elements."""
    source = case.source(backward)
    if source is None:
        return None
    found = list(reductions(source, backward, name))
    return ReductionCall(source, found[0], found[0], False) if len(found) == 1 else None


def reductions(source: Source, backward: Place, name: str) -> Iterator[ast.Call]:
    for node in entering_loss(source, backward, lambda _: False):
        if isinstance(node, ast.Call) and called(node) == name and not names_an_axis(source, node):
            yield node


def names_an_axis(source: Source, call: ast.Call) -> bool:
    function = source.imported(call.func).startswith("torch")
    return len(call.args) > function or any(word.arg in ("dim", "axis") for word in call.keywords)
