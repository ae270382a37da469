"""What torch allocates on the CPU while something runs, inside its own functions too."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Allocated:
    """In bytes; filled when the watching ends."""

    largest: int = 0
    """The largest single allocation."""

    peak: int = 0
    """The most that was held at once, beside what was there before."""


@contextmanager
def allocations() -> Iterator[Allocated]:
    from torch.profiler import ProfilerActivity, profile

    seen = Allocated()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        yield seen
    events = [e for e in profiled.profiler.kineto_results.events() if e.name() == "[memory]"]
    held = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        seen.largest = max(seen.largest, event.nbytes())
        seen.peak = max(seen.peak, held)
