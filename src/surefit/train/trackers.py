"""Trackers (tensorboard, trackio, wandb, mlflow) that get what a run's metrics file gets."""

import io
import os
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from surefit.doctor.findings import COMMAND_LINE, Fact, Finding, Fix
from surefit.doctor.rule import refusal
from surefit.errors import WrongCall
from surefit.render.console import say
from surefit.writing import write_json

from .record import RunFolder, is_score

NOT_INSTALLED = refusal(
    "SF180", "tracker-not-installed", "A run was to report to a tracker that is not installed."
)

PROJECT = "surefit"
"""The project that runs are put into, unless `--project`, or `WANDB_PROJECT`, `TRACKIO_PROJECT` or
`MLFLOW_EXPERIMENT_NAME`, names one."""

PACKAGES = {"mlflow": "mlflow-skinny"}
"""What is installed for a tracker, where that has another name."""

LAST_WORDS = 60
"""Seconds that wandb has to send the last of a run when the network is gone."""


def check_trackers(names: Sequence[str]) -> None:
    """Refuses trackers that this installation has not; loads none."""
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise WrongCall(_not_installed(missing))
    if names and _accelerate() < (1, 9):
        raise WrongCall(_old_accelerate())


@dataclass(slots=True)
class Trackers:
    """The trackers of one run; one that fails is told no more, and the run goes on without it."""

    active: dict[str, Any] = field(default_factory=dict)
    """accelerate's trackers, by name."""

    told_step: int = -1
    """The last step that the trackers heard of before the run was stopped and went on."""

    told_score: int = -1
    """The step of the last evaluation that they heard of before."""

    def add(self, record: Mapping[str, Any]) -> None:
        """A line of the metrics file, at its step; what was told before is not told again."""
        scored = is_score(record)
        if scored and record["step"] <= self.told_score:
            return
        if not scored and record["step"] <= self.told_step:
            return
        stage = "validation" if scored else "train"
        step = record["step"]
        values = {f"{stage}/{name}": record[name] for name in record if name != "step"}
        for name, tracker in tuple(self.active.items()):
            self._try(name, f"at step {step}", partial(tracker.log, dict(values), step=step))

    def finish(self) -> None:
        """Writes and sends what is left; done already, it changes nothing."""
        for name, tracker in tuple(self.active.items()):
            self._try(name, "at the end", partial(_silently, _ending(name, tracker)))
            self.active.pop(name, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.finish()

    def _start(self, name: str, run: "TrackedRun", settings: Mapping[str, Any]) -> None:
        tracker, where = OPEN[name](run)
        _silently(tracker.start)
        self.active[name] = tracker
        # tensorboard would keep a second set of them, and mlflow refuses it
        if name not in {"tensorboard", "mlflow"} or not run.goes_on:
            tracker.store_init_configuration(_flat(settings))
        say(f"Reporting to {name}: {where(tracker.tracker)}")

    def _try(self, name: str, when: str, tell: Callable[[], object]) -> None:
        try:
            tell()
        except Exception as error:  # noqa: BLE001 - hours of training are worth more than a board
            self.active.pop(name, None)
            say(
                f"{name} failed {when} and gets no more metrics: {type(error).__name__}: {error}. "
                "Training continues; metrics.jsonl is complete."
            )


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """What trackers know a run by."""

    folder: Path
    id: str
    """Its own in the world: many people have a `runs/sft-1`."""

    goes_on: bool
    """Whether trackers have heard of it before."""

    project: str | None = None
    run_name: str | None = None
    """As they were asked for."""

    mlflow_id: str | None = None
    """What mlflow calls it, once it has heard of it."""

    @property
    def name(self) -> str:
        return self.run_name or self.folder.resolve().name

    def project_in(self, variable: str) -> str:
        """As asked for, or as the tracker's own variable names it."""
        return self.project or os.environ.get(variable) or PROJECT


def start_trackers(
    names: Sequence[str], settings: Mapping[str, Any], folder: RunFolder, is_first: bool
) -> Trackers:
    """To be called before a run that goes on forgets what came after its checkpoint.

    Only the first of all processes tells trackers anything.
    """
    trackers = Trackers()
    if not is_first or not names:
        return trackers
    known = folder.metrics()
    trackers.told_step = max((r["step"] for r in known if not is_score(r)), default=-1)
    trackers.told_score = max((r["step"] for r in known if is_score(r)), default=-1)
    project, run_name = settings.get("project"), settings.get("run_name")
    run = replace(_tracked(folder.path), project=project, run_name=run_name)
    for name in dict.fromkeys(names):
        trackers._try(name, "to start", partial(trackers._start, name, run, settings))
    return trackers


def _tracked(folder: Path) -> TrackedRun:
    file = folder / "trackers.json"
    if file.exists():
        ids = msgspec.json.decode(file.read_bytes(), type=dict[str, str])
        return TrackedRun(folder, ids["id"], True, mlflow_id=ids.get("mlflow"))
    run = TrackedRun(folder, secrets.token_hex(4), False)
    write_json(file, {"id": run.id})
    return run


Opened = tuple[Any, Callable[[Any], str]]
"""One of accelerate's trackers, not yet started, and where its board is to be seen."""


def _tensorboard(run: TrackedRun) -> Opened:
    from accelerate.tracking import TensorBoardTracker

    tracker = TensorBoardTracker("tensorboard", logging_dir=str(run.folder))
    return tracker, lambda _: f"tensorboard --logdir {run.folder / 'tensorboard'}"


def _trackio(run: TrackedRun) -> Opened:
    from accelerate.tracking import TrackioTracker

    project = run.project_in("TRACKIO_PROJECT")
    name = f"{run.name}-{run.id}"
    tracker = TrackioTracker(project, name=name, resume="allow")
    return tracker, lambda _: f"trackio show --project {project}  (run {name})"


def _wandb(run: TrackedRun) -> Opened:
    """Without a login it writes to the disk: asking for one would hold up the run."""
    import wandb
    from accelerate.tracking import WandBTracker

    mode = os.environ.get("WANDB_MODE")
    if mode in {None, "online"} and not _logged_in():
        say("wandb is not logged in; the run is logged offline, to be synced later")
        mode = "offline"
    settings = {"silent": True, "finish_timeout": LAST_WORDS}
    known = {name: settings[name] for name in settings if name in wandb.Settings.model_fields}
    tracker = WandBTracker(
        run.project_in("WANDB_PROJECT"),
        name=run.name,
        id=run.id,
        dir=os.environ.get("WANDB_DIR", str(run.folder)),
        mode=mode,
        resume="allow" if mode in {None, "online"} else None,
        settings=wandb.Settings(**known),
    )
    return (
        tracker,
        lambda made: f"wandb sync {Path(made.dir).parent}" if made.offline else str(made.url),
    )


def _mlflow(run: TrackedRun) -> Opened:
    """Where `MLFLOW_TRACKING_URI` says, else into files in the run folder."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # asked for is a board, no message
    import mlflow
    from accelerate.tracking import MLflowTracker

    place = os.environ.get("MLFLOW_TRACKING_URI")
    show = f"at {place}"
    if not place:
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        files = run.folder.resolve() / "mlruns"
        place = files.as_uri()
        show = f"MLFLOW_ALLOW_FILE_STORE=true mlflow ui --backend-store-uri {run.folder / 'mlruns'}"
    mlflow.set_tracking_uri(place)
    project = run.project_in("MLFLOW_EXPERIMENT_NAME")
    tracker = MLflowTracker(project, run_id=run.mlflow_id, run_name=run.name)
    tracker.experiment_name = project  # accelerate lets the variable win

    def where(active: Any) -> str:
        ids = {"id": run.id, "mlflow": str(active.info.run_id)}
        write_json(run.folder / "trackers.json", ids)
        return f"{show}  (experiment {project}, run {run.name})"

    return tracker, where


def _logged_in() -> bool:
    import wandb

    try:
        return bool(wandb.login(prompt=False, verify=False))
    except TypeError:  # an older one, whose `login` always asks
        return bool(wandb.api.api_key)


OPEN: dict[str, Callable[[TrackedRun], Opened]] = {
    "tensorboard": _tensorboard,
    "trackio": _trackio,
    "wandb": _wandb,
    "mlflow": _mlflow,
}


def _ending(name: str, tracker: Any) -> Callable[[], object]:
    if name != "trackio":
        end: Callable[[], object] = tracker.finish
        return end
    import trackio

    # accelerate's way leaves the run open in trackio's eyes, to be ended, aloud, at exit
    ended: Callable[[], object] = trackio.finish
    return ended


def _silently(work: Callable[[], object]) -> None:
    """Without what trackers print of themselves; where to look is said once, alike for all."""
    with redirect_stdout(io.StringIO()):
        work()


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """tensorboard takes no lists."""
    return {
        name: ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
        for name, value in settings.items()
    }


def _not_installed(names: Sequence[str]) -> Finding:
    listed = ", ".join(f"`{name}`" for name in names)
    return NOT_INSTALLED.finding(
        COMMAND_LINE,
        f"The run is to report to {listed}, and this Python has no such package.",
        facts=[Fact("Python", sys.executable)],
        why="It was looked for before anything was loaded or written.",
        fixes=[
            Fix(f"pip install {' '.join(PACKAGES.get(name, name) for name in names)}"),
            Fix("Or leave `--report-to` out: the run folder's metrics.jsonl gets the same."),
        ],
    )


def _old_accelerate() -> Finding:
    found = version("accelerate")
    return NOT_INSTALLED.finding(
        COMMAND_LINE,
        f"`--report-to` needs accelerate 1.9 or newer, and accelerate {found} is installed.",
        why="Runs report through accelerate, and its trackers were started otherwise before.",
        fixes=[Fix('pip install --upgrade "accelerate>=1.9"')],
    )


def _accelerate() -> tuple[int, ...]:
    return tuple(int(part) for part in version("accelerate").split(".")[:2])
