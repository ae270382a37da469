"""Judges a base model by what it is for: `surefit sft` on tuning rows, F1 on 300 held-out ones.

    python -m tools.embedded.judge src/surefit/embedded/model --rates 3e-3 6e-3 --seeds 0 1

The rows have names of their own, so that settings can be chosen here without a look at the rows
that ship with the package.
"""

import argparse
import json
import tempfile
from pathlib import Path

from surefit.recipes.sft import train
from surefit.recipes.sft_settings import LoraSft
from surefit.render import console

from .make_rows import write_rows
from .names import Part
from .task import make_rows

TUNING_SEED = 2
ROWS, HELD_OUT = 1200, 0.25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a model folder")
    parser.add_argument("--rates", type=float, nargs="+", default=[6e-3])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--epochs", type=int, default=LoraSft().epochs)
    asked = parser.parse_args()
    console.quiet = True
    with tempfile.TemporaryDirectory() as place:
        rows = Path(place, "rows.jsonl")
        write_rows(make_rows(ROWS, Part.TUNING, TUNING_SEED), rows)
        for rate in asked.rates:
            for seed in asked.seeds:
                report = train(
                    LoraSft(
                        data=str(rows),
                        model=asked.model,
                        out=Path(place, f"{rate}-{seed}"),
                        held_out=HELD_OUT,
                        epochs=asked.epochs,
                        learning_rate=rate,
                        seed=seed,
                    )
                )
                figures = {"rate": rate, "seed": seed, "steps": report.steps}
                scores = {"f1_before": report.f1_before, "f1": report.f1}
                print(
                    json.dumps({**figures, **scores, "seconds": round(report.seconds)}), flush=True
                )


if __name__ == "__main__":
    main()
