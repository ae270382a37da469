"""Answers about the nodes of a file, kept as long as the file is."""

import ast
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from surefit.source.reading import Source

Ask = TypeVar("Ask", bound=Callable[..., Any])


def remembered(otherwise: object) -> Callable[[Ask], Ask]:
    """Asks a function of a source and a node once for each node.

    While it is being asked, `otherwise` is the answer: what leads back to itself has no end.
    """

    def remember(function: Ask) -> Ask:
        name = f"{function.__module__}.{function.__qualname__}"

        @wraps(function)
        def ask(source: Source, node: ast.AST) -> object:
            key = name, node
            if key not in source.remembered:
                source.remembered[key] = otherwise
                source.remembered[key] = function(source, node)
            return source.remembered[key]

        return cast("Ask", ask)

    return remember
