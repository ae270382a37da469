"""Whether the state that is kept as the best is the one that the measured losses call the best."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isclose, isfinite, sqrt

from surefit.doctor.findings import Fact, Place
from surefit.doctor.measures.saving import Bests, BestSeen, EvaluationSeen, SaveSeen
from surefit.doctor.progress import final_steps, steps_taken
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.evaluation.best_choices import LOWER_IS_BETTER, Choice, choice_at
from surefit.laws.law import BrokenLaw

FEWEST = 3
"""Evaluations that show a direction."""
SURE, SURE_OF_FEW = 0.6, 0.85
"""Correlations; few are less than six."""
EQUAL = 0.01
WORSE = 0.05
"""Of the range of losses: what is kept is at least that far from the best."""

Pairs = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerKeepsTheWorst(BrokenLaw):
    """The metric that chooses the best checkpoint goes the other way."""

    best: BestSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopKeepsTheWorst(BrokenLaw):
    """A comparison in the user's loop goes the other way."""

    choice: Choice
    lower_is_better: bool


def directions_of(case: Case) -> Iterator[BrokenLaw]:
    for measure in case.recording.all(Bests):
        for best in measure.trainers:
            yield from of_trainer(best, case)
        yield from of_loops(measure, case)


def of_trainer(best: BestSeen, case: Case) -> Iterator[TrainerKeepsTheWorst]:
    series = once_each(best.series)
    if len(series) < FEWEST or best.arguments_at is None:
        return
    metrics = [value for _, value, _ in series]
    if not all(map(isfinite, metrics)) or min(metrics) == max(metrics):
        return
    losses = best.losses or losses_of(case.recording)
    training = correlation([(value, loss_at(losses, step)) for step, value, _ in series])
    evaluated = [(value, loss) for _, value, loss in series if loss is not None]
    evaluation = correlation(evaluated) if len(evaluated) == len(series) else None
    if evaluation is None and LOWER_IS_BETTER.search(best.metric):
        evaluation = training
    sure = SURE if len(series) >= 2 * FEWEST else SURE_OF_FEW
    sign = 1 if best.greater else -1
    if training is None or evaluation is None or min(sign * training, sign * evaluation) < sure:
        return
    pick, other = (max, min) if best.greater else (min, max)
    chosen = pick(series, key=lambda entry: entry[1])
    better = other(series, key=lambda entry: entry[1])
    words = ("largest", "falls", "least") if best.greater else ("least", "rises", "largest")
    with_losses = f"{words[1]} with the training loss and the evaluation loss"
    if not best.greater:
        with_losses = f"{words[1]} as the training loss and the evaluation loss fall"
    loads = "and loaded at the end" if best.loads else "as the best"
    yield TrainerKeepsTheWorst(
        use=Expression(best.arguments_at),
        said=f"The worst checkpoint is kept {loads}: `{best.metric}` {with_losses}, and"
        f" `greater_is_better={best.greater}` keeps the {words[0]},"
        f" {chosen[1]:.4g} at step {chosen[0]:,}, not {better[1]:.4g} at step {better[0]:,}.",
        facts=(
            Fact(f"`{best.metric}`", f"{metrics[0]:.4g} at first, {metrics[-1]:.4g} at last"),
            Fact("kept", f"step {chosen[0]:,}{with_loss(chosen[2])}"),
            Fact(f"the {words[2]}", f"step {better[0]:,}{with_loss(better[2])}"),
            Fact(
                "correlation",
                f"{training:.2f} with the training loss, {evaluation:.2f} with the"
                f" evaluation loss, over {counted(len(series), 'evaluation')}",
            ),
        ),
        steps=steps_taken(case.recording) + 1,
        fault=f"best checkpoint {best.arguments_at}",
        lasting=False,
        best=best,
    )


def with_loss(loss: float | None) -> str:
    return "" if loss is None else f", evaluation loss {loss:.4g}"


def once_each(
    series: Sequence[tuple[int, float, float | None]],
) -> list[tuple[int, float, float | None]]:
    """The first of each step: what is evaluated after training can be another model."""
    return list({step: (step, value, loss) for step, value, loss in reversed(series)}.values())[
        ::-1
    ]


