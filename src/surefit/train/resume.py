"""Going on with a run that was stopped, and stopping one so that it can go on."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule, refusal
from surefit.errors import BadInput, Stopped, WrongCall
from surefit.render.console import say
from surefit.settings import as_dict, from_names, typed_in
from surefit.writing import write_json

from .checkpoint import Parts, checkpoints, load_checkpoint, save_checkpoint
from .progress import Progress
from .ranks import Ranks
from .record import RunFolder, is_score
from .sole_run import check_there, hold

OTHER_SETTINGS = refusal(
    "SF197", "resume-with-other-settings", "A run can only be resumed with its own settings."
)
NOT_EXTENDED = refusal(
    "SF199", "run-not-extended", "A finished run cannot be extended as requested."
)
STOPPED = Rule("SF198", "stopped", Severity.NOTE, "The user stopped a run; it was saved.")

Settings = TypeVar("Settings", bound=Any)


def settings_of(asked: Settings, place: Path, recipe: str) -> tuple[RunFolder, Settings]:
    """The run at `place` and its own settings; whatever else was typed must agree with them, but
    for the length of a run that is done: more of it begins a new segment."""
    folder = RunFolder(place, recipe)
    kind = type(asked)
    own = replace(from_names(kind, folder.read_settings()), resume=place, out=place)
    differing = [
        name
        for name in _typed(asked)
        if name not in {"resume", "out"} and getattr(asked, name) != getattr(own, name)
    ]
    if folder.is_done and differing and set(differing) <= set(lengths_of(recipe)):
        steps = int(folder.read_json_report()["steps"])
        _check_extendable(folder, steps)
        longer = replace(own, **{name: getattr(asked, name) for name in differing})
        return replace(folder, begun_at=steps, extends=True), longer
    if differing:
        raise WrongCall(_other_settings(folder, differing, as_dict(own), as_dict(asked)))
    return replace(folder, begun_at=folder.segments()[-1]["from_step"]), own


def lengths_of(recipe: str) -> tuple[str, ...]:
    """The settings that say how long a run of this recipe is."""
    return ("steps",) if recipe == "distill" else ("epochs", "max_steps")


def _typed(asked: Any) -> list[str]:
    """In the order of the fields; of settings that were made by hand, those unlike the default."""
    typed, default = typed_in(asked), type(asked)()
    return [
        one.name
        for one in fields(asked)
        if (
            one.name in typed
            if typed is not None
            else getattr(asked, one.name) != getattr(default, one.name)
        )
    ]


def segment_steps(folder: RunFolder, steps: int) -> int:
    """Of the segment that a run is in, of `steps` in all; refuses one that adds none."""
    if folder.extends and steps <= folder.begun_at:
        raise WrongCall(_nothing_added(folder, steps))
    return steps - folder.begun_at


def begin_segment(folder: RunFolder, settings: Any) -> None:
    """Writes down that a finished run goes on. Killed in between, it is as it was, or goes on."""
    earlier = folder.segments()
    last = folder.path / f"report-{len(earlier)}.json"
    folder.report_file.replace(last)
    now = {name: getattr(settings, name) for name in lengths_of(folder.recipe)}
    segments = [*earlier, {"from_step": folder.begun_at, **now}]
    values = {"recipe": folder.recipe, **as_dict(settings), "segments": segments}
    write_json(folder.settings_file, {**values, "resume": None})
    say(
        f"Extending: segment {len(segments)} starts after step {folder.begun_at} with a new warmup "
        f"and decay; the previous report is now {last.name}"
    )


def from_newest(folder: RunFolder) -> list[Fix]:
    """For a run that has stopped by itself: how to resume, if it has saved anything."""
    if not checkpoints(folder.checkpoints):
        return []
    call = f"surefit {folder.recipe} --resume {folder.path}"
    return [Fix(f"Resume from the newest checkpoint:  {call}")]


def say_resumed(progress: Progress, steps: int) -> None:
    say(f"Resuming at step {min(progress.step + 1, steps):,} of {steps:,}")


@dataclass(frozen=True, slots=True)
class Saving:
    """Where and as what a run is saved."""

    folder: RunFolder
    parts: Parts
    identity: dict[str, str]
    ranks: Ranks = field(default_factory=Ranks)

    def save(self, progress: Progress) -> None:
        """All processes together: it is there when they go on."""
        check_there(self.folder.path)
        save_checkpoint(self.folder.checkpoints, self.parts, progress, self.identity, self.ranks)

    def restore(self) -> Progress:
        """Goes back to the newest checkpoint and forgets what came after it."""
        found = self.ranks.first_does(self._own_checkpoints)
        if not found:
            if self.folder.begun_at:
                raise BadInput(_no_checkpoint(self.folder, self.folder.begun_at))
            self.folder.keep_metrics(lambda _: False)
            return Progress()
        begun_at = self.folder.begun_at
        progress = load_checkpoint(found[-1], self.parts, self.identity, self.ranks, begun_at)
        if progress.step == begun_at:
            progress = replace(progress, epochs_without_gain=0)
        self.folder.keep_metrics(_known_to(progress))
        return progress

    def _own_checkpoints(self) -> list[Path]:
        """Of a folder that no other run writes from now on."""
        hold(self.folder.path)
        return checkpoints(self.folder.checkpoints)


def _known_to(progress: Progress) -> Callable[[dict[str, Any]], bool]:
    def known(record: dict[str, Any]) -> bool:
        if is_score(record) and "epoch" in record:
            return bool(record["epoch"] <= progress.epoch)
        return bool(record["step"] <= progress.step)

    return known


def stopped(folder: RunFolder, progress: Progress, steps: int) -> Stopped:
    return Stopped(
        STOPPED.finding(
            Place(str(folder.path)),
            f"Stopped after step {progress.step} of {steps}, as requested; everything is saved.",
            fixes=[Fix(f"To resume:  surefit {folder.recipe} --resume {folder.path}")],
        )
    )


def _check_extendable(folder: RunFolder, steps: int) -> None:
    known = checkpoints(folder.checkpoints)
    if not known or known[-1].name != f"step-{steps:07d}":
        raise BadInput(_no_checkpoint(folder, steps))


def _no_checkpoint(folder: RunFolder, step: int) -> Finding:
    known = [path.name for path in checkpoints(folder.checkpoints)]
    return NOT_EXTENDED.finding(
        Place(str(folder.checkpoints)),
        f"The checkpoint of step {step:,}, from which this run would resume, does not exist.",
        facts=[Fact("checkpoints", ", ".join(known) or "none")],
        fixes=[Fix("Start a new run with another `--out`.")],
    )


def _nothing_added(folder: RunFolder, steps: int) -> Finding:
    last = {name: value for name, value in folder.segments()[-1].items() if name != "from_step"}
    lengths = [f"--{name.replace('_', '-')}" for name in lengths_of(folder.recipe)]
    return NOT_EXTENDED.finding(
        Place(str(folder.path)),
        f"`{folder.path}` already has {folder.begun_at:,} steps; the new settings give {steps:,}.",
        facts=[Fact(f"`{name}` so far", str(value)) for name, value in last.items()],
        why="A run ends when the first of its limits is reached.",
        fixes=[Fix(f"Increase the limit:  {' and '.join(lengths)}")],
    )


def _other_settings(
    folder: RunFolder, names: list[str], own: dict[str, Any], asked: dict[str, Any]
) -> Finding:
    return OTHER_SETTINGS.finding(
        Place(str(folder.settings_file)),
        f"`{folder.path}` was started with a different {', '.join(f'`{name}`' for name in names)}.",
        facts=[Fact(f"`{name}`", f"{own[name]} in the run, {asked[name]} now") for name in names],
        why="The metrics of a run that changes its settings half-way cannot be interpreted.",
        fixes=[
            Fix(
                f"Resume with the original settings:  surefit {folder.recipe} --resume "
                f"{folder.path}"
            ),
            *(
                [Fix("Once the run is complete, the same command extends it.")]
                if set(names) <= set(lengths_of(folder.recipe))
                else []
            ),
            Fix("Or start a new run with `--out`."),
        ],
    )
