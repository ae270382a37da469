"""What kind of numbers a table has no rows for: positions, token types, padding or ids."""

import ast

from surefit.evidence.imagined.mishaps import OutsideTable

TYPES = ("segment", "token_type", "type_embed")


def kind_of_lookup(one: OutsideTable) -> str:
    if one.id < 0:
        return "padding" if one.tensor.padding is not None else ""
    if one.tensor.counts:
        return "positions"
    called = ast.unparse(one.node).lower() if isinstance(one.node, ast.Call) else ""
    return "types" if any(word in called for word in TYPES) else "ids"
