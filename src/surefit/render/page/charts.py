"""Charts of a run, from the lines of its metrics file: of every number that is there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import Any

from .contents import Chart, Curve
from .thinning import (
    MOST_POINTS,
    Points,
    finite_or_none,
    points_per_stretch,
    running_means,
    short,
    thinned,
)

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MetricLines:
    """The lines of a metrics file that have a step, of training steps and of evaluations apart."""

    steps: list[Record]
    scores: list[Record]

    @classmethod
    def of(cls, records: Sequence[Record]) -> "MetricLines":
        numbered = [record for record in records if finite_or_none(record.get("step")) is not None]
        return cls(
            [record for record in numbered if not is_score(record)],
            [record for record in numbered if is_score(record)],
        )


MANY_STEPS = 60
"""From so many on single losses are drawn lightly, and their mean on top."""
WINDOWS = (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
LARGEST_EXPONENT = 700.0
"""Of e, that is still a number."""
NOT_FINITE_SHOWN = 5


@dataclass(frozen=True, slots=True)
class CurveOf:
    """A key of the metrics file, and how it is drawn."""

    key: str
    name: str
    scored: bool = False
    """Whether it stands in the lines of evaluations."""
    dashed: bool = False
    as_perplexity: bool = False
    """It is a cross entropy in nats, drawn as its exponential."""
    faint: bool = False
    has_mean: bool = False
    """Where there are many steps it is drawn lightly, and its mean on top."""


@dataclass(frozen=True, slots=True)
class ChartOf:
    """A chart, and which numbers belong to it."""

    name: str
    about: str
    curves: tuple[CurveOf, ...]
    logarithmic: bool = False


CHARTS = (
    ChartOf(
        "Loss",
        "Training loss: mean over the supervised tokens of a step. Validation loss: mean over the "
        "supervised tokens of all held-out rows.",
        (
            CurveOf("loss", "training loss", has_mean=True),
            CurveOf("train_loss", "training loss, mean of an epoch", scored=True, dashed=True),
            CurveOf("validation_loss", "validation loss", scored=True),
            CurveOf("cross_entropy", "cross entropy, training", faint=True),
            CurveOf("cross_entropy", "cross entropy, held-out", scored=True),
            CurveOf("teacher_cross_entropy", "teacher, held-out", scored=True, dashed=True),
        ),
    ),
    ChartOf(
        "Score",
        "Means over the held-out rows.",
        (
            CurveOf("f1", "F1", scored=True),
            CurveOf("exact_match", "exact match", scored=True, dashed=True),
            CurveOf("agreement", "same top token as the teacher", scored=True),
        ),
    ),
    ChartOf(
        "Perplexity",
        "The exponential of the mean cross entropy over the supervised held-out tokens.",
        (
            CurveOf("perplexity", "perplexity", scored=True),
            CurveOf(
                "teacher_cross_entropy", "teacher", scored=True, dashed=True, as_perplexity=True
            ),
        ),
        logarithmic=True,
    ),
    ChartOf(
        "Divergence from the teacher",
        "Means over supervised tokens, in nats.",
        (
            CurveOf("divergence", "training", has_mean=True),
            CurveOf("divergence", "held-out", scored=True),
        ),
    ),
    ChartOf("Learning rate", "Of the step.", (CurveOf("learning_rate", "learning rate"),)),
    ChartOf(
        "Gradient norm",
        "L2 norm of the gradient of all trained weights, before clipping.",
        (CurveOf("gradient_norm", "gradient norm", has_mean=True),),
        logarithmic=True,
    ),
    ChartOf(
        "Tokens per second",
        "Of the step.",
        (
            CurveOf("tokens_per_second", "tokens/s", has_mean=True),
            CurveOf("supervised_tokens_per_second", "supervised tokens/s", dashed=True),
        ),
    ),
    ChartOf("Seconds per step", "", (CurveOf("seconds", "seconds", has_mean=True),)),
    ChartOf(
        "Memory",
        "Bytes.",
        (CurveOf("memory", "memory"), CurveOf("peak_memory", "peak memory", dashed=True)),
    ),
)
"""In the order of the page. What no run writes is not drawn."""

COUNTS = frozenset(
    ("step", "epoch", "rows", "tokens", "batches", "updates", "skipped", "supervised_tokens")
)
"""Keys of the metrics file that are no measurement."""
KNOWN = COUNTS | {curve.key for chart in CHARTS for curve in chart.curves}


def is_score(record: Record) -> bool:
    """Whether a line is of an evaluation, and not of a training step."""
    return "learning_rate" not in record


def charts_of(records: Sequence[Record], window: int | None = None) -> tuple[Chart, ...]:
    """Every chart for which there is a number, then one for each number that no chart knows.
    `window`: how many steps a mean is over; by default what fits the run."""
    lines = MetricLines.of(records)
    further = [
        ChartOf(key.replace("_", " ").capitalize(), f"`{key}` of the metrics file.", curves)
        for key, curves in _unknown(lines).items()
    ]
    drawn = (chart_of(chart, lines, window) for chart in (*CHARTS, *further))
    return tuple(chart for chart in drawn if chart is not None)


def chart_of(drawn: ChartOf, lines: MetricLines, window: int | None) -> Chart | None:
    curves: list[Curve] = []
    notes: list[str] = []
    for curve in drawn.curves:
        points = points_of(curve, lines)
        if not any(value is not None for _, value in points):
            if points:
                notes.append(f"No value of {curve.name} is finite.")
            continue
        curves += curves_of(curve, points, window)
        notes += notes_of(curve, points)
    if not curves and not notes:
        return None
    return Chart(
        name=drawn.name,
        about=drawn.about,
        curves=tuple(curves),
        logarithmic=drawn.logarithmic and is_positive(curves),
        notes=tuple(dict.fromkeys(notes)),
    )


def points_of(curve: CurveOf, lines: MetricLines) -> Points:
    """The values of a key over steps; what is not finite is None."""
    key = curve.key
    records = lines.scores if curve.scored else lines.steps
    points: Points = [
        (float(record["step"]), finite_or_none(record[key])) for record in records if key in record
    ]
    if curve.as_perplexity:
        points = [
            (step, None if value is None else exp(min(value, LARGEST_EXPONENT)))
            for step, value in points
        ]
    return [] if all(value is None for _, value in points) and _is_optional(curve) else points


def _is_optional(curve: CurveOf) -> bool:
    """A teacher that is not known is null in every line; that is no fault of the run."""
    return curve.key.startswith("teacher")


def curves_of(curve: CurveOf, points: Points, window: int | None) -> Iterator[Curve]:
    has_mean = curve.has_mean and len(points) >= MANY_STEPS
    kept = thinned(points)
    yield Curve(
        name=curve.name,
        steps=tuple(step for step, _ in kept),
        values=tuple(short(value) for _, value in kept),
        points=curve.scored,
        dashed=curve.dashed,
        faint=has_mean or curve.faint,
    )
    if has_mean:
        window = window or mean_window(len(points))
        means = running_means(points, window)
        yield Curve(
            name=f"mean of {window} steps",
            steps=tuple(step for step, _ in means),
            values=tuple(short(value) for _, value in means),
        )


def mean_window(steps: int) -> int:
    """How many steps a mean is over: a fiftieth of the run, in round numbers."""
    return next((size for size in WINDOWS if size * 50 >= steps), WINDOWS[-1])


def notes_of(curve: CurveOf, points: Points) -> Iterator[str]:
    missing = [step for step, value in points if value is None]
    if missing:
        shown = ", ".join(f"{step:,.0f}" for step in missing[:NOT_FINITE_SHOWN])
        more = (
            f" and {len(missing) - NOT_FINITE_SHOWN:,} more"
            if len(missing) > NOT_FINITE_SHOWN
            else ""
        )
        steps = "step" if len(missing) == 1 else "steps"
        yield f"{curve.name} is not finite at {steps} {shown}{more}."
    together = points_per_stretch(len(points))
    if together > 1:
        yield (
            f"{len(points):,} values: the lowest and the highest of every {together} are drawn."
            " All of them are in metrics.jsonl."
        )


def is_positive(curves: Sequence[Curve]) -> bool:
    """A logarithmic scale has no 0."""
    return all(value > 0 for curve in curves for value in curve.values if value is not None)


def over_each_other(runs: Sequence[tuple[str, Sequence[Record]]]) -> tuple[Chart, ...]:
    """The charts of several runs as one: a colour for each run, light values left out where there
    is a mean."""
    window = mean_window(max(len(records) for _, records in runs))
    per_run = [{chart.name: chart for chart in charts_of(records, window)} for _, records in runs]
    names = dict.fromkeys(name for charts in per_run for name in charts)
    return tuple(_joined(name, per_run, [run for run, _ in runs]) for name in names)


def _joined(name: str, per_run: Sequence[Mapping[str, Chart]], runs: Sequence[str]) -> Chart:
    curves: list[Curve] = []
    notes: list[str] = []
    charts = [charts.get(name) for charts in per_run]
    for number, chart in enumerate(charts):
        if chart is None:
            continue
        curves += [
            replace(curve, name=f"{runs[number]}: {curve.name}", run=number)
            for curve in chart.curves
            if not curve.faint
        ]
        notes += [f"{runs[number]}: {note}" for note in chart.notes]
    present = [chart for chart in charts if chart is not None]
    return Chart(
        name=name,
        about=present[0].about,
        curves=tuple(curves),
        logarithmic=all(chart.logarithmic for chart in present),
        notes=tuple(notes),
    )


def _unknown(lines: MetricLines) -> dict[str, tuple[CurveOf, ...]]:
    """Numbers that no chart names, each with whether it is of steps or of evaluations."""
    keys = dict.fromkeys(
        (key, is_score(record))
        for records in (lines.steps, lines.scores)
        for record in _few(records)
        for key, value in record.items()
        if key not in KNOWN and finite_or_none(value) is not None
    )
    names = dict.fromkeys(key for key, _ in keys)
    return {
        name: tuple(
            CurveOf(key, "held-out" if scored else name.replace("_", " "), scored=scored)
            for key, scored in keys
            if key == name
        )
        for name in names
    }


def _few(records: Sequence[Record]) -> Iterator[Record]:
    """Lines have the same keys throughout a run: enough of them to meet every kind."""
    yield from records[:: max(1, len(records) // MOST_POINTS)]
    yield from records[-3:]
