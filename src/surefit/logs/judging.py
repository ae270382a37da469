"""What follows from a log alone: one function for each fault, and what only the script can tell."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import exp, isfinite, log
from statistics import median

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import counted, spoken
from surefit.logs.series import Point, Role, Series, TrainingLog

NOT_FINITE = Rule(
    "SF971",
    "log-not-finite",
    Severity.ERROR,
    "A loss, a gradient norm or a score in a log is NaN or infinite.",
)
CONSTANT = Rule(
    "SF972", "log-constant", Severity.ERROR, "The loss in a log is the same number at every entry."
)
REPEATED = Rule(
    "SF973",
    "log-repeats-itself",
    Severity.ERROR,
    "The losses of each epoch in a log are those of the epoch before, to the last digit.",
)
DIVERGING = Rule(
    "SF974", "log-diverges", Severity.WARNING, "The training loss in a log fell and rose again."
)
PLACEHOLDER = Rule(
    "SF975",
    "log-placeholder",
    Severity.WARNING,
    "A number in a log is a round constant that stands for a result, or a loss of exactly zero.",
)
IMPOSSIBLE = Rule(
    "SF976",
    "log-better-than-possible",
    Severity.ERROR,
    "A number in a log cannot be: a perplexity below 1, an accuracy above 1.",
)
RATE_ENDED = Rule(
    "SF977",
    "log-rate-ended-early",
    Severity.WARNING,
    "The learning rate in a log is practically zero for most of the run, or never stops rising.",
)
STUCK_SCORE = Rule(
    "SF978",
    "log-evaluation-stands-still",
    Severity.WARNING,
    "Every evaluation in a log has the same result, while the training loss falls.",
)

MANY = 100
"""Entries of a median from which on medians begin a tenth of it apart, not at every entry."""
FEWEST = 5
"""Entries of a series about which something is said."""
FEWEST_EVALUATIONS = 4
PRACTICALLY_ZERO = 1e-3
"""Of the peak of a learning rate."""
LONGEST_PERIOD = 10_000
RISE = 3.0
"""Times its lowest level: a loss that rose so far has diverged."""
CLASSES = range(2, 200_001)
NEAR = 2e-3


def judge(log_: TrainingLog) -> list[Finding]:
    """All that follows from the log, the gravest first."""
    series = log_.of(Role.LOSS, evaluation=False)
    checks: list[Iterator[Finding]] = [
        not_finite(log_),
        *(constant(losses, log_) for losses in series),
        *(repeated(losses, log_) for losses in series),
        *(diverging(losses, log_) for losses in series),
        impossible(log_),
        placeholders(log_),
        *(rate_ended(rates, log_) for rates in log_.of(Role.RATE)),
        evaluation_stands_still(log_),
    ]
    findings = [finding for check in checks for finding in check]
    return sorted(findings, key=lambda finding: list(Severity).index(finding.severity))


def place(log_: TrainingLog, point: Point | None = None) -> Place:
    return Place(log_.file, point.line if point is not None else None)


def needs_script(what: str) -> Fix:
    return Fix(f"`surefit run SCRIPT` with the script measures {what}; a log does not hold it.")


def not_finite(log_: TrainingLog) -> Iterator[Finding]:
    watched = [series for series in log_.series if series.role is not Role.OTHER]
    first = [
        (number, point, series)
        for series in watched
        for number, point in enumerate(series.points)
        if not isfinite(point.value)
    ]
    if not first:
        return
    number, point, series = min(first, key=lambda entry: (entry[1].step or 0, entry[0]))
    before = [value for value in series.values[:number] if isfinite(value)]
    rest = series.values[number:]
    others = {other.name for _, _, other in first} - {series.name}
    bad = sum(not isfinite(value) for value in series.values)
    recovered = sum(isfinite(value) for value in rest)
    facts = [Fact(f"before {point.when}", numbers(before[-4:]) if before else "no finite value")]
    if others:
        facts.append(Fact("not finite later, too", spoken(sorted(others))))
    facts.append(Fact("finite again after it", counted(recovered, "entry")))
    yield NOT_FINITE.finding(
        place(log_, point),
        f"`{series.name}` is {point.value} at {point.when}: {bad:,} of"
        f" {counted(len(series.points), 'entry')} are not finite.",
        facts=facts,
        why=risen(before)
        or "The value before it was ordinary, so that one batch or one operation made it.",
        fixes=(needs_script("the first operation and the row that gave it"),),
    )


def risen(before: Sequence[float]) -> str:
    """Of values that grew before they were no longer finite."""
    if len(before) >= 3 and before[-1] > RISE * max(min(before), 1e-9):
        return (
            f"It rose from {min(before):.4g} to {before[-1]:.4g} first: the run diverged, as with a"
            " learning rate that is too high, or gradients that are not clipped."
        )
    return ""


def constant(losses: Series, log_: TrainingLog) -> Iterator[Finding]:
    values = losses.finite
    if len(values) < FEWEST or len(set(values)) > 1 or values[0] == 0:
        return
    facts = [Fact("entries", f"{len(values):,}, all {values[0]:.6g}")]
    facts += [Fact(series.name, levels(series)) for series in related(log_)]
    classes = chance_of(values[0])
    if classes:
        facts.append(Fact(f"ln {classes:,}", f"{log(classes):.4f}, the loss of a guess among them"))
    yield CONSTANT.finding(
        place(log_, losses.points[0]),
        f"`{losses.name}` is {values[0]:.6g} at every one of {len(values):,} entries: nothing is"
        " learned.",
        facts=facts,
        why="A loss that does not change in the last digit, over batches or epochs, belongs to"
        " parameters that do not move: no gradient reaches them, no optimizer holds them, or the"
        " learning rate is zero.",
        fixes=(needs_script("which parameters move, and why the others do not"),),
    )


def chance_of(loss: float) -> int | None:
    """The number of classes among which a guess has this loss."""
    classes = round(exp(loss)) if 0 < loss < 12.5 else 0
    return classes if classes in CLASSES and abs(log(classes) - loss) < NEAR else None


def related(log_: TrainingLog) -> list[Series]:
    return [*log_.of(Role.GRADIENT_NORM), *log_.of(Role.RATE)]


def levels(series: Series) -> str:
    values = series.finite
    return f"{min(values):.4g} to {max(values):.4g}" if values else "never finite"


def repeated(losses: Series, log_: TrainingLog) -> Iterator[Finding]:
    values = losses.values
    period = period_of(values)
    if period is None:
        return
    times = len(values) // period
    yield REPEATED.finding(
        place(log_, losses.points[0]),
        f"`{losses.name}` repeats itself every {period:,} entries, {times:,} times, to the last"
        " digit: nothing is learned.",
        facts=[Fact("the first round", numbers(values[: min(period, 6)]))],
        why="Equal losses on equal batches belong to parameters that do not move: the steps change"
        " nothing.",
        fixes=(needs_script("which parameters move, and why the others do not"),),
    )


def period_of(values: Sequence[float]) -> int | None:
    """The shortest in which they repeat exactly, at least three times and with different values."""
    for period in range(2, min(len(values) // 3, LONGEST_PERIOD) + 1):
        if values[period] != values[0] or len(set(values[:period])) < 2:
            continue
        if all(first == second for first, second in zip(values, values[period:], strict=False)):
            return period
    return None


def diverging(losses: Series, log_: TrainingLog) -> Iterator[Finding]:
    values = losses.finite
    if len(values) < 4 * FEWEST or min(values) <= 0:
        return
    window = max(3, len(values) // 20)
    stride = max(1, window // 10) if window >= MANY else 1
    begins = range(0, len(values) - window + 1, stride)
    smooth = [median(values[at : at + window]) for at in begins]
    lowest = min(range(len(smooth)), key=smooth.__getitem__)
    last = median(smooth[-max(1, window // stride) :])
    if lowest > 0.8 * len(smooth) or last < RISE * smooth[lowest] or last < 0.5 * smooth[0]:
        return
    turn = [point for point in losses.points if isfinite(point.value)][begins[lowest]]
    rates = [Fact(series.name, levels(series)) for series in log_.of(Role.RATE)]
    yield DIVERGING.finding(
        place(log_, turn),
        f"`{losses.name}` fell to {smooth[lowest]:.4g} around {turn.when} and rose to"
        f" {last:.4g} at the end.",
        facts=[Fact("medians of", f"{window:,} entries"), *rates],
        why="A training loss that ends several times above its lowest level has diverged: the"
        " learning rate is too high from there on, or gradients of earlier steps add up.",
        fixes=(needs_script("gradients and rates around that step"),),
    )


def impossible(log_: TrainingLog) -> Iterator[Finding]:
    for series in log_.series:
        values = series.finite
        if not values:
            continue
        if series.role is Role.PERPLEXITY and min(values) < 1:
            limit, seen = "a perplexity is at least 1", min(values)
        elif series.role is Role.SCORE and 1 < max(values) <= 1.5 and min(values) <= 1:
            limit, seen = "a score of this kind is at most 1", max(values)
        else:
            continue
        point = next(point for point in series.points if point.value == seen)
        yield IMPOSSIBLE.finding(
            place(log_, point),
            f"`{series.name}` is {seen:.4g} at {point.when}, and {limit}.",
            why="The number was not measured as its name says: divided once too often, summed over"
            " batches of different sizes, or taken from another quantity.",
            fixes=(needs_script("the same number from the outputs and targets of the evaluation"),),
        )


def placeholders(log_: TrainingLog) -> Iterator[Finding]:
    for series in log_.series:
        values = series.finite
        if len(values) < 3 or series.role in (Role.OTHER, Role.RATE):
            continue
        if series.role is Role.LOSS and values.count(0.0) >= max(3, len(values) // 2):
            reason = (
                "A loss of exactly 0 is no result: all targets are ignored, or NaN is replaced."
            )
            yield placeholder(series, 0.0, reason, log_)
        elif series.is_evaluation and is_round(values[-1]) and len(set(values)) == 1:
            reason = "A round number at every evaluation stands for a result that was not computed."
            yield placeholder(series, values[-1], reason, log_)


def is_round(value: float) -> bool:
    """1000, 9999, 10000, 1e6: what a script writes in place of a result."""
    return abs(value) >= 100 and (value % 100 == 0 or value in (999, 9999, 99999))


def placeholder(series: Series, value: float, why: str, log_: TrainingLog) -> Finding:
    times = series.values.count(value)
    point = next(point for point in series.points if point.value == value)
    return PLACEHOLDER.finding(
        place(log_, point),
        f"`{series.name}` is exactly {value:g} at {times:,} of"
        f" {counted(len(series.points), 'entry')}.",
        why=why,
        fixes=(needs_script("what the loss or the evaluation is computed on"),),
    )


def rate_ended(rates: Series, log_: TrainingLog) -> Iterator[Finding]:
    values = rates.finite
    if len(values) < FEWEST:
        return
    peak = max(values)
    if peak == 0:
        yield rate_finding(rates, log_, "is 0 at every entry", "No step changes anything.")
        return
    low = [value <= PRACTICALLY_ZERO * peak for value in values]
    after = low.index(True, values.index(peak)) if any(low[values.index(peak) :]) else len(low)
    if all(low[after:]) and len(low) - after > len(low) / 2:
        yield rate_finding(
            rates,
            log_,
            f"is at most {PRACTICALLY_ZERO * peak:.2g} from {rates.points[after].when} on, for"
            f" {len(low) - after:,} of {len(low):,} entries; it began to fall from {peak:.3g}",
            "The schedule was over long before the run: stepped once per batch where it counts"
            " epochs, or planned for fewer steps.",
        )
    elif ended(log_) and all(later > earlier for earlier, later in pairwise(values)):
        yield rate_finding(
            rates,
            log_,
            f"rises from {values[0]:.3g} to {values[-1]:.3g} and never falls",
            "The warm-up is longer than the run.",
        )


def ended(log_: TrainingLog) -> bool:
    return log_.planned is not None and (log_.steps or 0) >= log_.planned


def rate_finding(rates: Series, log_: TrainingLog, said: str, why: str) -> Finding:
    return RATE_ENDED.finding(
        place(log_, rates.points[0]),
        f"`{rates.name}` {said}.",
        facts=[Fact("entries", f"{len(rates.points):,}")],
        why=why,
        fixes=(needs_script("the rate at each step and how often the scheduler steps"),),
    )


def evaluation_stands_still(log_: TrainingLog) -> Iterator[Finding]:
    training = [series for series in log_.of(Role.LOSS, evaluation=False) if series.finite]
    falls = any(series.finite[-1] < 0.9 * series.finite[0] for series in training)
    still = [
        series
        for role in (Role.LOSS, Role.SCORE, Role.PERPLEXITY)
        for series in log_.of(role, evaluation=True)
        if len(series.points) >= FEWEST_EVALUATIONS and len(set(series.values)) == 1
    ]
    still = [series for series in still if series.values[0] not in (0.0, 1.0, 100.0)]
    if falls and still and not is_round(still[0].values[0]):
        series = still[0]
        yield STUCK_SCORE.finding(
            place(log_, series.points[0]),
            f"`{series.name}` is {series.values[0]:.6g} at each of {len(series.points):,}"
            " evaluations, while the training loss falls.",
            facts=[Fact(losses.name, levels(losses)) for losses in training[:1]],
            why="The evaluated model is not the one that learns (a copy, the last saved state), or"
            " its score is not taken from its predictions.",
            fixes=(needs_script("what the evaluation runs on"),),
        )


def numbers(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.4g}" for value in values)
