"""What a run did, step by step, in a folder of its own.

settings.json            what it was asked to do
metrics.jsonl            a line a step (`loss` is the mean over its supervised tokens) and a
                         line an evaluation (`f1`, `exact_match`: means over held-out rows)
predictions/epoch-N.jsonl   every held-out row with its target, answer and F1
checkpoints/step-N/      all that is needed to go on; see checkpoint.py
best/epoch-N/            the best weights so far (`best/step-N` of a distillation); at the end of
                         the run they become `adapter/` or `model/`
report.json              how it ended; only a run that is done has one
"""

import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput
from surefit.metrics.answers import AnswerScore
from surefit.render.html import report_html
from surefit.writing import write_json, write_lines, writing

from .progress import Progress

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

AnyReport = TypeVar("AnyReport")

HOLDS_A_RUN = refusal("SF191", "out-folder-in-use", "The folder to write to already holds a run.")
NOT_A_RUN = refusal("SF192", "not-a-run", "A folder that should hold a run does not.")


@dataclass(frozen=True, slots=True)
class Report:
    """How a run ended. F1 and exact match are means over the held-out rows."""

    folder: str
    trained: str
    """The folder of the weights to use, those of the best epoch."""

    epochs: int
    steps: int
    loss: float
    """Mean over the supervised tokens of the last epoch."""

    seconds: float
    training_rows: int
    held_out_rows: int
    best_epoch: int
    f1_before: float | None = None
    f1: float | None = None
    exact_match: float | None = None

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

    def read_report_as(self, kind: type[AnyReport]) -> AnyReport:
        return msgspec.convert(msgspec.json.decode(self.report_file.read_bytes()), kind)

    def read_settings(self) -> dict[str, Any]:
        try:
            settings: dict[str, Any] = json.loads(self.settings_file.read_bytes())
        except (OSError, ValueError) as error:
            raise BadInput(_not_a_run(self.path, self.recipe, error)) from error
        made_by = settings.pop("recipe", "sft")
        if made_by != self.recipe:
            raise BadInput(_other_recipe(self.path, made_by, self.recipe))
        return settings

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
        epoch: int,
        score: AnswerScore,
        predictions: Iterable[Mapping[str, Any]],
    ) -> None:
        if self.writes:
            write_lines(self.predictions_file(epoch), predictions)
        self.add({"step": progress.step, "epoch": epoch, **asdict(score)})

    def add(self, record: Mapping[str, Any]) -> None:
        if not self.writes:
            return
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
                shutil.rmtree(folder)

    def finish(self, number: int, name: str) -> Path:
        """Gives the best weights their final name; done already, it changes nothing."""
        final = self.path / name
        if not self.writes:
            return final
        if not final.exists():
            self.best(number).rename(final)
        if (self.path / "best").is_dir():
            shutil.rmtree(self.path / "best")
        return final

    def write_report(self, report: "DataclassInstance") -> None:
        if self.writes:
            write_json(self.report_file, asdict(report))

    def score_of(self, epoch: int) -> dict[str, Any]:
        """The evaluation after that epoch (0: before training); empty if there was none."""
        scores = filter(is_score, self.metrics())
        found = [record for record in scores if record["epoch"] == epoch]
        return found[-1] if found else {}


def next_free(parent: Path, stem: str) -> Path:
    taken = [p.name.removeprefix(f"{stem}-") for p in parent.glob(f"{stem}-*")]
    return parent / f"{stem}-{max((int(n) for n in taken if n.isdigit()), default=0) + 1}"


def check_free(path: Path) -> None:
    """Raises `BadInput` if a run could not be put at `path`, and makes nothing."""
    if path.is_dir() and any(path.iterdir()):
        raise BadInput(_in_use(path))
    if path.exists() and not path.is_dir():
        raise BadInput(_in_use(path))


def start_run(path: Path, settings: Mapping[str, Any], recipe: str = "sft") -> RunFolder:
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
        write_json(path / "settings.json", {"recipe": recipe, **settings})
    return RunFolder(path, recipe)


def is_score(record: Mapping[str, Any]) -> bool:
    """Whether a line of the metrics is of an evaluation, and not of a training step."""
    return "learning_rate" not in record


def score_number(record: Mapping[str, Any]) -> int:
    """The epoch after which an evaluation was made, or the step where epochs do not count."""
    return int(record.get("epoch", record["step"]))


def _in_use(path: Path) -> Finding:
    is_run = (path / "settings.json").exists()
    done = (path / "report.json").exists()
    held: Sequence[str] = (
        sorted(p.name for p in path.iterdir())[:12] if path.is_dir() else ["a file"]
    )
    go_on = (
        [Fix(f"Go on with that run:  surefit {recipe_of(path)} --resume {path}")]
        if is_run and not done
        else []
    )
    return HOLDS_A_RUN.finding(
        Place(str(path)),
        f"`{path}` already holds {'a run' if is_run else 'other files'}; nothing was written.",
        facts=[Fact("it holds", ", ".join(held))],
        fixes=[*go_on, Fix("Choose another folder with `--out`, or remove this one.")],
    )


def recipe_of(path: Path) -> str:
    """The command that made the run there, as far as its settings tell."""
    try:
        settings: dict[str, Any] = json.loads((path / "settings.json").read_bytes())
    except (OSError, ValueError):
        return "sft"
    return str(settings.get("recipe", "sft"))


def _other_recipe(path: Path, made_by: str, asked: str) -> Finding:
    return NOT_A_RUN.finding(
        Place(str(path)),
        f"`{path}` holds a run of `surefit {made_by}`, not of `surefit {asked}`.",
        fixes=[Fix(f"Go on with it:  surefit {made_by} --resume {path}")],
    )


def _not_a_run(path: Path, recipe: str, error: Exception) -> Finding:
    return NOT_A_RUN.finding(
        Place(str(path)),
        f"`{path}` is not the folder of a run: its settings.json cannot be read.",
        facts=[
            Fact("it holds", ", ".join(sorted(p.name for p in path.iterdir())[:12]) or "nothing")
            if path.is_dir()
            else Fact("folder", "there is none of that name")
        ],
        fixes=[Fix(f"Name the folder that `surefit {recipe}` printed when it started.")],
        python_said=f"{type(error).__name__}: {error}",
    )


def _nothing_trained(path: Path) -> Finding:
    return NOT_A_RUN.finding(
        Place(str(path)),
        f"`{path}` holds no trained weights yet: its first epoch was not finished.",
        fixes=[Fix(f"Go on with it:  surefit {recipe_of(path)} --resume {path}")],
    )
