"""What operations of torch take, by the table of contracts: which demand a failing call breaks."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from surefit.doctor.observations import Value
from surefit.doctor.violations import Operand, Violation
from surefit.laws.case import Case, use_of
from surefit.laws.operations.demands import Conflict, Given, Party, conflicts
from surefit.laws.operations.failing_calls import FailingCall, failing_call

NAMES = {"check_hidden_size": "A recurrent layer", "getitem": "An index in brackets"}
RENAMED = {
    "grid_sampler": "grid_sample",
    "cross_entropy_loss": "cross_entropy",
    "nll_loss_nd": "nll_loss",
    "split_with_sizes": "split",
}
"""Functions inside torch -> what calls them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandBroken(Violation):
    """The operands of an operation do not meet one of its demands."""

    call: FailingCall
    conflict: Conflict

    @property
    def operation(self) -> str:
        """As the user would call it."""
        plain = self.call.operation.strip("_")
        return NAMES.get(plain, f"`{RENAMED.get(plain, plain)}`")

    @property
    def why(self) -> str:
        """What the axes of the operands mean; empty where that is not fixed."""
        layout = self.call.contract.layout
        return f"{self.operation} takes {layout}." if layout else ""

    def operand(self, side: Party | None) -> Operand | None:
        return self.call.operands.get(side.argument) if side is not None else None

    def name(self, side: Party) -> str:
        """In backticks, as the user calls it; an argument that has no name goes by its own."""
        operand = self.operand(side)
        return operand.name if operand is not None else f"`{side.argument}`"

    def met_with(self, changed: Given) -> bool:
        """The call, with other values for some arguments, meets every demand."""
        given = {**self.call.given, **changed}
        for name, value in changed.items():
            given = with_item(given, name, value)
        return next(conflicts(self.call.contract.demands, given), None) is None


def with_item(given: Given, name: str, value: Value) -> dict[str, Value]:
    """An item of a list is replaced in the list, too."""
    whole, _, key = name.partition("[")
    known = given.get(whole)
    if not key or known is None:
        return dict(given)
    members = {**known.members, key.rstrip("]"): value}
    return {**given, whole: replace(known, members=members)}


def violations_of(case: Case) -> Iterator[Violation]:
    call = failing_call(case)
    if call is None or case.own is None:
        return
    broken = next(conflicts(call.contract.demands, call.given), None)
    if broken is not None:
        yield DemandBroken(use=use_of(case.own), call=call, conflict=broken)
