"""`python -m surefit` is `surefit`."""

import sys

from surefit.cli import main

if __name__ == "__main__":
    sys.exit(main())
