"""What a call computes, by the full name of the function or of the layer that is called."""

import ast

from surefit.source.outcomes import maker
from surefit.source.reading import Source


def kind_of(source: Source, node: ast.expr) -> str:
    """`torch.nn.CrossEntropyLoss` for an object of that class; empty for what is not known."""
    made = maker(source, node)
    return source.imported(made.func) if made else ""


def operation(source: Source, call: ast.Call) -> str:
    """`torch.nn.functional.softmax` for that function, `torch.nn.Softmax` for an object of that
    class which is called, `.softmax` for a method of an unknown value."""
    name = source.imported(call.func) or kind_of(source, call.func)
    if name:
        return name
    return f".{call.func.attr}" if isinstance(call.func, ast.Attribute) else ""
