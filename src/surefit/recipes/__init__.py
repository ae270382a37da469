"""Recipes: one file each, that trains in one way, from settings to report."""
