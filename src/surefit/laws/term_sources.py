"""Where the source reduces a term of a loss to a single number."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.measures.loss_terms import LossTerm
from surefit.laws.case import Case
from surefit.laws.loss_calls import loss_call_at
from surefit.laws.loss_law import measures
from surefit.laws.loss_sources import entering_loss
from surefit.source.reading import Source, called


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
