"""Harms runs of every recipe and says what they lost.

    python -m tools.faults [--times 50] [--seed 0] [--short] [--only kills disks ...]

Prints one table: what was done, how often, and what was lost. Exits with 1 if anything was.
"""

import argparse
import math
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .children import load_libraries
from .clocks import jumping_clocks
from .disks import harmed_disks
from .kills import killed
from .outcomes import Outcome, table
from .ranks import killed_ranks, run_alone
from .together import two_on_one_folder
from .trainings import tiny_trainings
from .unbroken import unbroken_run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.faults", description=__doc__)
    parser.add_argument("--times", type=int, default=50, help="kills of each recipe")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--recipes", nargs="+", default=["sft", "pretrain", "distill"])
    asked = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="faults-") as place:
        os.environ["TMPDIR"] = tempfile.tempdir = place
        load_libraries()
        for outcome in _all(Path(place), asked.recipes, asked.times, asked.seed):
            outcomes.append(outcome)
            print(f"{outcome.what}: {outcome.times}, lost: {outcome.told}", flush=True)
            for line in outcome.lost:
                print(f"  {line}", flush=True)
    print(f"\nseed {asked.seed}, {asked.times} kills of each recipe\n\n{table(outcomes)}")
    return 1 if any(outcome.lost for outcome in outcomes) else 0


def _all(place: Path, recipes: list[str], times: int, seed: int) -> Iterator[Outcome]:
    trainings = tiny_trainings(place)
    for recipe in recipes:
        unbroken = unbroken_run(trainings[recipe], place / f"{recipe}-unbroken")
        yield from killed(unbroken, place, times, seed)
        fewer = math.ceil(times / 10)
        yield from harmed_disks(unbroken, place, fewer, seed)
        yield from two_on_one_folder(unbroken, place, fewer, seed)
        yield from jumping_clocks(unbroken, place, fewer, seed)
        alone = run_alone(trainings[recipe], place / f"{recipe}-alone")
        yield from killed_ranks(alone, place, fewer, seed)


if __name__ == "__main__":
    sys.exit(main())
