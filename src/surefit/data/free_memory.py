"""How much memory there is to be had."""

from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


def free_memory() -> int:
    """Bytes, those of the page cache that can be given up included; in a container below its
    limit."""
    import psutil

    return min(int(psutil.virtual_memory().available), *_below_limit())


def _below_limit() -> list[int]:
    try:
        limit = (CGROUP / "memory.max").read_text().strip()
        used = int((CGROUP / "memory.current").read_text())
        told = dict(line.split() for line in (CGROUP / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return [2**63]
    return [int(limit) - used + int(told.get("inactive_file", 0))] if limit.isdigit() else [2**63]
