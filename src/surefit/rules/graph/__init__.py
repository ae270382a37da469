"""Faults of the graph that gradients flow through."""
