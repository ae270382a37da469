"""Losses: how the source calls them, and what they are given."""
