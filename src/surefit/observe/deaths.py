"""Ends without an exception, as the parent of a script sees them, and what the dead left behind."""

import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path

from surefit.doctor.observations import Death
from surefit.doctor.recording import relative
from surefit.observe.inside.autopsy import stacks
from surefit.observe.inside.training.last_event import read_last
from surefit.observe.launched import own_process
from surefit.observe.process_tree import Kernel, tree


@dataclass(frozen=True, slots=True)
class Remains:
    """Where processes leave their last words, and what is known of the memory they had."""

    folder: Path
    cwd: Path
    kernel: Kernel
    peak: int

    def by_signal(self, pid: int, number: int) -> Death:
        valid = signal.valid_signals()
        name = signal.Signals(number).name if number in valid else f"signal {number}"
        process = own_process(pid)
        return self.told(
            Death(process, "signal", name, 128 + number, peak=self.peak or None, at=time.time())
        )

    def by_standing_still(self, pid: int) -> Death:
        """Asks every process for its stacks; all of them still live."""
        found = stacks.collect(self.folder, tree(pid))
        return self.told(Death(own_process(pid), "hang", stacks=found, at=time.time()))

    def told(self, death: Death) -> Death:
        """With the last event, the stack and the memory of the process, where they are known."""
        pid = death.process.pid
        last = read_last(self.folder / f"{pid}.last")
        found = death.stacks or stacks.of_the_dead(self.folder, pid)
        place = death.place or stacks.own_place(found)
        killed = death.signal == "SIGKILL" and self.kernel.killed_for_memory(self.peak)
        return replace(
            death,
            oom_killed=death.oom_killed or killed,
            peak=self.peak if killed else death.peak,
            limit=self.kernel.limit,
            last=death.last or (last.in_words() if last else ""),
            steps=death.steps or (last.steps if last else 0),
            stacks=found,
            place=replace(place, file=relative(place.file, self.cwd)) if place else None,
        )
