"""Runs of `pretrain` and `distill` in one process, and sharded over two, stopped and resumed.

    python sharded_runs.py FOLDER

All of them are forks of this process, which has the libraries imported.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tools.faults.children import Child, begin, load_libraries, surefit
from tools.faults.ranks import launched
from tools.faults.sharding import sharding
from tools.faults.trainings import Training, tiny_trainings

STOPPED_AFTER = 5
SHORTER = {"pretrain": ("--epochs=2", "--epochs=1"), "distill": ("--steps=16", "--steps=10")}
"""Of the flags of a tiny training, and what stands in its place: 12 steps and 10."""


def main(place: Path) -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    load_libraries()
    for recipe, training in tiny_trainings(place).items():
        if recipe in SHORTER:
            long, short = SHORTER[recipe]
            flags = tuple(short if flag == long else flag for flag in training.flags)
            run_three_times(replace(training, flags=flags), place / recipe)


def run_three_times(training: Training, place: Path) -> None:
    place.mkdir()
    alone, sharded = place / "alone", place / "sharded"
    ended([begin(surefit(training.without_dropout(alone)), place / "alone.txt")], 0)
    words = training.started(sharded, 2)
    ended(launched(in_shards(training.recipe, words, place, STOPPED_AFTER), 2, place, "first"), 130)
    words = training.resumed(sharded)
    ended(launched(in_shards(training.recipe, words, place, None), 2, place, "resumed"), 0)


def ended(children: list[Child], code: int) -> None:
    for child in children:
        if child.wait() != code:
            sys.exit(f"exit code {child.code}, not {code}:\n{child.said}")


def in_shards(recipe: str, words: list[str], place: Path, stop: int | None) -> Callable[[], int]:
    """The command with its model sharded; each process notes how much of it it holds."""

    def work() -> int:
        module = sys.modules[f"surefit.recipes.{recipe}"]
        make = sharding(vars(module)["make_accelerator"])

        def noting(precision: str) -> Any:
            accelerator = make(precision)
            prepare = accelerator.prepare

            def prepare_and_note(*parts: Any) -> Any:
                prepared = prepare(*parts)
                note(prepared[0], place / f"rank-{os.environ['RANK']}.json")
                return prepared

            vars(accelerator)["prepare"] = prepare_and_note
            return accelerator

        vars(module)["make_accelerator"] = noting
        if stop is not None:
            stop_after(stop)
        return surefit(words)()

    return work


def note(loss_of: Any, file: Path) -> None:
    from torch.distributed.tensor import DTensor

    sharded = [one for one in loss_of.parameters() if isinstance(one, DTensor)]
    counts = {
        "tensors": len(list(loss_of.parameters())),
        "sharded": len(sharded),
        "weights": sum(parameter.numel() for parameter in loss_of.parameters()),
        "held": sum(parameter.to_local().numel() for parameter in sharded),
        "groups": sum(type(module).__name__.startswith("FSDP") for module in loss_of.modules()),
    }
    file.write_text(json.dumps(counts))


def stop_after(step: int) -> None:
    """As Ctrl-C would, at a moment that is known."""
    from surefit.train.record import RunFolder

    add = RunFolder.add_step

    def then_stop(folder: Any, progress: Any, *values: Any, **more: Any) -> None:
        add(folder, progress, *values, **more)
        if progress.step == step:
            signal.raise_signal(signal.SIGTERM)

    vars(RunFolder)  # a frozen dataclass with slots: the class itself takes the method
    setattr(RunFolder, "add_step", then_stop)  # noqa: B010


if __name__ == "__main__":
    main(Path(sys.argv[1]))
