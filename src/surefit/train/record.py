"""What a run did, step by step, in a folder of its own.

settings.json            the settings; `segments` if the run was extended
metrics.jsonl            a line per step: `loss` (mean over the supervised tokens of the step),
                         `seconds`, tokens per second and `peak_memory`; only the last three differ
                         between repetitions. A line per evaluation: `f1` and `exact_match` (means
                         over held-out rows), `validation_loss` (mean over their supervised
                         tokens); without `epoch` if it was made within an epoch
training-rows.json, .npy what all training rows have in common, and a 64-bit hash of each
predictions/epoch-N.jsonl   every held-out row with its target, answer and F1
checkpoints/step-N/      everything needed to resume; see checkpoint.py
environment.json, data.json, findings.json, report.html   the page of the run; see run_page.py
best/epoch-N/            the best weights so far (distillation: `best/step-N`), renamed to
                         `adapter/` or `model/` at the end
report.json              the result of a complete run. If the run was extended, `report-1.json` is
                         the result of its first segment
"""

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from surefit.data.in_memory import STORED
from surefit.data.known_rows import ABOUT, DIGESTS
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput
from surefit.metrics.answers import AnswerScore
from surefit.render.html import report_html
from surefit.user_files import read_plain
from surefit.writing import remove_folder, write_json, write_lines, writing

from .pace import Pace
from .progress import Progress
from .sole_run import check_there, hold

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

AnyReport = TypeVar("AnyReport")
LARGEST_SETTINGS = 1 << 20