def losses_of(recording: Recording) -> tuple[tuple[int, float], ...]:
    return max((steps.losses for steps in final_steps(recording)), key=len, default=())


def loss_at(losses: Sequence[tuple[int, float]], step: int) -> float:
    """The last one not after that step; the mean of a few, because one batch says little."""
    before = [loss for at, loss in losses if at <= step][-5:] or [loss for _, loss in losses[:1]]
    return sum(before) / len(before) if before else 0.0


def correlation(pairs: Pairs) -> float | None:
    """Pearson's; None where one side does not move."""
    pairs = [pair for pair in pairs if all(map(isfinite, pair))]
    if len(pairs) < FEWEST:
        return None
    lefts, rights = [left for left, _ in pairs], [right for _, right in pairs]
    left, right = sum(lefts) / len(pairs), sum(rights) / len(pairs)
    both = sum((a - left) * (b - right) for a, b in pairs)
    spread = sqrt(sum((a - left) ** 2 for a in lefts) * sum((b - right) ** 2 for b in rights))
    return both / spread if spread > 0 else None


def of_loops(measure: Bests, case: Case) -> Iterator[LoopKeepsTheWorst]:
    places = dict.fromkeys(save.place for save in measure.saves)
    reported: set[object] = set()
    for place in places:
        source = case.source(place)
        choice = choice_at(source, place.line or 0) if source is not None else None
        if choice is None or choice.test in reported:
            continue
        saves = [save for save in measure.saves if save.place == place]
        measured = is_measured_loss(choice, saves, measure.evaluations)
        lower = measured or choice.lower_is_better
        if lower is None or lower != choice.keeps_greater:
            continue
        rare = len(measure.evaluations) <= steps_taken(case.recording) / 2
        evaluations = measure.evaluations if measured or rare else ()
        broken = kept_the_worst(choice, saves[-1], evaluations, case, lower)
        if broken is not None:
            reported.add(choice.test)
            yield broken


def is_measured_loss(
    choice: Choice, saves: Sequence[SaveSeen], evaluations: Sequence[EvaluationSeen]
) -> bool:
    """What is compared is the loss that its evaluation was measured to have, at every save."""
    values = [
        (save.numbers[choice.metric_text], evaluations[save.evaluation - 1].loss)
        for save in saves
        if choice.metric_text in save.numbers and 0 < save.evaluation <= len(evaluations)
    ]
    return bool(values) and all(isclose(ours, loss, rel_tol=EQUAL) for ours, loss in values)


def kept_the_worst(
    choice: Choice,
    last: SaveSeen,
    evaluations: Sequence[EvaluationSeen],
    case: Case,
    lower: bool,
) -> LoopKeepsTheWorst | None:
    series = [(entry.step, entry.loss) for entry in evaluations]
    named = "evaluation loss"
    if len(series) < 2:
        losses = losses_of(case.recording)
        steps = sorted({0, *(step for step, _ in losses)})
        series, named = [(step, loss_at(losses, step)) for step in steps], "training loss"
    finite = [entry for entry in series if isfinite(entry[1])]
    if len(finite) < 2:
        return None
    chosen = min(finite, key=lambda entry: abs(entry[0] - last.step))
    least = min(finite, key=lambda entry: entry[1])
    reach = max(loss for _, loss in finite) - least[1]
    if chosen[1] - least[1] <= max(WORSE * reach, EQUAL * abs(least[1])):
        return None
    word, better = ("greater", "lower") if choice.keeps_greater else ("less", "higher")
    line = Place(choice.source.file, choice.test.lineno, choice.test.end_lineno)
    return LoopKeepsTheWorst(
        use=Expression(line, choice.source.span(choice.test), choice.source.segment(choice.test)),
        said=f"The worst state is kept as the best: this comparison is in the wrong direction. It"
        f" keeps a state where `{choice.metric_text}` is {word} than `{choice.best_text}`, and"
        f" {better} is better.",
        facts=(
            Fact("kept", f"step {last.step:,}, {named} {chosen[1]:.4g}"),
            Fact("the best", f"step {least[0]:,}, {named} {least[1]:.4g}"),
        ),
        steps=steps_taken(case.recording) + 1,
        fault=f"best state {line}",
        lasting=False,
        choice=choice,
        lower_is_better=lower,
    )
