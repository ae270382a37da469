"""Rows on their way from a dataset to a batch, in the user's source."""
