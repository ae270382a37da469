"""The two ways of data for an input that differs between training and evaluation."""

import ast

from surefit.doctor.measures.phase_inputs import PhaseInput
from surefit.doctor.rule import Unanswered
from surefit.laws.case import Case
from surefit.laws.invariants.prepared_alike import PreparedOtherwise
from surefit.laws.rows.data_stages import PartedWays, Stage, stages
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import LINEAGE


def parting_of(broken: PreparedOtherwise, case: Case) -> PartedWays | None:
    """None where one of the two is not known."""
    ways = lineages(case, broken.trained, broken.evaluated)
    training, evaluation = (stages(case, lineage) for lineage in ways)
    if not training or not evaluation:
        return None
    handed = handed_over(case, broken.evaluated, evaluation[0])
    return PartedWays(broken.trained, broken.evaluated, training, evaluation, handed)


def lineages(case: Case, *inputs: PhaseInput) -> list[Lineage]:
    """All are asked for at once: each run to answer a question takes its time."""
    found: list[Lineage] = []
    for known in inputs:
        try:
            found.append(lineage_of(case, known))
        except Unanswered:
            continue
    if len(found) < len(inputs):
        raise Unanswered(LINEAGE)
    return found


def lineage_of(case: Case, known: PhaseInput) -> Lineage:
    place = known.stack[0]
    if known.model:
        return case.lineage_of_argument(known.taker, known.name, place, known.step, known.grad)
    return case.lineage_of_target(known.taker, place, known.step, known.grad)


def handed_over(case: Case, known: PhaseInput, newest: Stage) -> Stage | None:
    """What the line of the user's calls the model with."""
    site = known.call
    source = case.source(site.place) if site is not None else None
    if site is None or source is None or site.place.line is None:
        return None
    for call in source.calls_in(site.place.line):
        ends = call.col_offset, call.end_col_offset
        if call.lineno == site.place.line and ends == (site.column, site.end_column):
            value = argument(call, known)
            return Stage(source, value, newest.producer) if value is not None else None
    return None


def argument(call: ast.Call, known: PhaseInput) -> ast.expr | None:
    named = [word.value for word in call.keywords if word.arg == known.name]
    if named:
        return named[0]
    plain = not any(isinstance(value, ast.Starred) for value in call.args)
    return call.args[known.position] if plain and known.position < len(call.args) else None
