"""Writes the plain texts that `surefit distill` learns from without data of one's own."""

import argparse
from itertools import islice
from pathlib import Path

from .names import Part
from .text import Writer

COUNT = 3000
SEED = 77


def write_text(file: Path) -> None:
    """Parted by blank lines; their names are not in the text that the models were trained on."""
    documents = islice(Writer(SEED, part=Part.TUNING).documents(), COUNT)
    file.write_text("\n\n".join(documents) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("src/surefit/embedded/text.txt"))
    write_text(parser.parse_args().out)


if __name__ == "__main__":
    main()
