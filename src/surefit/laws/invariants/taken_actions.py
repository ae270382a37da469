"""The log-probability in a loss is that of the action whose reward it is multiplied by.

A fresh draw that nothing else reads has no reward; a Monte Carlo estimate of the entropy is one of
its own, and no reward stands beside it.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.progress import steps_taken
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.evaluation.evaluation_names import words_of
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.losses.td_targets import names_behind
from surefit.source.classes import function_called
from surefit.source.definitions import definition
from surefit.source.reading import Source, called
from surefit.source.returns import own_returns
from surefit.source.unread import bound_together, unread_names

LAW = Law("taken_actions", "the log-probability in a loss is that of the action that was taken")
PROOF_STEPS = 8

DRAWS = ("sample", "rsample", "multinomial", "sample_n")
ACTIONS = frozenset(("action", "actions", "act", "acts", "a", "chosen", "sampled"))
SCORE = "log_prob"


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherDrawScored(BrokenLaw):
    """What is scored was drawn again, and what was rewarded is another draw."""

    taken: str
    """The name of the action that was rewarded."""


@dataclass(frozen=True, slots=True)
class ScoredDraw:
    """`dist.log_prob(dist.sample())`, and what it is multiplied by."""

    call: ast.Call
    given: ast.expr
    weight: ast.expr


def violations_of(case: Case) -> Iterator[OtherDrawScored]:
    if not steps_taken(case.recording):
        return
    for source in case.recording.sources():
        for scored in scored_draws(source):
            taken = taken_action(source, scored)
            if taken:
                yield of_another_draw(case, source, scored, taken)


def of_another_draw(case: Case, source: Source, scored: ScoredDraw, taken: str) -> OtherDrawScored:
    given = case.expression(source, scored.given)
    weight = case.expression(source, scored.weight)
    return OtherDrawScored(
        use=given,
        said=f"`{SCORE}` is given a new sample, `{given.text}`, and is multiplied by"
        f" `{weight.text}`, which belongs to another action, `{taken}`.",
        facts=(Fact("scored", f"`{given.text}`, drawn again"), Fact("rewarded", f"`{taken}`")),
        steps=PROOF_STEPS,
        fault=f"{LAW.name} {given.place}",
        taken=taken,
    )


def scored_draws(source: Source) -> Iterator[ScoredDraw]:
    for call in source.calls_named(SCORE):
        given = source.argument(call, "value", 0)
        if given is not None and is_fresh(source, given):
            for use in (call, *reads_of(source, call)):
                weight = weight_of(source, use)
                if weight is not None:
                    yield ScoredDraw(call, given, weight)
                    break


def is_draw(source: Source, node: ast.AST | None) -> bool:
    """`dist.sample()`, also by a function of the file that gives one back."""
    if not isinstance(node, ast.Call):
        return False
    if called(node) in DRAWS:
        return True
    function = function_called(source, node)
    returned = own_returns(function) if function is not None else ()
    return any(
        isinstance(part, ast.Call) and called(part) in DRAWS
        for entry in returned
        for part in (entry.value, definition_of(source, entry.value))
    )


def definition_of(source: Source, node: ast.AST | None) -> ast.expr | None:
    return definition(source, node) if isinstance(node, ast.Name) else None


def is_fresh(source: Source, node: ast.expr) -> bool:
    """Nothing else reads it."""
    if not isinstance(node, ast.Name):
        return is_draw(source, node)
    scope = source.scope_of(node)
    reads = [read for read in source.names_read.get(node.id, ()) if source.scope_of(read) is scope]
    return len(reads) == 1 and is_draw(source, definition(source, node))


def reads_of(source: Source, call: ast.Call) -> Iterator[ast.expr]:
    """Of the name that a log-probability is kept under."""
    match source.statement_of(call):
        case ast.Assign(targets=[ast.Name(id=name)]):
            for read in source.names_read.get(name, ()):
                value = definition(source, read)
                if value is not None and call in ast.walk(value):
                    yield read


def weight_of(source: Source, node: ast.expr) -> ast.expr | None:
    """The other factor of the product that it is in, where that is no plain number."""
    for outer in source.up(node):
        if not isinstance(outer, ast.expr):
            return None
        if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Mult):
            other = outer.right if node in ast.walk(outer.left) else outer.left
            if any(isinstance(part, ast.Name) for part in ast.walk(other)):
                return other
    return None


def taken_action(source: Source, scored: ScoredDraw) -> str:
    """The only other draw that the weight depends on; of a function that is given both, the action
    that stands beside the weight and that nothing reads."""
    behind = names_behind(source, scored.weight)
    scope = source.scope_of(scored.call)
    drawn = {
        read.id
        for name in behind
        for read in source.names_read.get(name, ())
        if source.scope_of(read) is scope and is_draw(source, definition(source, read))
    } - names_behind(source, scored.given)
    if not drawn:
        drawn = {
            unread.name
            for unread in unread_names(source)
            if unread.scope is scope and words_of(unread.name) & ACTIONS
            if bound_together(source, unread) & behind
        }
    return drawn.pop() if len(drawn) == 1 else ""


def watched(recording: Recording) -> MeasuredOn:
    scored = sum(1 for source in recording.sources() for _ in source.calls_named(SCORE))
    if not steps_taken(recording) or not scored:
        return MeasuredOn(why_not="no log-probability of a draw is in the source")
    return MeasuredOn(on=f"{counted(scored, 'call')} of `{SCORE}`")
