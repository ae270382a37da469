"""The arguments of a call in Python as settings."""

from collections.abc import Mapping
from typing import Any, TypeVar

from surefit.render.console import say
from surefit.settings import from_names

from .one_voice import only_first_speaks

Settings = TypeVar("Settings")


def settled(kind: type[Settings], given: Mapping[str, Any]) -> Settings:
    """What names of other libraries stand for is said, by the first process."""
    with only_first_speaks():
        return from_names(kind, given, say)
