"""Started by `subprocesses.py`; ends as it was told to."""

import sys

print("child.py", sys.argv[1:], __name__)
sys.exit("nothing to do")
