"""Findings, and the rules that make them: plain data, without torch."""
