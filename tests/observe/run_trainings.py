"""Runs trainings in this process, observed or not.

    python run_trainings.py observed|plain OUT NAME...

OUT gets, for each training, a digest of all that it computed and, if it was observed, its `Steps`.
"""

import gc
import hashlib
import json
import random
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any


def observe() -> None:
    """As the boot of an observed run does it, with no more than steps need."""
    from surefit.observe.inside.after_import import Watcher

    sys.meta_path.insert(0, Watcher())
    for part in ("origins", "training.steps"):
        import_module(f"surefit.observe.inside.{part}")
    import_module("surefit.observe.inside.finishing").install()


def digest(*things: Any) -> str:
    import torch
    from torch import Tensor, nn

    found = hashlib.sha256()
    for thing in things:
        if isinstance(thing, Tensor):
            flat = thing.detach().to_dense().contiguous().reshape(-1)
            found.update(flat.view(torch.uint8).numpy().tobytes())
        elif isinstance(thing, nn.Module):
            found.update(digest(*thing.parameters(), *thing.buffers()).encode())
        elif isinstance(thing, list | tuple):
            found.update(digest(*thing).encode())
        else:
            found.update(repr(thing).encode())
    return found.hexdigest()


def run(name: str, observed: bool) -> dict[str, Any]:
    import torch

    gc.collect()
    if observed:
        import_module("surefit.observe.inside.finishing").forget()
    torch.manual_seed(0)
    random.seed(0)
    result = import_module("trainings").TRAININGS[name]()
    found: dict[str, Any] = {"digest": digest(result, torch.get_rng_state(), random.getstate())}
    if observed:
        steps = import_module("surefit.observe.inside.training.steps")
        steps._settle()
        found["steps"] = asdict(steps._steps())
    return found


def main() -> None:
    arm, out, *names = sys.argv[1:]
    if arm == "observed":
        observe()
    import torch

    torch.set_num_threads(1)
    found = {name: run(name, arm == "observed") for name in names}
    Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
