"""Faults of teaching one model by another."""
