"""Whether a comparison that is to keep the best state can hold at all."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from surefit.doctor.findings import Fact, Place
from surefit.doctor.measures.saving import Bests
from surefit.doctor.progress import final_steps, steps_taken
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.evaluation.best_choices import Choice, choices, keeping
from surefit.laws.law import BrokenLaw
from surefit.source.reading import Source, called

FEWEST = 2
"""Evaluations after which training went on: the comparison was passed as often."""
DIRECTLY = frozenset(("state_dict", "save", "deepcopy", "save_file"))
"""Calls that are noted at their own line."""
OPENS = (ast.For, ast.AsyncFor, ast.While)
PASSED = (*OPENS, ast.With, ast.AsyncWith, ast.Try)
"""Statements whose body is entered in any case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingEverKept(BrokenLaw):
    """A comparison that no value of the metric can meet."""

    choice: Choice
    start: ast.expr
    """What `best` is at first."""


def never_kept(case: Case) -> Iterator[NothingEverKept]:
    for measure in case.recording.all(Bests):
        if measure.turns < FEWEST:
            continue
        for source in case.recording.sources():
            for choice in choices(source):
                broken = of(choice, measure, case)
                if broken is not None:
                    yield broken


def of(choice: Choice, measure: Bests, case: Case) -> NothingEverKept | None:
    source, body = choice.source, choice.body
    start = choice.start()
    keeps = [call for call in keeping(source, body) if called(call) in DIRECTLY]
    if start is None or not keeps or not can_never_hold(choice, start[1], case.recording):
        return None
    lines = range(body.body[0].lineno, (body.body[-1].end_lineno or 0) + 1)
    if any(save.place.file == source.file and save.place.line in lines for save in measure.saves):
        return None
    if not any(in_one_loop(source, body, place) for place in measure.stepped_at):
        return None
    place = Place(source.file, choice.test.lineno, choice.test.end_lineno)
    text = source.segment(choice.test)
    begins = source.segment(start[0])
    return NothingEverKept(
        use=Expression(place, source.span(choice.test), text),
        said=f"Nothing was ever kept as the best: `{text}` cannot hold, because"
        f" `{choice.best_text}` begins as `{begins}`.",
        facts=(
            Fact("evaluations", f"{measure.turns:,} that training went on after"),
            Fact("kept", f"0 states, by {counted(len(keeps), 'call')} in the body"),
            Fact("compared", f"{Place(source.file, choice.test.lineno)}"),
        ),
        steps=steps_taken(case.recording) + 1,
        fault=f"best state {place}",
        lasting=False,
        choice=choice,
        start=start[0],
    )


def was_compared(recording: Recording) -> int:
    """Evaluations of a run whose source has such a comparison."""
    turns = max((measure.turns for measure in recording.all(Bests)), default=0)
    has_choice = any(
        keeping(source, choice.body) for source in recording.sources() for choice in choices(source)
    )
    return turns if has_choice else 0


def can_never_hold(choice: Choice, start: float, recording: Recording) -> bool:
    """Whatever the metric is; or because it is a loss or a score, which are not negative."""
    if choice.keeps_greater:
        return start == inf
    if start == -inf:
        return True
    losses = [loss for steps in final_steps(recording) for _, loss in steps.losses]
    positive = choice.lower_is_better is False or (
        choice.lower_is_better is True and bool(losses) and min(losses) > 0
    )
    return start <= 0 and positive


def in_one_loop(source: Source, body: ast.If, stepped: Place) -> bool:
    """A loop has both, and nothing between it and the comparison can pass that over."""
    if stepped.file != source.file or stepped.line is None:
        return False
    for node in source.up(body):
        if isinstance(node, OPENS):
            if node.lineno <= stepped.line <= (node.end_lineno or 0):
                return True
        elif node is not body and not isinstance(node, PASSED):
            return False
    return False
