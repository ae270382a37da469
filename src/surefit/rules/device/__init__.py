"""Faults of devices: tensors that operations cannot take together."""
