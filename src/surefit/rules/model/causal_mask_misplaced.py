"""The causal mask is off by one diagonal, or inverted: each position sees its own target.

## What happens
`tril(1)` keeps one diagonal too many, and `triu(diagonal=2)` hides one too few: position t attends
to t + 1, which is its own target. Where `tril` and `triu` are mixed up, or a mask is true where it
must be false, a position sees the future and not the past.

## Why it matters
The loss falls to almost nothing, also on held-out rows, because the next token is copied. At
generation, where there is no next token yet, the model is of no use.

## What to do
Keep the diagonal and what lies below: `torch.tril(ones)` where true means visible,
`torch.triu(ones, diagonal=1)` where true means hidden.

## How it is recognised
The targets of the loss are an input moved by one position. With the live model in evaluation mode
later tokens were changed and outputs of earlier positions changed. The weights of the attention, or
the mask it was given, hide some later positions but not all, or hide the earlier ones.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import fact_at
from surefit.doctor.words import counted
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.future import FutureIsSeen
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import SetArgument
from surefit.remedies.replace import ReplaceWith
from surefit.source.reading import Source, called

RULE = Rule("SF356", "causal-mask-misplaced", Severity.ERROR, __doc__)

TRIANGLES = ("tril", "triu", "tril_", "triu_")


@dataclass(frozen=True, slots=True)
class Triangle:
    """`ones.tril(1)`, `torch.triu(ones, diagonal=2)`."""

    source: Source
    call: ast.Call
    diagonal: int | None
    """None where it is no plain number."""

    @property
    def is_function(self) -> bool:
        return bool(self.source.imported(self.call.func))

    @property
    def written(self) -> ast.expr | None:
        """The expression of the diagonal."""
        return self.source.argument(self.call, "diagonal", 1 if self.is_function else 0)


@RULE.on(FutureIsSeen)
def mask_lets_the_next_token_through(broken: FutureIsSeen, case: Case) -> Finding | None:
    reach = broken.operation.reach
    if reach is None or not (broken.ahead or broken.is_inverted):
        return None
    built = [found for found in triangles(case, broken.use.place) if found.diagonal is not None]
    at = case.expression(built[0].source, built[0].call) if built else broken.use
    seen = f"{counted(reach.before, 'position')} back, {counted(reach.after, 'position')} ahead"
    return case.finding(
        at.place,
        f"The causal mask {words(broken)}, and the loss asks for the next one: the future is"
        " visible.",
        facts=(
            Fact("visible", f"{seen}; 0 ahead expected"),
            *broken.facts,
            *fact_at("used at", broken.use),
        ),
        why="The token that a position should predict is among its inputs. The loss falls because"
        " it is copied; where tokens are generated, it is not there.",
        remedies=list(ways(broken, case, built)),
    )


def words(broken: FutureIsSeen) -> str:
    if broken.is_inverted:
        return "is inverted: each position sees later tokens and no earlier ones"
    if broken.ahead == 1:
        return "is off by one diagonal: each position sees the next token"
    return f"is off by {broken.ahead} diagonals: each position sees the next {broken.ahead} tokens"


def ways(broken: FutureIsSeen, case: Case, built: list[Triangle]) -> Iterator[Remedy]:
    for triangle in built:
        at = case.expression(triangle.source, triangle.call)
        if broken.is_inverted:
            yield ReplaceWith(
                at=at,
                text=mirrored(triangle),
                words="Hide later positions, not earlier ones: the other triangle.",
                must=law_holds(broken),
            )
            continue
        right = (triangle.diagonal or 0) - (broken.ahead or 0)
        said = f"Set the diagonal of the causal mask to {right}."
        if triangle.written is not None and not named(triangle):
            at = case.expression(triangle.source, triangle.written)
            yield ReplaceWith(at=at, text=str(right), words=said, must=law_holds(broken))
        else:
            yield SetArgument(
                at=at, name="diagonal", value=str(right), words=said, must=law_holds(broken)
            )


def named(triangle: Triangle) -> bool:
    return any(keyword.arg == "diagonal" for keyword in triangle.call.keywords)


def mirrored(triangle: Triangle) -> str:
    """`triu(1)` for `tril(-1)`."""
    call = copy.deepcopy(triangle.call)
    name = called(call)
    other = {"tril": "triu", "triu": "tril"}[name.removesuffix("_")] + "_" * name.endswith("_")
    if isinstance(call.func, ast.Attribute):
        call.func.attr = other
    elif isinstance(call.func, ast.Name):
        call.func.id = other
    number = ast.parse(str(-(triangle.diagonal or 0)), mode="eval").body
    if named(triangle):
        next(keyword for keyword in call.keywords if keyword.arg == "diagonal").value = number
    elif triangle.written is not None:
        call.args[-1] = number
    return ast.unparse(call)


def triangles(case: Case, near: Place) -> Iterator[Triangle]:
    """Those of the file of `near` first, the one whose class is the same, and then the closest."""
    every = [
        Triangle(source, call, diagonal_of(source, call))
        for source in case.recording.sources()
        for call in source.calls_named(*TRIANGLES)
    ]
    yield from sorted(every, key=lambda found: distance(found, near))


def diagonal_of(source: Source, call: ast.Call) -> int | None:
    node = source.argument(call, "diagonal", 1 if source.imported(call.func) else 0)
    if node is None:
        return 0
    try:
        value = ast.literal_eval(source.value_of(node))
    except (ValueError, TypeError):
        return None
    return value if type(value) is int else None


def distance(triangle: Triangle, near: Place) -> tuple[bool, bool, int]:
    line = near.line or 0
    call = triangle.call
    classes = [
        node
        for node in triangle.source.up(call)
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    ]
    outside = not any(node.lineno <= line <= (node.end_lineno or 0) for node in classes)
    return triangle.source.file != near.file, outside, abs(call.lineno - line)
