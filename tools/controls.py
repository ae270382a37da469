"""What the default score owes to the embedded model's pretraining: the same training without it.

    python -m tools.controls [--seed 0]

The same adapters, rows, steps and learning rate, on the embedded model, on the start weights that
its pretraining began from, and on random weights. Prints a table.
"""

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

from surefit.metrics.answers import score
from surefit.models.load import OWN_LEARNING_RATES
from surefit.recipes.sft import train
from surefit.recipes.sft_settings import LoraSft
from surefit.render import console
from surefit.train.record import RunFolder
from tools.embedded.start import copying_start, random_start
from tools.embedded.tokenizer import save_tokenizer


@dataclass(frozen=True)
class Control:
    """Weights to start from, and the learning rate to train them with."""

    name: str
    model: str
    learning_rate: float = OWN_LEARNING_RATES["embedded"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    console.quiet = True
    with tempfile.TemporaryDirectory() as place:
        start, random = Path(place, "start"), Path(place, "random")
        for make, folder in ((copying_start, start), (random_start, random)):
            make().save_pretrained(folder)
            save_tokenizer(folder)
        controls = (
            Control("the embedded model", "embedded"),
            Control("its start weights, without pretraining", str(start)),
            Control("the same, at a rate that suits them better", str(start), 1e-3),
            Control("random weights", str(random)),
        )
        print(f"{'start':44}{'rate':>8}{'F1 before':>12}{'F1 after':>12}{'exact match':>14}")
        for number, control in enumerate(controls):
            out = Path(place, f"run-{number}")
            report = train(
                LoraSft(
                    model=control.model, learning_rate=control.learning_rate, out=out, seed=seed
                )
            )
            print(
                f"{control.name:44}{control.learning_rate:8}{report.f1_before:12.4f}"
                f"{report.f1:12.4f}{report.exact_match:14.4f}",
                flush=True,
            )
        rows = RunFolder(Path(place, "run-0")).predictions(0)
        print(
            f"{'the same answer to every row, the best one':52}{'':12}{_best_constant(rows):12.4f}"
        )


def _best_constant(rows: list[dict[str, str]]) -> float:
    """The F1 of one and the same answer to every row, the best there is."""
    targets = [row["target"] for row in rows]
    return max(score([same] * len(targets), targets).f1 for same in set(targets))


if __name__ == "__main__":
    main()
