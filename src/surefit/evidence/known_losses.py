"""Losses of a script that is only read, with what is known of their two sides."""

import ast
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Fix
from surefit.doctor.words import code
from surefit.evidence.known_tensors import Sizes, Tensor
from surefit.evidence.read_losses import OF_CLASSES, OF_YES_OR_NO, LossCall, losses
from surefit.evidence.read_tensors import known
from surefit.source.edits import Edit, appended
from surefit.source.reading import Source
from surefit.source.remembered import remembered

ONLY_READ = "the script was read, not run"


@dataclass(frozen=True, slots=True)
class KnownLoss:
    """A call of a loss, of which both sides are known to be tensors."""

    loss: LossCall
    given: Tensor
    target: Tensor
    given_name: str
    target_name: str

    @property
    def of_classes(self) -> bool:
        return self.loss.name in OF_CLASSES

    @property
    def of_yes_or_no(self) -> bool:
        return self.loss.name in OF_YES_OR_NO

    @property
    def name(self) -> str:
        return f"`{self.loss.shown}`"

    @property
    def line(self) -> int:
        return self.loss.call.lineno

    def facts(self) -> tuple[Fact, ...]:
        sides = (self.given_name, self.given), (self.target_name, self.target)
        return tuple(Fact(name, in_words(tensor)) for name, tensor in sides)


def in_words(tensor: Tensor) -> str:
    kind = tensor.kind or "a tensor"
    return f"{kind} {sizes_in_words(tensor.sizes)}" if tensor.sizes is not None else kind


def sizes_in_words(sizes: Sizes | None) -> str:
    """`(?, 4)`, with a mark for what the source does not tell."""
    shown = ["?" if one is None else str(one) for one in sizes or ()]
    return f"({shown[0]},)" if len(shown) == 1 else f"({', '.join(shown)})"


def known_losses(source: Source) -> list[KnownLoss]:
    return found_in(source, source.tree)


@remembered(otherwise=())
def found_in(source: Source, _: ast.Module) -> list[KnownLoss]:
    found = []
    for loss in losses(source):
        given, target = known(source, loss.given), known(source, loss.target)
        if isinstance(given, Tensor) and isinstance(target, Tensor):
            names = code(source.segment(loss.given)), code(source.segment(loss.target))
            found.append(KnownLoss(loss, given, target, *names))
    return found


def appended_to_target(source: Source, one: KnownLoss, text: str) -> Fix:
    return behind(source, one.loss.target, one.target_name, text)


def behind(source: Source, node: ast.expr, name: str, text: str) -> Fix:
    edit: Edit = appended(source, node, text)
    return Fix(f"{code(text)} behind {name}.", edit, why_not_tried=ONLY_READ)
