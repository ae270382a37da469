"""Faults of rows and of the batches made from them."""
