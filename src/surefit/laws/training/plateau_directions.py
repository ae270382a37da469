"""Which way the metric of a `ReduceLROnPlateau` is better, and what it makes of that."""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Fact
from surefit.doctor.measures.rates import PlateauSeen, ScheduleSeen
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.evaluation.best_choices import HIGHER_IS_BETTER, LOWER_IS_BETTER
from surefit.laws.evaluation.evaluation_names import words_of
from surefit.laws.losses.loss_calls import CLASSES
from surefit.laws.training.rate_violations import PlateauBackwards
from surefit.laws.training.step_calls import call_at
from surefit.source.origins import one_step_back
from surefit.source.reading import MOST_NAMES, Source, called, dotted

TAKES = ("item", "float", "mean", "sum", "numpy", "cpu", "detach")
"""Calls that give the number of what they are of."""
LOSSES = frozenset((*CLASSES, *CLASSES.values()))
TURNED = frozenset(("neg", "negative", "minus", "inv", "inverse"))


def backwards(case: Case, schedule: ScheduleSeen) -> Iterator[PlateauBackwards]:
    """The rate was lowered right after the metric had become better than ever."""
    plateau = schedule.plateau
    if plateau is None or not plateau.reduced or schedule.made_at is None:
        return
    call = call_at(case, schedule.at, "step")
    given = call.source.argument(call.call, "metrics", 0) if call is not None else None
    lower = lower_is_better(call.source, given) if call is not None and given is not None else None
    if lower is None or lower == (plateau.mode == "min"):
        return
    wrong = [at for at in plateau.reduced if at in too_early(plateau, lower)]
    if not wrong:
        return
    better = "lower" if lower else "higher"
    first, last = plateau.numbers[0], plateau.numbers[wrong[-1]]
    yield PlateauBackwards(
        use=Expression(schedule.made_at),
        said=f"`{schedule.kind}` waits for a {'higher' if lower else 'lower'} number"
        f' (`mode="{plateau.mode}"`), and is given one that is better where it is {better}: it'
        f" lowered the rate {counted(len(plateau.reduced), 'time')},"
        f" {len(wrong):,} of them within {counted(plateau.patience + 1, 'call')} of a new best.",
        facts=(
            Fact(
                "given",
                f"`{' '.join(call.source.segment(given).split())}`" if call and given else "",
            ),
            Fact("its first number", f"{first:.4g}"),
            Fact("when the rate was last lowered", f"{last:.4g}"),
        ),
        steps=plateau.steps[wrong[0]],
        fault=f"rate of {schedule.optimizer}",
        schedule=schedule,
        lower_is_better=lower,
    )


def too_early(plateau: PlateauSeen, lower: bool) -> set[int]:
    """Calls with no more bad ones before them than the patience allows, counted the right way."""
    best, bad, found = None, 0, set()
    for at, number in enumerate(plateau.numbers):
        score = -number if lower else number
        margin = plateau.threshold * (abs(best or 0.0) if plateau.relative else 1.0)
        if best is None or score > best + margin:
            best, bad = score, 0
        else:
            bad += 1
        if bad <= plateau.patience:
            found.add(at)
        if at in plateau.reduced:
            bad = 0
    return found


def lower_is_better(source: Source, node: ast.expr) -> bool | None:
    """By the name of a number, or by the loss function that it comes from."""
    for _ in range(MOST_NAMES):
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = lower_is_better(source, node.operand)
            return None if inner is None else not inner
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            node = node.left
        elif isinstance(node, ast.Call):
            if called(node) in LOSSES:
                return True
            taken = taken_of(node)
            if taken is None:
                return None
            node = taken
        else:
            known = by_name(node)
            before = one_step_back(source, node) if known is None else None
            if before is None:
                return known
            node = before
    return None


def taken_of(call: ast.Call) -> ast.expr | None:
    """`loss` of `loss.item()` and of `float(loss)`."""
    if called(call) not in TAKES:
        return None
    if call.args:
        return call.args[0] if len(call.args) == 1 else None
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def by_name(node: ast.expr) -> bool | None:
    name = dotted(node)
    if isinstance(node, ast.Subscript):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if not isinstance(key, str):
            return by_name(node.value)
        name = key
    if words_of(name) & TURNED:
        return None
    lower, higher = LOWER_IS_BETTER.search(name), HIGHER_IS_BETTER.search(name)
    return bool(lower) if bool(lower) != bool(higher) else None
