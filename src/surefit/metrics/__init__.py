"""Measures of a model; each says what it averages over."""
