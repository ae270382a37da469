"""Faults of what is assumed about a batch: how many rows it has, and on which axis they lie."""
