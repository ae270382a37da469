"""Objects of a class that are alive in this process."""

import gc
import sys
from collections.abc import Iterator
from typing import Any


def alive(module: str, name: str) -> Iterator[Any]:
    """Instances of a library's class and of classes made from it; each class is asked once, as
    there can be millions of objects."""
    kind = vars(sys.modules[module]).get(name) if module in sys.modules else None
    known: dict[type, bool] = {}
    for one in gc.get_objects() if kind is not None else ():
        of = type(one)
        if of not in known:
            known[of] = any(base is kind for base in of.__mro__)
        if known[of]:
            yield one
