"""Losses that a script computes, as its source shows them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.source.operations import operation
from surefit.source.reading import Source
from surefit.source.remembered import remembered

FUNCTIONS = {
    "cross_entropy": "cross_entropy",
    "nll_loss": "nll_loss",
    "binary_cross_entropy_with_logits": "binary_cross_entropy_with_logits",
    "binary_cross_entropy": "binary_cross_entropy",
    "mse_loss": "mse_loss",
    "l1_loss": "l1_loss",
    "smooth_l1_loss": "smooth_l1_loss",
    "huber_loss": "huber_loss",
}
CLASSES = {
    "CrossEntropyLoss": "cross_entropy",
    "NLLLoss": "nll_loss",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "BCELoss": "binary_cross_entropy",
    "MSELoss": "mse_loss",
    "L1Loss": "l1_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "HuberLoss": "huber_loss",
}
OF_CLASSES = ("cross_entropy", "nll_loss")
OF_YES_OR_NO = ("binary_cross_entropy_with_logits", "binary_cross_entropy")


@dataclass(frozen=True, slots=True)
class LossCall:
    """A call that computes a loss of predictions and targets."""

    call: ast.Call
    name: str
    """Of the function of torch that does the same."""
    shown: str
    """As the script has it: `CrossEntropyLoss`, `cross_entropy`."""
    given: ast.expr
    target: ast.expr


def losses(source: Source) -> list[LossCall]:
    return found_in(source, source.tree)


@remembered(otherwise=())
def found_in(source: Source, _: ast.Module) -> list[LossCall]:
    return list(every_loss(source))


def every_loss(source: Source) -> Iterator[LossCall]:
    if not any("torch" in line for line in source.lines):
        return
    for call in source.every(ast.Call):
        if len(call.args) + len(call.keywords) < 2:
            continue
        package, _, last = operation(source, call).rpartition(".")
        known = FUNCTIONS if package == "torch.nn.functional" else {}
        known = CLASSES if package == "torch.nn" and not source.imported(call.func) else known
        given = source.argument(call, "input", 0)
        target = source.argument(call, "target", 1)
        if last in known and given is not None and target is not None:
            yield LossCall(call, known[last], last, given, target)
