"""Ends of a run that are no fault of one stage: memory, signals, and what no rule knows."""
