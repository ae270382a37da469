"""A script of which one fault is certain without running it."""

SCRIPT = """\
import torch

asked = torch.ones(8, 5, 24)
answers = torch.ones(8, 11, 24)
scores = asked @ answers  # ü
"""
HEADLINE = (
    "`asked` has 24 in its last axis, and `answers` 11 in its last but one: the last two axes of"
    " one of them are swapped."
)
