"""Refuses files over 5 MB in a commit: `python -m tools.large_files FILE...`."""

import sys
from pathlib import Path

MOST = 5_000_000


def too_large(files: list[str]) -> list[str]:
    return [file for file in files if Path(file).is_file() and Path(file).stat().st_size > MOST]


def main() -> int:
    found = too_large(sys.argv[1:])
    for file in found:
        print(f"{file} has {Path(file).stat().st_size:,} bytes; the most is {MOST:,}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
