"""Calls of `kl_div` in the user's source, and what was seen of each while it ran."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from surefit.doctor.findings import Place
from surefit.doctor.observations import DivergenceSeen, Steps, TermSeen
from surefit.doctor.recording import Recording
from surefit.doctor.words import code
from surefit.source.operations import operation
from surefit.source.origins import origin
from surefit.source.outcomes import maker
from surefit.source.reading import Source

FUNCTION, LAYER = "torch.nn.functional.kl_div", "torch.nn.KLDivLoss"
SOFTMAX = ("torch.nn.functional.softmax", "torch.softmax", ".softmax", "torch.nn.Softmax")
LOG_SOFTMAX = (
    *("torch.nn.functional.log_softmax", "torch.log_softmax", ".log_softmax"),
    "torch.nn.LogSoftmax",
)
OF_LABELS = ("cross_entropy", "nll_loss", "binary_cross_entropy_with_logits")
"""Losses that the labels of a script have a part in."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """A call of `kl_div`, or of a `KLDivLoss`."""

    source: Source
    call: ast.Call
    made: ast.Call | None
    """Of a `KLDivLoss`: the call that made it."""
    seen: tuple[DivergenceSeen, ...] = ()
    """In the order of the calls; empty where the script was only read."""

    @property
    def name(self) -> str:
        return "`kl_div`" if self.made is None else "`KLDivLoss`"

    @property
    def settings(self) -> ast.Call:
        """The call that says `reduction` and `log_target`."""
        return self.made or self.call

    @property
    def given(self) -> ast.expr | None:
        return self.source.argument(self.call, "input", 0)

    @property
    def target(self) -> ast.expr | None:
        return self.source.argument(self.call, "target", 1)

    @property
    def place(self) -> Place:
        return self.place_of(self.call)

    @property
    def shown(self) -> tuple[str, str]:
        """Both sides as they are written."""
        first, second = (
            code(self.source.segment(node)) if node is not None else "an argument"
            for node in (self.given, self.target)
        )
        return first, second

    @property
    def line(self) -> Place:
        """Where conditions look for it."""
        return Place(self.source.file, self.call.lineno)

    def place_of(self, node: ast.expr) -> Place:
        return Place(self.source.file, node.lineno, node.end_lineno)


def divergences_seen(steps: Steps, seen: Recording) -> Iterator[Divergence]:
    """Each line of the user's that calls one, by itself and not through a library."""
    if steps.process.rank not in (None, 0):
        return
    by_place: dict[Place, list[DivergenceSeen]] = {}
    for one in steps.divergences:
        if one.place is not None:
            by_place.setdefault(one.place, []).append(one)
    for place, several in by_place.items():
        source = seen.source(place)
        found = [
            one
            for one in (divergences_in(source) if source else ())
            if one.call.lineno <= (place.line or 0) <= (one.call.end_lineno or one.call.lineno)
        ]
        if len(found) == 1:
            yield replace(found[0], seen=tuple(several))


def divergences_in(source: Source) -> Iterator[Divergence]:
    """All that the file has."""
    if not any("kl_div" in line or "KLDivLoss" in line for line in source.lines):
        return
    for call in source.every(ast.Call):
        name = operation(source, call)
        if name == FUNCTION:
            yield Divergence(source, call, None)
        elif name == LAYER and not source.imported(call.func):
            yield Divergence(source, call, maker(source, call.func))


def softmax_of(source: Source, node: ast.expr) -> ast.Call | None:
    """The call of a softmax, or of its logarithm, that an expression comes from."""
    match origin(source, node):
        case ast.Call() as made if operation(source, made) in (*SOFTMAX, *LOG_SOFTMAX):
            return made
    return None


def kind_of_side(source: Source, node: ast.expr | None) -> str:
    """`probabilities` or `logarithms`, where the source alone says so; otherwise empty."""
    made = softmax_of(source, node) if node is not None else None
    if made is None:
        return ""
    return "probabilities" if operation(source, made) in SOFTMAX else "logarithms"


CLOSE = 1e-3
"""Between weights, which pass through a backward pass in the precision of the loss."""


def is_plain_weight(weight: float, call: DivergenceSeen) -> bool:
    """At most one, or such a weight times the square of the temperature: no factor is in it that
    makes up for something else."""
    if 0 < weight <= 1 + CLOSE:
        return True
    squared = (call.temperature or 1.0) ** 2
    return squared > 1 and weight > 0 and is_share(weight / squared, call)


def is_share(weight: float, call: DivergenceSeen) -> bool:
    """With what the losses of the labels weigh it makes one, or all of them weigh one."""
    others = [term.weight for term in of_labels(call)] or [term.weight for term in call.beside]
    if abs(weight + sum(others) - 1) < CLOSE and all(one > 0 for one in others):
        return True
    return all(abs(one - 1) < CLOSE for one in (weight, *others))


def of_labels(call: DivergenceSeen) -> list[TermSeen]:
    return [term for term in call.beside if term.name in OF_LABELS]


def of_loss(call: DivergenceSeen, part: float) -> float:
    """The share of a part in the loss that it makes with the terms beside."""
    whole = abs(part) + sum(abs(term.weight * (term.value or 0.0)) for term in call.beside)
    return abs(part) / whole if whole else 0.0


def term_in_words(term: TermSeen) -> str:
    value = f"{term.value:.3g}" if term.value is not None else "a term"
    return f"`{term.name}` {value}, {term.weight:.3g} times"


def over_looked(call: DivergenceSeen) -> str:
    """What a figure is taken over, where that is not every position."""
    if not call.looked or call.looked == call.places:
        return ""
    return f", over {call.looked:,} of {call.places:,} positions looked at"
