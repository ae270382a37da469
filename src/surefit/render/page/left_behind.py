"""A run folder as it was left behind, read: whatever is missing or cut off is None."""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from surefit.doctor.findings import COMMAND_LINE, Fact, Fix
from surefit.doctor.rule import refusal
from surefit.errors import WrongCall
from surefit.render.json_document import Document

from .contents import DataShown

NO_RUN = refusal("SF095", "no-run-there", "A folder whose page is asked for holds no run.")

SETTINGS, METRICS, REPORT = "settings.json", "metrics.jsonl", "report.json"
FINDINGS, DATA, ENVIRONMENT = "findings.json", "data.json", "environment.json"
PAGE = "report.html"

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnvironment:
    """Where and when a run was begun. A recipe writes it into the run folder."""

    command: str
    began: str
    host: str
    pid: int
    versions: tuple[Fact, ...]

    @classmethod
    def of_this_process(cls, command: str, versions: tuple[Fact, ...]) -> "RunEnvironment":
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        host, pid = platform.node(), os.getpid()
        return cls(command=command, began=now, host=host, pid=pid, versions=versions)

    @property
    def is_alive(self) -> bool | None:
        """Whether the process that began the run is there; None on another machine."""
        if self.host != platform.node():
            return None
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return True


@dataclass(frozen=True)
class LeftBehind:
    """What lies in a run folder."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.resolve().name

    @cached_property
    def settings(self) -> dict[str, Any]:
        return read_json(self.path / SETTINGS, dict[str, Any]) or {}

    @property
    def recipe(self) -> str:
        return str(self.settings.get("recipe", "sft"))

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        return read_lines(self.path / METRICS)

    @cached_property
    def report(self) -> Mapping[str, Any] | None:
        return read_json(self.path / REPORT, dict[str, Any])

    @cached_property
    def ended(self) -> Document | None:
        return read_json(self.path / FINDINGS, Document)

    @cached_property
    def data(self) -> DataShown | None:
        return read_json(self.path / DATA, DataShown)

    @cached_property
    def environment(self) -> RunEnvironment | None:
        return read_json(self.path / ENVIRONMENT, RunEnvironment)

    @property
    def steps(self) -> int:
        return max((int(record.get("step", 0)) for record in self.records[-3:]), default=0)

    @cached_property
    def is_running(self) -> bool:
        """As far as this machine can tell; of a run on another one, it is until it has ended."""
        if self.report is not None or self.ended is not None:
            return False
        return self.environment is None or self.environment.is_alive is not False

    def predictions(self, number: int) -> list[dict[str, Any]]:
        return read_lines(self.path / "predictions" / f"epoch-{number}.jsonl")

    @cached_property
    def predicted_epochs(self) -> list[int]:
        """Those whose answers are there, in their order."""
        names = [file.stem for file in self.path.glob("predictions/epoch-*.jsonl")]
        numbers = (name.removeprefix("epoch-") for name in names)
        return sorted(int(number) for number in numbers if number.isdigit())


def read_run_folder(path: Path) -> LeftBehind:
    """Refuses a folder without the settings of a run."""
    if not (path / SETTINGS).is_file():
        is_there = path.is_dir()
        raise WrongCall(
            NO_RUN.finding(
                COMMAND_LINE,
                f"`{path}` is not a run folder: it has no settings.json."
                if is_there
                else f"The folder `{path}` does not exist.",
                facts=[Fact("it holds", held_in(path))] if is_there else (),
                fixes=[
                    Fix("Name the folder that the run printed as `Run folder` when it started.")
                ],
            )
        )
    return LeftBehind(path)


def held_in(folder: Path) -> str:
    runs = sorted(inner.parent.name for inner in folder.glob(f"*/{SETTINGS}"))[:8]
    if runs:
        return f"runs: {', '.join(runs)}"
    return ", ".join(sorted(inner.name for inner in folder.iterdir())[:8]) or "nothing"


def read_json(file: Path, kind: type[Read]) -> Read | None:
    """None where there is no such file, or half of it."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError):
        return None


def read_lines(file: Path) -> list[dict[str, Any]]:
    """A run that was killed while writing leaves half a line; it does not count."""
    try:
        lines = file.read_bytes().split(b"\n")[:-1]
    except OSError:
        return []
    decoder = msgspec.json.Decoder(dict[str, Any])
    records = []
    for line in lines:
        try:
            records.append(decoder.decode(line))
        except msgspec.MsgspecError:
            continue
    return records
