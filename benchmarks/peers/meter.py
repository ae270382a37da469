"""What a process takes to train: CPU time, resident memory, and tokens that reach the model."""

import json
import os
import re
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

IGNORED = -100
LIBRARIES = ("torch", "transformers", "trl", "peft", "accelerate", "datasets")
OWN_STATUS = Path("/proc/self/status")
OWN_REFERENCES = Path("/proc/self/clear_refs")


class Meter:
    """Counts from the first step to the end of the last; memory from `watch_memory` on."""

    def __init__(self, pad_id: int | None) -> None:
        self.pad_id = pad_id
        self.resident = 0.0
        self.peak = 0.0
        self.began: float | None = None
        self.ended = 0.0
        self.losses: list[float] = []
        self.places: list[int] = []
        """Supervised tokens of each step."""
        self.real = self.padded = self.supervised = 0

    def watch_memory(self) -> None:
        """From here on; the kernel keeps the peak, so that no look at it misses one."""
        if not self.resident:
            OWN_REFERENCES.write_text("5", encoding="ascii")
            self.resident = megabytes("VmRSS")

    def begin_step(self) -> None:
        """Only the first one counts."""
        self.watch_memory()
        if self.began is None:
            self.began = cpu_seconds()

    def count(self, input_ids: Any, labels: Any, attention_mask: Any = None) -> None:
        """A batch as the model is given it."""
        self.supervised += int((labels[:, 1:] != IGNORED).sum())
        self.padded += input_ids.numel()
        if self.pad_id is not None:
            self.real += int((input_ids != self.pad_id).sum())
        elif attention_mask is not None and attention_mask.dim() == 2:
            self.real += int(attention_mask.sum())
        else:
            self.real += input_ids.numel()

    def end_step(self, loss: float) -> None:
        self.ended = cpu_seconds()
        self.losses.append(loss)
        self.places.append(self.supervised - sum(self.places))
        self.peak = megabytes("VmHWM")

    def write(self, path: Path, *more: str) -> None:
        """`more` are packages whose versions are written down too."""
        assert self.began is not None
        answer = {
            "first_step": self.began,
            "cpu": self.ended - self.began,
            "memory": self.peak - self.resident,
            "supervised": self.supervised,
            "real": self.real,
            "padded": self.padded,
            "steps": len(self.losses),
            "losses": self.losses,
            "places": self.places,
            "versions": {name: found for name in (*more, *LIBRARIES) if (found := installed(name))},
        }
        path.write_text(json.dumps(answer), encoding="utf-8")


def cpu_seconds() -> float:
    """Since the process began, in all its threads and the children that have ended."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def megabytes(name: str) -> float:
    found = re.search(rf"^{name}:\s+(\d+) kB", OWN_STATUS.read_text(encoding="ascii"), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024 / 1e6


def installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
