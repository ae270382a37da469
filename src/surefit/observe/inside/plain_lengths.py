"""How many rows a dataset of the user's has, without running code of theirs.

Most of them say `return len(self.rows)`: what that gives is read from the attribute itself.
"""

from types import FunctionType
from typing import Any

from surefit.observe.inside.autopsy.values import attributes, is_a, is_tensor


def _template(self: Any) -> int:
    return len(self.rows)


def plain_length(dataset: Any) -> int | None:
    """None where `__len__` says anything else, or the attribute is of no known kind."""
    function = vars(type(dataset)).get("__len__")
    if type(function) is not FunctionType or function.__closure__:
        return None
    code, plain = function.__code__, _template.__code__
    same = code.co_code == plain.co_code and code.co_argcount == 1
    names = code.co_names if same else ()
    if len(names) != 2 or names[0] != "len" or "len" in function.__globals__:
        return None
    return _length(attributes(dataset).get(names[1]))


def _length(value: Any) -> int | None:
    if type(value) in (list, tuple, dict, str):
        return len(value)
    if is_a(value, "pandas", "DataFrame") or is_a(value, "pandas", "Series"):
        return len(value.index)
    if is_tensor(value) or is_a(value, "numpy", "ndarray"):
        return int(value.shape[0]) if value.shape else None
    return None
