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
    """The run folder to make; by default the next free `runs/demo-N`. The scripts that the tour
    diagnoses are copied to a folder beside it, `runs/demo-N-scripts`."""

    seed: int = 0
    """Decides the split, the order of rows and the start of the adapters."""

    examples: int = 4
    """Held-out rows whose answers are shown."""


DEFAULTS = Demo()


def demo(settings: Annotated[Demo, Parameter(name="*")] = DEFAULTS) -> None:
    """A tour of three minutes: a crash, a silent failure, a training run.

    It diagnoses a script that crashes and proves the fix, stops a run whose accuracy rises
    although its gradients are wrong, and trains the embedded model on the embedded rows.

    surefit demo                      the embedded model, three minutes on two cores
    surefit demo --model smollm2      SmolLM2-135M, about five minutes more
    """
    refuse_missing_packages()
    from surefit.train.record import next_free

    out = settings.out or next_free(Path("runs"), "demo")
    scripts = out.with_name(f"{out.name}-scripts")
    scripts.mkdir(parents=True, exist_ok=True)
    say("1 of 3: a script crashes, and the message suggests what would not help.")
    examine(scripts, CRASH)
    say("\n2 of 3: the accuracy rises, nothing fails, and the gradients are wrong.")
    examine(scripts, SILENT, "--stop-on", "error", "--no-proof")
    say("\n3 of 3: surefit trains a model: LoRA on the embedded model and rows.\n")
    learn(settings, out)
    say(f"Ask it yourself:            surefit ask {out} 'A message, and a question about it?'")
    say(f"The scripts of 1 and 2:     {scripts}")
    say(f"The page of this training:  {out / 'report.html'}")


def refuse_missing_packages() -> None:
    """Before the first script fails of it."""
    for package in ("torch", "transformers", "peft", "accelerate", "datasets"):
        if find_spec(package) is None:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)


def examine(folder: Path, name: str, *flags: str) -> None:
    """`surefit run` on a copy of a script, as it would be typed there; its output goes where
    that of the tour goes."""
    at = next(place for place in SCRIPTS if (place / name).is_file())
    copy(at / name, folder)
    say(f"\n$ cd {folder} && surefit run {' '.join((*flags, name))}\n")
    console.out.file.flush()
    quiet = ("--quiet",) if console.quiet else ()
    subprocess.run(
        [sys.executable, "-m", "surefit", *quiet, "run", *flags, name], cwd=folder, check=False
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
