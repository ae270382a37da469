"""Runs of every recipe, harmed in many ways, and what they lost: `python -m tools.faults`."""
