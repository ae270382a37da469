"""`surefit demo`."""

import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import copy
from typing import Annotated, Any

from cyclopts import Parameter

from surefit.render import console
from surefit.render.console import say

SMOLLM2: dict[str, Any] = {"max_steps": 120, "held_out": 0.05}
"""A hundred times larger than the embedded model: fewer steps and rows to answer, five minutes."""

PACKAGE = Path(__file__).parents[1]
SCRIPTS = (PACKAGE / "tour", PACKAGE.parents[1] / "examples")
"""Where the broken scripts lie: in an installed package, and in a clone."""

CRASH, SILENT = "carried_memory.py", "gradients_add_up.py"


@dataclass(frozen=True, kw_only=True)
class Demo:
    """What the tour trains."""

    model: str = "embedded"
    """`embedded`, or `smollm2` for a real model of 135 million weights."""

    out: Path | None = None
    """The run folder to create; by default the next free `runs/demo-N`. The example scripts are
    copied to `runs/demo-N-scripts`."""

    seed: int = 0
    """Random seed of the split, the row order and the adapter weights."""

    examples: int = 4
    """Number of held-out rows to show with their answers."""


DEFAULTS = Demo()


def demo(settings: Annotated[Demo, Parameter(name="*")] = DEFAULTS) -> None:
    """A three-minute tour: diagnose a crash, catch a silent failure, train a model.

    Part 1 diagnoses a script that crashes and tests the fix. Part 2 stops a run
    whose accuracy rises although its gradients are wrong. Part 3 trains the
    embedded model.

    surefit demo                      three minutes on two cores
    surefit demo --model smollm2      trains SmolLM2-135M, about five minutes more
    """
    from surefit.train.record import next_free

    out = settings.out or next_free(Path("runs"), "demo")
    scripts = out.with_name(f"{out.name}-scripts")
    scripts.mkdir(parents=True, exist_ok=True)
    if find_spec("torch") is None:
        say("torch is not installed, so the example scripts are read instead of run.")
        type_in(scripts, CRASH, "lint")
    else:
        say("Part 1 of 3: a script crashes, and Python's error message suggests the wrong fix.")
        type_in(scripts, CRASH, "run")
        say("\nPart 2 of 3: a script runs without errors, but its gradients are wrong.")
        type_in(scripts, SILENT, "run", "--stop-on", "error", "--no-proof")
    refuse_missing_packages()
    say("\nPart 3 of 3: surefit fine-tunes the embedded model with LoRA.\n")
    learn(settings, out)
    say(f"Ask the model:         surefit ask {out} 'A message, and a question about it?'")
    say(f"Scripts of parts 1, 2: {scripts}")
    say(f"Page of this run:      {out / 'report.html'}")


def refuse_missing_packages() -> None:
    """Before anything is trained; the first two parts need torch alone."""
    for package in ("torch", "transformers", "peft", "accelerate", "datasets"):
        if find_spec(package) is None:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)


def type_in(folder: Path, name: str, command: str, *flags: str) -> None:
    """A command of surefit on a copy of a script; it writes to the terminal of the tour."""
    at = next(place for place in SCRIPTS if (place / name).is_file())
    copy(at / name, folder)
    say(f"\n$ cd {folder} && surefit {' '.join((command, *flags, name))}\n")
    console.out.file.flush()
    quiet = ("--quiet",) if console.quiet else ()
    subprocess.run(
        [sys.executable, "-m", "surefit", *quiet, command, *flags, name], cwd=folder, check=False
    )


def learn(settings: Demo, out: Path) -> None:
    """Trains, and shows answers before and after."""
    from surefit.recipes.sft import train
    from surefit.recipes.sft_settings import LoraSft
    from surefit.render.answers import before_and_after
    from surefit.train.record import RunFolder

    more = SMOLLM2 if settings.model == "smollm2" else {}
    report = train(LoraSft(model=settings.model, out=out, seed=settings.seed, **more))
    folder = RunFolder(out)
    say()
    say(
        before_and_after(
            folder.predictions(0), folder.predictions(report.best_epoch), settings.examples
        )
    )
