"""Metrics as data: what each follows from, the right value of each, and known wrong ones."""
