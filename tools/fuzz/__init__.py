"""Hostile files through every reader: `make fuzz`, or `python -m tools.fuzz --short`."""
