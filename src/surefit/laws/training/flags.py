"""Flags that a script defines with `argparse`: what they are where nobody gives them."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from surefit.source.classes import is_self
from surefit.source.constants import text
from surefit.source.origins import origin
from surefit.source.reading import Source

ALWAYS = {"store_true": True, "store_false": False}
"""What an action sets; with the same default, a flag is that in any case."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One `add_argument("--name", ...)`."""

    call: ast.Call
    options: tuple[str, ...]
    action: str
    default: ast.expr | None

    @property
    def option(self) -> str:
        return max(self.options, key=len)

    @property
    def value(self) -> object:
        """Where it is not given; None where the source does not tell."""
        if isinstance(self.default, ast.Constant):
            return self.default.value
        if self.default is None and self.action in ALWAYS:
            return not ALWAYS[self.action]
        return None

    @property
    def is_fixed(self) -> bool:
        """It has one value, given or not."""
        return self.action in ALWAYS and self.value is ALWAYS[self.action]

    def is_given(self, command: Sequence[str]) -> bool:
        return any(word.partition("=")[0] in self.options for word in command)


def flag_of(source: Source, node: ast.expr) -> Flag | None:
    """The one flag that `args.name` can be, also behind `self.name` or an argument."""
    if not isinstance(node, ast.Name | ast.Attribute):
        return None
    node = origin(source, node)
    if not isinstance(node, ast.Attribute):
        return None
    if isinstance(node.value, ast.Name) and is_self(source, node.value):
        return None  # an attribute of that name, which could come from anywhere
    found = [
        one
        for call in source.calls_named("add_argument")
        if (one := read(source, call)) is not None
        if node.attr in destinations(source, one)
    ]
    return found[0] if len(found) == 1 else None


def read(source: Source, call: ast.Call) -> Flag | None:
    written = [text(source, one) for one in call.args]
    options = tuple(one for one in written if one and one.startswith("-"))
    action = text(source, source.argument(call, "action")) or ""
    return Flag(call, options, action, source.argument(call, "default")) if options else None


def destinations(source: Source, flag: Flag) -> set[str]:
    named = text(source, source.argument(flag.call, "dest"))
    return {named} if named else {flag.option.lstrip("-").replace("-", "_")}
