"""Makes everything that ships: tokenizer, rows, start weights, pretraining, installation."""

import argparse
from pathlib import Path

from .install import install
from .make_rows import COUNT, SEED, write_rows
from .names import Part
from .pretrain import Pretraining, pretrain
from .task import make_rows
from .tokenizer import save_tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", type=Path, default=Path("src/surefit/embedded"))
    parser.add_argument("--work", type=Path, default=Path("build/embedded"))
    parser.add_argument("--minutes", type=float, default=60.0, help="length of pretraining")
    parser.add_argument("--steps", type=int, help="length of pretraining, instead of minutes")
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()

    asked.work.mkdir(parents=True, exist_ok=True)
    save_tokenizer(asked.work / "tokenizer")
    write_rows(make_rows(COUNT, Part.ROWS, SEED), asked.package / "rows.jsonl")
    pretrain(
        Pretraining(
            tokenizer=asked.work / "tokenizer",
            out=asked.work / "pretrained",
            minutes=asked.minutes,
            steps=asked.steps,
            threads=asked.threads,
        )
    )
    install(asked.work / "pretrained", asked.package / "model")


if __name__ == "__main__":
    main()
