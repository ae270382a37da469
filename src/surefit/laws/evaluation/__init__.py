"""Evaluation: which rows are held out, which state is the best, and how numbers are computed."""
