"""Layers in words: see `surefit.laws.layer_words`."""

from surefit.laws.layer_words import described
from surefit.laws.layer_words import layer_name as name

__all__ = ["described", "name"]
