"""What stands on a page, as plain data: the page of one run, and of several beside each other."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from surefit.doctor.findings import Fact
from surefit.render.json_document import Finding


class Mood(StrEnum):
    """How a run stands, for the colour of what is said of it."""

    GOOD = "good"
    BAD = "bad"
    WARNING = "warning"
    NEUTRAL = "neutral"
    RUNNING = "running"


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The first thing that a reader sees."""

    mood: Mood
    headline: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """One number in large type."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Values over steps; None where a value is missing or not finite."""

    name: str
    steps: tuple[float, ...]
    values: tuple[float | None, ...]
    points: bool = False
    """Few values far apart, as evaluations give them: each is drawn as a point, too."""
    faint: bool = False
    """Drawn lighter, as a background to its mean."""
    dashed: bool = False
    run: int = 0
    """Which run of a comparison it belongs to: runs have a colour each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Curves over the same steps."""

    name: str
    about: str
    """What the values are and what they average over."""
    curves: tuple[Curve, ...]
    logarithmic: bool = False
    notes: tuple[str, ...] = ()
    """What is not visible in it: values left out by thinning, values that are not finite."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many rows fall between each edge and the next."""

    name: str
    edges: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def bars(self) -> list[tuple[str, int, float]]:
        """Label, count, and share of the highest bar."""
        most = max(self.counts, default=0) or 1
        lows = zip(self.edges, self.edges[1:], self.counts, strict=False)
        return [
            (str(low) if high == low + 1 else f"{low}–{high - 1}", count, count / most)
            for low, high, count in lows
        ]


@dataclass(frozen=True, slots=True)
class TokenSpan:
    """One token of a row, or a few where only together they are text."""

    text: str
    supervised: bool


@dataclass(frozen=True, slots=True)
class RowShown:
    """A row as the model sees it."""

    place: str
    spans: tuple[TokenSpan, ...]
    note: str = ""

    @property
    def stretches(self) -> list[tuple[bool, list[TokenSpan]]]:
        """Spans that follow each other and are all supervised, or all not."""
        parts: list[tuple[bool, list[TokenSpan]]] = []
        for span in self.spans:
            if not parts or parts[-1][0] != span.supervised:
                parts.append((span.supervised, []))
            parts[-1][1].append(span)
        return parts


@dataclass(frozen=True, slots=True, kw_only=True)
class DataShown:
    """What a run trains on. A recipe writes it into the run folder as `data.json`."""

    facts: tuple[Fact, ...] = ()
    lengths: tuple[Histogram, ...] = ()
    unit: str = "tokens"
    """What the lengths count."""
    supervised_share: float | None = None
    """Of all positions, those that the loss sees."""
    padding_share: float | None = None
    """Of all positions of an epoch's batches, those that are padding."""
    rows: tuple[RowShown, ...] = ()
    fingerprints: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class AnsweredRow:
    """A held-out row, and for each column of the table an answer and its score."""

    place: str
    input: str
    target: str
    answers: tuple[str, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTable:
    """Answers to the same rows, side by side."""

    columns: tuple[str, ...]
    score: str
    """What the scores are: `F1`."""
    rows: tuple[AnsweredRow, ...]
    note: str = ""
    """What was left out."""


@dataclass(frozen=True, slots=True)
class LawShown:
    """A law that was watched."""

    state: str
    """`holds`, `broken` or `not measured`."""
    words: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class FactTable:
    """Facts under a title: settings, versions, fingerprints."""

    title: str
    facts: tuple[Fact, ...]
    folded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """All that is said of one run, in the order in which it is read."""

    title: str
    about: str
    """The command and when it ran."""
    conclusion: Conclusion
    figures: tuple[Figure, ...] = ()
    findings: Sequence[Finding] = ()
    charts: tuple[Chart, ...] = ()
    answers: AnswerTable | None = None
    data: DataShown | None = None
    laws: tuple[LawShown, ...] = ()
    not_observed: tuple[str, ...] = ()
    tables: tuple[FactTable, ...] = ()
    is_live: bool = False
    """More is to come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run beside others."""

    name: str
    folder: str
    conclusion: Conclusion
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class DifferingSetting:
    """A setting and its value in each run."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonPage:
    """Several runs beside each other."""

    title: str
    runs: tuple[RunSummary, ...]
    differing: tuple[DifferingSetting, ...]
    same_settings: int
    """How many settings all of the runs share."""
    charts: tuple[Chart, ...] = ()
    answers: AnswerTable | None = None
    notes: tuple[str, ...] = field(default=())
    is_live: bool = False
