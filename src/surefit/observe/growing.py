"""The recording of a run that goes on: what its processes have added is read once."""

from collections.abc import Iterable
from pathlib import Path

from surefit.doctor.observations import Observation
from surefit.doctor.recording import Recording, joined, latest, observations_in


class Growing:
    """Of the files of one spool; a line that is still being written is left for later."""

    def __init__(self, folder: Path, cwd: Path) -> None:
        self.folder = folder
        self.cwd = cwd
        self.read_to: dict[Path, int] = {}
        self.known: list[Observation] = []

    def news(self) -> Recording | None:
        """All so far, where something was added since the last call."""
        lines = [line for file in sorted(self.folder.glob("*.jsonl")) for line in self.added(file)]
        if not lines:
            return None
        self.known = latest([*self.known, *observations_in(lines, self.cwd)])
        return Recording(joined(self.known))

    def added(self, file: Path) -> Iterable[str]:
        begin = self.read_to.get(file, 0)
        with file.open("rb") as opened:
            opened.seek(begin)
            whole, line_end, _ = opened.read().rpartition(b"\n")
        self.read_to[file] = begin + len(whole) + len(line_end)
        return whole.decode("utf-8", "replace").splitlines()