HOLDS_A_RUN = refusal("SF191", "out-folder-in-use", "The folder to write to already holds a run.")
NOT_A_RUN = refusal("SF192", "not-a-run", "A folder that should hold a run does not.")


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a run. F1 and exact match are means over the held-out rows."""

    folder: str
    """The run folder."""

    trained: str
    """The folder of the weights of the best epoch."""

    epochs: int
    """Number of epochs."""

    steps: int
    """Number of optimizer steps."""

    loss: float
    """Mean over the supervised tokens of the last epoch."""

    seconds: float
    """Duration of the call."""

    training_rows: int
    """Number of training rows, including augmented rows."""

    held_out_rows: int
    """Number of held-out rows."""

    best_epoch: int
    """The epoch with the highest F1, or the last one."""

    f1_before: float | None = None
    """Mean token F1 before training; None if not measured."""

    f1: float | None = None
    """Mean token F1 after the best epoch; None if no rows are held out."""

    exact_match: float | None = None
    """Fraction of answers equal to their target, after the best epoch."""

    validation_loss_before: float | None = None
    """Mean over the supervised tokens of the held-out rows, before training."""

    validation_loss: float | None = None
    """The same at the best epoch."""

    pace: Pace | None = None
    """Tokens per second and peak memory."""

    def _repr_html_(self) -> str:
        return report_html("surefit sft", asdict(self))


def _nobody(_record: Mapping[str, Any]) -> None:
    """By its name it can be sent to other processes."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run and the names in it."""

    path: Path
    recipe: str = "sft"
    """The command that made it."""
    writes: bool = True
    """Of several processes the first alone writes, and all read."""
    tell: Callable[[Mapping[str, Any]], object] = _nobody
    """Given every line that the metrics file gets."""
    begun_at: int = 0
    """The step after which the segment begins that the run is in: 0, if it was never extended."""
    extends: bool = False
    """Whether that segment is to begin now, after a run that is done."""

    @property
    def settings_file(self) -> Path:
        return self.path / "settings.json"

    @property
    def metrics_file(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def report_file(self) -> Path:
        return self.path / "report.json"

    @property
    def is_done(self) -> bool:
        return self.report_file.exists()

    @property
    def counts(self) -> str:
        """What the numbers of its evaluations count."""
        return "step" if self.recipe == "distill" else "epoch"

    def best(self, number: int) -> Path:
        return self.path / "best" / f"{self.counts}-{number}"

    def trained(self) -> Path:
        """Where the weights to use lie: the final ones, or the best so far."""
        for name in ("adapter", "model"):
            if (self.path / name).is_dir():
                return self.path / name
        best = sorted(
            self.path.glob(f"best/{self.counts}-*"), key=lambda folder: folder.stat().st_mtime
        )
        if not best:
            raise BadInput(_nothing_trained(self.path))
        return best[-1]

    def predictions_file(self, epoch: int) -> Path:
        return self.path / "predictions" / f"epoch-{epoch}.jsonl"

    def predictions(self, epoch: int) -> list[dict[str, Any]]:
        lines = self.predictions_file(epoch).read_bytes().splitlines()
        return [msgspec.json.decode(line) for line in lines]

    def read_report(self) -> Report:
        return self.read_report_as(Report)

    def read_json_report(self) -> dict[str, Any]:
        report: dict[str, Any] = msgspec.json.decode(self.report_file.read_bytes())
        return report

    def read_report_as(self, kind: type[AnyReport]) -> AnyReport:
        return msgspec.convert(self.read_json_report(), kind)

    def read_settings(self) -> dict[str, Any]:
        try:
            settings = settings_in(self.settings_file)
        except (OSError, ValueError, RecursionError) as error:
            raise BadInput(_not_a_run(self.path, self.recipe, error)) from error
        settings.pop("segments", None)
        made_by = settings.pop("recipe", "sft")
        if made_by != self.recipe:
            raise BadInput(_other_recipe(self.path, made_by, self.recipe))
        return settings

    def segments(self) -> list[dict[str, Any]]:
        """What was asked for at once, and the step after which it begins: one, and one more for
        every time that the run was extended."""
        settings: dict[str, Any] = json.loads(self.settings_file.read_bytes())
        lengths = ("steps",) if self.recipe == "distill" else ("epochs", "max_steps")
        only = {"from_step": 0} | {name: settings[name] for name in lengths if name in settings}
        segments: list[dict[str, Any]] = settings.get("segments", [only])
        return segments

    def add_step(
        self,
        progress: Progress,
        loss: float,
        rate: float,
        norm: float,
        places: int,
        **more: float,
    ) -> None:
        self.add(
            {
                "step": progress.step,
                "epoch": progress.epoch + 1,
                "loss": loss,
                "learning_rate": rate,
                "gradient_norm": norm,
                "supervised_tokens": places,
                **more,
            }
        )

    def add_score(
        self,
        progress: Progress,
        epoch: int | None,
        score: AnswerScore,
        predictions: Iterable[Mapping[str, Any]],
        **more: float,
    ) -> None:
        """Without an epoch, of an evaluation within one."""
        if epoch is not None and self.writes:
            write_lines(self.predictions_file(epoch), predictions)
        when = {"step": progress.step} | ({} if epoch is None else {"epoch": epoch})
        self.add({**when, **asdict(score), **more})

    def add(self, record: Mapping[str, Any]) -> None:
        if not self.writes:
            return
        check_there(self.path)
        with writing(self.metrics_file), self.metrics_file.open("ab") as file:
            file.write(msgspec.json.encode(record) + b"\n")
        self.tell(record)

    def metrics(self) -> list[dict[str, Any]]:
        if not self.metrics_file.exists():
            return []
        # A run that was killed while writing leaves half a line; it was never counted.
        lines = self.metrics_file.read_bytes().split(b"\n")[:-1]
        return [msgspec.json.decode(line) for line in lines]

    def keep_metrics(self, keep: Callable[[dict[str, Any]], bool]) -> None:
        """Forgets what happened after the checkpoint that the run goes on from."""
        if not self.writes:
            return
        write_lines(self.metrics_file, [record for record in self.metrics() if keep(record)])

    def keep_best(self, number: int | None) -> None:
        """Removes what was the best before."""
        for folder in self.path.glob(f"best/{self.counts}-*") if self.writes else ():
            if number is None or folder != self.best(number):
                remove_folder(folder)

    def finish(self, number: int, name: str) -> Path:
        """Gives the best weights their final name; done already, it changes nothing."""
        final = self.path / name
        if not self.writes:
            return final
        if self.best(number).is_dir():  # before it, there are only those of an earlier segment
            shutil.rmtree(final, ignore_errors=True)
            self.best(number).rename(final)
        elif not final.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(final))
        if (self.path / "best").is_dir():
            shutil.rmtree(self.path / "best")
        return final

    def write_report(self, report: "DataclassInstance") -> None:
        if self.writes:
            check_there(self.path)
            write_json(self.report_file, asdict(report))

    def score_of(self, epoch: int) -> dict[str, Any]:
        """The evaluation after that epoch (0: before training); empty if there was none."""
        scores = filter(is_score, self.metrics())
        found = [record for record in scores if record.get("epoch") == epoch]
        return found[-1] if found else {}


