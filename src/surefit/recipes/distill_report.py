"""How a distillation ended, and what is said of it on the way."""

from dataclasses import asdict, dataclass
from typing import Any

from surefit.metrics.held_out import HeldOut
from surefit.metrics.perplexity import Perplexity, gap_closed, held_out_line
from surefit.render.console import say
from surefit.render.html import report_html
from surefit.train.pace import Pace


@dataclass(frozen=True, slots=True)
class DistillReport:
    """The result of a run. Cross entropies and divergences are means over the supervised tokens of
    all held-out rows, in nats; a perplexity is the exponential of a cross entropy."""

    folder: str
    """The run folder."""

    trained: str
    """The folder of the best weights: those with the lowest perplexity on held-out rows."""

    steps: int
    """Number of training steps."""

    updates: int
    """Updates that the student's optimizer applied."""

    skipped: int
    """Updates that the gradient scaler skipped because gradients overflowed."""

    best_step: int
    """The step of the best weights."""

    cross_entropy_before: float
    """Of the student, before training."""

    cross_entropy: float
    """Of the student, at the best step."""

    teacher_cross_entropy: float | None
    """Of the teacher; None if it is unknown because a cache replaces the teacher."""

    divergence_before: float
    """Of the student from the teacher, before training."""

    divergence: float
    """The same at the best step."""

    agreement_before: float
    """Fraction of positions where both predict the same token, before training."""

    agreement: float
    """The same at the best step."""

    teacher_passes: int
    """Forward passes of the teacher in the first process. Passes that are repeated after a resume
    are counted once."""

    peak_memory: int
    """Bytes, of this process."""

    seconds: float
    """Duration of the call."""

    training_rows: int
    """Number of training rows."""

    held_out_rows: int
    """Number of held-out rows."""

    held_out_tokens: int
    """Supervised tokens of the held-out rows."""

    baseline: dict[str, Any] | None = None
    """With `--compare`: the report of the baseline without the router method."""

    pace: Pace | None = None
    """Tokens per second and peak memory."""

    @property
    def perplexity(self) -> float:
        return self._of(self.cross_entropy).value

    @property
    def gap_closed(self) -> float | None:
        """The share of the way from the student's log-perplexity to the teacher's."""
        if self.teacher_cross_entropy is None:
            return None
        three = (self.cross_entropy_before, self.cross_entropy, self.teacher_cross_entropy)
        return gap_closed(*(self._of(one) for one in three))

    def shown(self, cross_entropy: float) -> str:
        """As a perplexity."""
        return str(self._of(cross_entropy))

    def _of(self, cross_entropy: float) -> Perplexity:
        return Perplexity(cross_entropy * self.held_out_tokens, self.held_out_tokens)

    def _repr_html_(self) -> str:
        return report_html("surefit distill", asdict(self))


@dataclass(slots=True)
class Tally:
    """What has come together since the last evaluation, and in the run; it goes on with the run."""

    loss: float = 0.0
    cross_entropy: float = 0.0
    divergence: float = 0.0
    places: int = 0
    """Supervised tokens that these sums are over."""

    updates: int = 0
    skipped: int = 0

    def add(self, loss: float, cross_entropy: float, divergence: float, places: int) -> None:
        """`loss` is a mean over `places`, the others are sums."""
        self.loss += loss * places
        self.cross_entropy += cross_entropy
        self.divergence += divergence
        self.places += places

    def means(self) -> tuple[float, float, float]:
        """Of loss, cross entropy and divergence over all places; they begin anew."""
        found = tuple(one / self.places for one in (self.loss, self.cross_entropy, self.divergence))
        self.loss = self.cross_entropy = self.divergence = 0.0
        self.places = 0
        return found[0], found[1], found[2]

    def state_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)


def say_step(step: int, means: tuple[float, float, float], found: HeldOut) -> None:
    loss, cross_entropy, divergence = means
    line = held_out_line(
        step,
        loss=loss,
        cross_entropy=cross_entropy,
        divergence=divergence,
        perplexity=found.perplexity,
        evaluated=found.batches,
        batches=found.batches,
    )
    say(f"{line}; {found.beside_teacher()}")


def say_before(found: HeldOut) -> None:
    say(
        f"Before training: ppl {found.perplexity} over {found.tokens:,} held-out tokens, "
        f"evaluated {found.batches}/{found.batches} batches; {found.beside_teacher()}"
    )


def say_end(report: DistillReport) -> None:
    before, after = (
        report.shown(one) for one in (report.cross_entropy_before, report.cross_entropy)
    )
    closed = report.gap_closed
    way = "" if closed is None else f", {closed:.1%} of the gap to the teacher in log-perplexity"
    say(f"Best step {report.best_step}: ppl {after} (before training {before}){way}")
    say(
        f"KL to the teacher {report.divergence:.4f} (before {report.divergence_before:.4f}), same "
        f"top token {report.agreement:.1%} (before {report.agreement_before:.1%})"
    )
    if report.baseline is not None:
        say_beside(report, report.baseline)
    taken = f"{report.updates:,} updates, {report.skipped} skipped"
    say(f"{taken}, {report.teacher_passes:,} teacher forward passes")
    if report.pace is not None:
        say(f"Speed: {report.pace}")
    say(f"Trained weights: {report.trained}  ({report.seconds:.0f} s)")


def say_beside(report: DistillReport, baseline: dict[str, Any]) -> None:
    say(
        f"Baseline without the router method, same number of updates ({baseline['updates']:,}): "
        f"ppl {report.shown(baseline['cross_entropy'])}, KL {baseline['divergence']:.4f}, "
        f"same top token {baseline['agreement']:.1%}"
    )
    better = report.cross_entropy < baseline["cross_entropy"]
    verdict = "is better" if better else "is not better"
    say(f"On these rows the run with the router method {verdict} than the baseline.")
