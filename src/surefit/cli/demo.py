"""`surefit demo`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

SMOLLM2: dict[str, Any] = {"max_steps": 120, "held_out": 0.05}
"""A hundred times larger than the embedded model: fewer steps and rows to answer, five minutes."""


@dataclass(frozen=True, kw_only=True)
class Demo:
    """What the tour trains."""

    model: str = "embedded"
    """`embedded`, or `smollm2` for a real model of 135 million weights."""

    out: Path | None = None
    """The run folder to make; by default the next free `runs/demo-N`."""

    seed: int = 0
    """Decides the split, the order of rows and the start of the adapters."""

    examples: int = 4
    """Held-out rows whose answers are shown."""


DEFAULTS = Demo()


def demo(settings: Annotated[Demo, Parameter(name="*")] = DEFAULTS) -> None:
    """Train on the embedded rows and show answers before and after.

    surefit demo                      the embedded model, a few minutes on two cores
    surefit demo --model smollm2      SmolLM2-135M, about five minutes
    """
    from surefit.recipes.sft import train
    from surefit.recipes.sft_settings import LoraSft
    from surefit.render.answers import before_and_after
    from surefit.render.console import say
    from surefit.train.record import RunFolder, next_free

    more = SMOLLM2 if settings.model == "smollm2" else {}
    out = settings.out or next_free(Path("runs"), "demo")
    report = train(LoraSft(model=settings.model, out=out, seed=settings.seed, **more))
    folder = RunFolder(out)
    say()
    say(
        before_and_after(
            folder.predictions(0), folder.predictions(report.best_epoch), settings.examples
        )
    )
    say(f"Ask it yourself:  surefit ask {out} 'A message, and a question about it?'")
