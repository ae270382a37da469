"""Going on with a run that was stopped, and stopping one so that it can go on."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule, refusal
from surefit.errors import Stopped, WrongCall
from surefit.settings import as_dict, from_names

from .checkpoint import Parts, checkpoints, load_checkpoint, save_checkpoint
from .progress import Progress
from .ranks import Ranks
from .record import RunFolder, is_score
from .sole_run import check_there, hold

OTHER_SETTINGS = refusal(
    "SF197", "resume-with-other-settings", "A run can only go on with its own settings."
)
STOPPED = Rule("SF198", "stopped", Severity.NOTE, "The user stopped a run, and it was saved.")

Settings = TypeVar("Settings", bound=Any)


def settings_of(asked: Settings, place: Path, recipe: str) -> tuple[RunFolder, Settings]:
    """The run at `place` and its own settings; whatever else was asked must agree with them."""
    folder = RunFolder(place, recipe)
    kind = type(asked)
    own = replace(from_names(kind, folder.read_settings()), resume=place, out=place)
    default = kind()
    differing = [
        one.name
        for one in fields(kind)
        if one.name not in {"resume", "out"}
        and getattr(asked, one.name) not in (getattr(default, one.name), getattr(own, one.name))
    ]
    if differing:
        raise WrongCall(_other_settings(folder, differing, as_dict(own), as_dict(asked)))
    return folder, own


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
            self.folder.keep_metrics(lambda _: False)
            return Progress()
        progress = load_checkpoint(found[-1], self.parts, self.identity, self.ranks)
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
            f"Stopped after step {progress.step} of {steps}, as you asked; everything is saved.",
            fixes=[Fix(f"Go on with:  surefit {folder.recipe} --resume {folder.path}")],
        )
    )


def _other_settings(
    folder: RunFolder, names: list[str], own: dict[str, Any], asked: dict[str, Any]
) -> Finding:
    return OTHER_SETTINGS.finding(
        Place(str(folder.settings_file)),
        f"`{folder.path}` was started with other {', '.join(f'`{name}`' for name in names)}.",
        facts=[Fact(f"`{name}`", f"{own[name]} in the run, {asked[name]} now") for name in names],
        why="A run that changes its settings half-way has numbers that mean neither.",
        fixes=[
            Fix(f"Go on as it was started:  surefit {folder.recipe} --resume {folder.path}"),
            Fix("Or start a new run with `--out`."),
        ],
    )
