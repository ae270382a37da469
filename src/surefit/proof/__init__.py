"""Findings with fixes become findings with proved fixes: tried on a copy of the folder."""
