"""What pretraining on features gives back, and how its run ended."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from surefit.render.console import say
from surefit.render.html import report_html
from surefit.train.pace import Pace


class Pretrained(NamedTuple):
    """What pretraining gives back, in this order."""

    model: Any
    """The trained model, with the weights of its best epoch."""

    train_loss: float
    """Mean over the supervised steps of the epoch whose weights these are: that with the lowest
    loss on held-out rows, or the last where none are held out."""

    validation_loss: float | None
    """Mean over those of the held-out rows after it; None where none are held out."""

    seconds_per_epoch: float
    """Of the epochs that this call trained, evaluation included."""

    def _repr_html_(self) -> str:
        losses = {name: value for name, value in self._asdict().items() if name != "model"}
        return report_html(f"surefit pretrain: {type(self.model).__name__}", losses)


@dataclass(frozen=True, slots=True)
class PretrainReport:
    """How a run ended; losses are means over supervised steps."""

    folder: str
    trained: str
    epochs: int
    steps: int
    best_epoch: int
    """The one whose weights and losses these are."""

    train_loss: float
    validation_loss: float | None
    validation_loss_before: float | None
    best_possible: float | None
    """Of one who knows the source of made rows, on the same held-out steps."""

    seconds: float
    seconds_per_epoch: float
    training_rows: int
    held_out_rows: int
    pace: Pace | None = None
    """Of real steps of rows, as tokens."""

    def _repr_html_(self) -> str:
        return report_html("surefit pretrain", asdict(self))


def say_end(report: PretrainReport) -> None:
    if report.validation_loss is None:
        say(f"Average train loss {report.train_loss:.4f}; no rows were held out")
    else:
        before = f"before training {report.validation_loss_before:.4f}"
        if report.best_possible is not None:
            before += f", best possible {report.best_possible:.4f}"
        say(
            f"Best epoch {report.best_epoch}: average train loss {report.train_loss:.4f}, average "
            f"validation loss {report.validation_loss:.4f} ({before})"
        )
    speed = ""
    if report.pace is not None:
        speed = f"; {report.pace.tokens_per_second:,.0f} sequence steps/s"
    say(f"Time per epoch: {report.seconds_per_epoch:.1f} s{speed}")
    say(f"Trained weights: {report.trained}  ({report.seconds:.0f} s)")
