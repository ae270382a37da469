"""A map brought to the sizes of another one, just before the two are joined."""

import ast
from dataclasses import dataclass

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.violations import Written
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.source.edits import replaced, with_import
from surefit.source.patches import Edit
from surefit.source.reading import Source

FUNCTIONAL = "torch.nn.functional"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizeLike:
    """`F.interpolate(x, size=other.shape[2:])` in place of `x`; rows and targets stay."""

    at: Written | None
    like: Written | None
    must: Condition | None = None
    choice: bool = True

    @property
    def names(self) -> tuple[str, str]:
        grown, other = (code(part.text) if part else "the map" for part in (self.at, self.like))
        return grown, other

    @property
    def words(self) -> str:
        grown, other = self.names
        return (
            f"Bring {grown} to the size of {other} before they meet, with `F.interpolate`; rows and"
            " targets stay as they are."
        )

    def edit(self, case: Case) -> Edit | None:
        node, other = case.node(self.at), case.node(self.like)
        source = case.source(self.at.place) if self.at is not None else None
        if source is None or node is None or other is None or not is_simple(other):
            return None
        function = "F.interpolate" if imports_f(source) else "interpolate"
        size = f"{source.segment(other)}.shape[2:]"
        edit = replaced(source, node, f"{function}({source.segment(node)}, size={size})")
        if function == "interpolate":
            return with_import(edit, source, FUNCTIONAL, "interpolate")
        return edit


def is_simple(node: ast.expr) -> bool:
    """Reading it twice does nothing twice."""
    simple = ast.Name | ast.Attribute | ast.Subscript | ast.Constant | ast.expr_context
    return all(isinstance(part, simple) for part in ast.walk(node))


def imports_f(source: Source) -> bool:
    names = (FUNCTIONAL, "functional")
    return any(alias.asname == "F" and alias.name in names for alias in source.every(ast.alias))
