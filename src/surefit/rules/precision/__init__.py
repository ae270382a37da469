"""Faults of precision."""
