"""How long something may take on a machine that others use, too."""

import os


def in_spite_of_others(seconds: float) -> float:
    """By the clock, what takes so many seconds where nothing else runs: as many times longer as
    there are processes for each core."""
    waiting, _, _ = os.getloadavg()
    return seconds * max(1.0, waiting / (os.cpu_count() or 1))
