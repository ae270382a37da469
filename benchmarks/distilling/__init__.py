"""Distillation losses of surefit and of its peers, each in a process of its own."""
