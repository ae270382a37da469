"""`torchrun`, which also writes down how each of its processes ended: FILE, then its own words.

Its own table lists only those that had failed when it looked.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch.distributed import run
from torch.distributed.elastic.multiprocessing.subprocess_handler import subprocess_handler

started: dict[str, "subprocess.Popen[bytes]"] = {}


def kept(args: Sequence[str], env: dict[str, str], **how: Any) -> "subprocess.Popen[bytes]":
    """A process that is found again by its rank."""
    started[env["RANK"]] = subprocess.Popen(args, env=env, **how)
    return started[env["RANK"]]


if __name__ == "__main__":
    file = Path(sys.argv.pop(1))
    vars(subprocess_handler)["Popen"] = kept
    try:
        run.main()
    finally:
        file.write_text(json.dumps({rank: one.wait() for rank, one in started.items()}))
