"""Writes the 1000 rows that ship with the package, or others with names of their own."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from .names import Part
from .task import Row, make_rows

COUNT = 1000
SEED = 1


def write_rows(rows: list[Row], path: Path) -> None:
    lines = [json.dumps(asdict(row), ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--tuning", action="store_true", help="names kept for choosing settings")
    parser.add_argument("--seed", type=int, default=SEED)
    asked = parser.parse_args()
    part = Part.TUNING if asked.tuning else Part.ROWS
    write_rows(make_rows(asked.count, part, asked.seed), asked.out)


if __name__ == "__main__":
    main()