def next_free(parent: Path, stem: str) -> Path:
    taken = [p.name.removeprefix(f"{stem}-") for p in parent.glob(f"{stem}-*")]
    return parent / f"{stem}-{max((int(n) for n in taken if n.isdigit()), default=0) + 1}"


UNBEGUN = {ABOUT, DIGESTS, STORED, f".{STORED}.part", ".settings.json.part"}
"""All that a run leaves that was killed before it had settings."""


def check_free(path: Path) -> None:
    """Raises `BadInput` if a run could not be put at `path`, and makes nothing."""
    if path.is_dir() and any(file.name not in UNBEGUN for file in path.iterdir()):
        raise BadInput(_in_use(path))
    if path.exists() and not path.is_dir():
        raise BadInput(_in_use(path))


def start_run(
    path: Path,
    settings: Mapping[str, Any],
    recipe: str = "sft",
    fill: Callable[[Path], object] = lambda _: None,
) -> RunFolder:
    """`fill` puts in what the run needs of its own to be resumed; the settings come last."""
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
        hold(path)
        check_free(path)  # another run may have begun there since the first look
        fill(path)
        write_json(path / "settings.json", {"recipe": recipe, **settings})
    return RunFolder(path, recipe)


def is_score(record: Mapping[str, Any]) -> bool:
    """Whether a line of the metrics is of an evaluation, and not of a training step."""
    return "learning_rate" not in record


def _in_use(path: Path) -> Finding:
    is_run = (path / "settings.json").exists()
    done = (path / "report.json").exists()
    held: Sequence[str] = (
        sorted(p.name for p in path.iterdir())[:12] if path.is_dir() else ["a file"]
    )
    go_on = (
        [Fix(f"Resume that run:  surefit {recipe_of(path)} --resume {path}")]
        if is_run and not done
        else []
    )
    return HOLDS_A_RUN.finding(
        Place(str(path)),
        f"`{path}` already holds {'a run' if is_run else 'other files'}; nothing was written.",
        facts=[Fact("contents", ", ".join(held))],
        fixes=[*go_on, Fix("Choose another folder with `--out`, or remove this one.")],
    )


def settings_in(file: Path) -> dict[str, Any]:
    settings = json.loads(read_plain(file, LARGEST_SETTINGS))
    if not isinstance(settings, dict):
        raise ValueError("it holds no object of settings")  # noqa: TRY004 - as for other JSON
    return settings


def refuse_no_run(path: Path, recipe: str | None = None) -> None:
    """Before anything heavy is imported for it."""
    RunFolder(path, recipe or recipe_of(path)).read_settings()


def recipe_of(path: Path) -> str:
    """The command that made the run there, as far as its settings tell."""
    try:
        settings = settings_in(path / "settings.json")
    except (OSError, ValueError, RecursionError):
        return "sft"
    return str(settings.get("recipe", "sft"))


def _other_recipe(path: Path, made_by: str, asked: str) -> Finding:
    return NOT_A_RUN.finding(
        Place(str(path)),
        f"`{path}` holds a run of `surefit {made_by}`, not of `surefit {asked}`.",
        fixes=[Fix(f"Resume it:  surefit {made_by} --resume {path}")],
    )


def _not_a_run(path: Path, recipe: str, error: Exception) -> Finding:
    return NOT_A_RUN.finding(
        Place(str(path)),
        f"`{path}` is not a run folder: its settings.json cannot be read.",
        facts=[
            Fact("contents", ", ".join(sorted(p.name for p in path.iterdir())[:12]) or "nothing")
            if path.is_dir()
            else Fact("folder", "does not exist")
        ],
        fixes=[Fix(f"Use the run folder that `surefit {recipe}` printed when it started.")],
        python_said=f"{type(error).__name__}: {error}",
    )


def _nothing_trained(path: Path) -> Finding:
    return NOT_A_RUN.finding(
        Place(str(path)),
        f"`{path}` has no trained weights yet: its first epoch did not finish.",
        fixes=[Fix(f"Resume it:  surefit {recipe_of(path)} --resume {path}")],
    )
