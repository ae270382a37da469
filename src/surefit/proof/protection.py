"""What of this system's kernel keeps a trial run from what is outside of its copy."""

import subprocess
import sys
from collections.abc import Mapping

from surefit.observe.held_folders import held_folder
from surefit.observe.inside.traces import outside
from surefit.observe.launch import observed_environment

WALLS = {
    "namespaces": "isolated by namespaces",
    "landlock": "isolated by Landlock and seccomp",
    "none": "disabled: no Landlock (see `--trust-trial`)",
}


def protection(extra: Mapping[str, str] | None = None) -> str:
    """Tried by a process that does nothing else; `extra` is added to its environment."""
    with held_folder() as folder:
        environment = observed_environment(folder, {outside.SANDBOX: str(folder), **(extra or {})})
        names = (outside.WALLS, outside.NO_NAMESPACES)
        code = f"import os; print(*map(os.environ.get, {names!r}), sep='\\n')"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    layer, why_not = [*done.stdout.splitlines(), "none", "None"][:2]
    words = WALLS.get(layer, WALLS["none"])
    return words if why_not == "None" else f"{words}; no namespaces: {why_not}"
