"""Exceptions that the user's own code catches."""
