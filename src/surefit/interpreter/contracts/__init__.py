"""Violations that the interpreter derives, as the same types that a crash yields."""
