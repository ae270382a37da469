"""What whole steps of training take: CPU time and resident memory."""

import os
import time
from importlib.metadata import version

from benchmarks.distilling.step_workload import COUNTED, NOT_COUNTED
from benchmarks.peers.meter import OWN_REFERENCES, megabytes


class StepMeter:
    """CPU time of the steps that are counted; memory from `watch_memory` on, in all steps."""

    def __init__(self) -> None:
        self.resident = self.peak = 0.0
        self.began = self.ended = 0.0
        self.divergences: list[float] = []

    def watch_memory(self) -> None:
        """Models and trainer are there; gradients and what the optimizer keeps are not."""
        OWN_REFERENCES.write_text("5", encoding="ascii")
        self.resident = megabytes("VmRSS")

    def begin_step(self) -> None:
        if len(self.divergences) == NOT_COUNTED:
            self.began = time.process_time()

    def end_step(self, divergence: float) -> None:
        """A mean over supervised places."""
        self.ended = time.process_time()
        self.peak = megabytes("VmHWM")
        self.divergences.append(divergence)

    def answer(self, *packages: str) -> dict[str, object]:
        """Of `packages` the versions are written down."""
        assert len(self.divergences) == NOT_COUNTED + COUNTED
        return {
            "cpu": self.ended - self.began,
            "memory": self.peak - self.resident,
            "divergences": self.divergences,
            "load": os.getloadavg()[0],
            "versions": {one: version(one) for one in packages},
        }
