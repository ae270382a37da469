"""Faults of optimizers."""
