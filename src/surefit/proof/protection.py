"""What of this system's kernel keeps a trial run from what is outside of its copy."""

import subprocess
import sys

from surefit.observe.held_folders import held_folder
from surefit.observe.inside.traces import outside
from surefit.observe.launch import observed_environment

WALLS = {
    "namespaces": "in namespaces of their own",
    "landlock": "behind Landlock and seccomp: there are no user namespaces",
    "none": "not made: there are neither user namespaces nor Landlock (see `--trust-trial`)",
}


def protection() -> str:
    """Tried by a process that does nothing else."""
    with held_folder() as folder:
        given = observed_environment(folder, {outside.SANDBOX: str(folder)})
        code = f"import os; print(os.environ.get({outside.WALLS!r}))"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    return WALLS.get(done.stdout.strip(), WALLS["none"])
