"""Faults of shapes inside a model."""
