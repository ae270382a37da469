"""Layers: the widths and axes that they take, their tables, and which of them learn."""
