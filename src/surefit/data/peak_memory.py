"""The most memory that this process has held."""

import sys
from contextlib import suppress
from pathlib import Path


def peak_memory() -> int:
    """In bytes, files that are mapped included; 0 where the system does not say."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("VmHWM:"))) * 1024
    try:
        import resource
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
