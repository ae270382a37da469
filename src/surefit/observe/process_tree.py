"""A process and what it started, as the kernel tells it: memory, and kills for want of it."""

from contextlib import suppress
from pathlib import Path

from surefit.observe.inside.traces.relay import RELAY

PAGE = 4096
KIB = 1024


def tree(pid: int) -> list[int]:
    """The process and all below it, parents first."""
    found = [pid]
    for one in found:
        with suppress(OSError, ValueError):
            for task in Path(f"/proc/{one}/task").iterdir():
                found += [int(child) for child in (task / "children").read_text().split()]
    return found


def resident(pid: int) -> int:
    """Bytes resident, over the process and all below it; pages that they share count each time, but
    not those of processes that only wait for a sandbox."""
    total = 0
    for process in tree(pid):
        with suppress(OSError, ValueError, IndexError):
            folder = Path(f"/proc/{process}")
            if (folder / "comm").read_text().strip() != RELAY:
                total += int((folder / "statm").read_text().split()[1]) * PAGE
    return total


class Kernel:
    """What the kernel says about memory, now and when this was made."""

    def __init__(self) -> None:
        self.killed = self._kills()
        self.limit = self._limit()

    def killed_for_memory(self, peak: int) -> bool:
        """Its counter of such kills rose, or nearly all that there is was in use."""
        kills = self._kills()
        if kills is not None and self.killed is not None and kills > self.killed:
            return True
        return self.limit is not None and peak > 0.9 * self.limit

    @staticmethod
    def _kills() -> int | None:
        with suppress(OSError, ValueError):
            for line in Path("/sys/fs/cgroup/memory.events").read_text().splitlines():
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
        with suppress(OSError, ValueError):
            for line in Path("/proc/vmstat").read_text().splitlines():
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
        return None

    @staticmethod
    def _limit() -> int | None:
        limits = []
        with suppress(OSError, ValueError):
            limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
        with suppress(OSError, ValueError, IndexError):
            limits.append(int(Path("/proc/meminfo").read_text().split()[1]) * KIB)
        return min(limits, default=None)
