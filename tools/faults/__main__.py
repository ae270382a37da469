"""Harms runs of every recipe and says what they lost.

    python -m tools.faults [--times 50] [--seed 18] [--recipes sft pretrain distill]
                           [--only kills disks together clocks ranks shards]
    python -m tools.faults --short [--seed 18]

Prints one table: what was done, how often, and what was lost. Exits with 1 if anything was.
"""

import argparse
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from .children import load_libraries
from .clocks import jumping_clocks
from .disks import harmed_disks
from .kills import killed
from .outcomes import Outcome, table
from .ranks import killed_ranks, killed_shards, run_alone
from .together import two_on_one_folder
from .trainings import tiny_trainings
from .unbroken import unbroken_run

RECIPES = ("sft", "pretrain", "distill")
OTHERS = {"disks": harmed_disks, "together": two_on_one_folder, "clocks": jumping_clocks}
OF_RANKS = {"ranks": killed_ranks, "shards": killed_shards}
HARMS = ("kills", *OTHERS, *OF_RANKS)
SHORT_TIMES = 2


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.faults",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--times", type=int, default=50, help="kills of each recipe")
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--recipes", nargs="+", choices=RECIPES, default=RECIPES)
    parser.add_argument("--only", nargs="+", choices=HARMS, default=HARMS, help="ways of harming")
    short = f"{SHORT_TIMES} kills and two runs on one folder, of the recipe that the seed picks"
    parser.add_argument("--short", action="store_true", help=short)
    asked = parser.parse_args()
    recipes = [Random(asked.seed).choice(RECIPES)] if asked.short else asked.recipes
    times = SHORT_TIMES if asked.short else asked.times
    harms = ("kills", "together") if asked.short else asked.only
    os.environ["OMP_NUM_THREADS"] = "1"
    began, outcomes = time.monotonic(), []
    print(f"seed {asked.seed}, {times} kills of {', '.join(recipes)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="faults-") as place:
        os.environ["TMPDIR"] = tempfile.tempdir = place
        load_libraries()
        for outcome in _all(Path(place), recipes, harms, times, asked.seed):
            outcomes.append(outcome)
            print(f"{outcome.what}: {outcome.times}, lost: {outcome.told}", flush=True)
            for line in outcome.lost:
                print(f"  {line}", flush=True)
    minutes = (time.monotonic() - began) / 60
    print(f"\n{table(outcomes)}\n\nseed {asked.seed}, {minutes:.0f} minutes")
    return 1 if any(outcome.lost for outcome in outcomes) else 0


def _all(
    place: Path, recipes: Sequence[str], harms: Sequence[str], times: int, seed: int
) -> Iterator[Outcome]:
    trainings = tiny_trainings(place)
    fewer = math.ceil(times / 10)
    for recipe in recipes:
        unbroken = unbroken_run(trainings[recipe], place / f"{recipe}-unbroken")
        if "kills" in harms:
            yield from killed(unbroken, place, times, seed)
        for name in harms:
            if name in OTHERS:
                yield from OTHERS[name](unbroken, place, fewer, seed)
        if of_ranks := [harm for harm in OF_RANKS if harm in harms]:
            alone = run_alone(trainings[recipe], place / f"{recipe}-alone")
            for name in of_ranks:
                yield from OF_RANKS[name](alone, place, fewer, seed)


if __name__ == "__main__":
    sys.exit(main())
