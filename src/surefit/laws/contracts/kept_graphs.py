"""What a copy of an object, or another process, takes: tensors that are leaves of their graph."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.violations import Expression, Violation
from surefit.laws.case import Case, use_of

REFUSING = {
    ("torch/_tensor.py", "__deepcopy__"),
    ("torch/multiprocessing/reductions.py", "reduce_tensor"),
}
"""Functions of torch that raise on a tensor with a graph."""


@dataclass(frozen=True, slots=True)
class KeptTensor:
    """A tensor with a graph, inside of an object."""

    path: str
    """From the object on: `.encoder.activity`."""
    attribute: str
    owner: str
    """Class of what has the attribute."""
    shape: tuple[int, ...]
    direct: bool
    """The attribute is the tensor, and no list that holds it."""


@dataclass(frozen=True, slots=True)
class KeptGraphs:
    """All of them."""

    probe: ClassVar[str] = "kept-graphs"

    kept: tuple[KeptTensor, ...]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedWithGraph(Violation):
    """An object that is copied, or sent, holds results of a forward pass."""

    whole: Expression
    """The object, as the user's line writes it."""
    graphs: KeptGraphs


def violations_of(case: Case) -> Iterator[CopiedWithGraph]:
    last, own = (case.frames[-1] if case.frames else None), case.own
    if last is None or own is None or case.crash is None:
        return
    file, function = last.place.file.replace("\\", "/"), last.function.rpartition(".")[2]
    if not any(file.endswith(known) and function == name for known, name in REFUSING):
        return
    node, source = case.node(own), case.source(own)
    if not isinstance(node, ast.Call) or source is None:
        return
    receivers = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    for value in (*node.args, *(keyword.value for keyword in node.keywords), *receivers):
        whole = case.expression(source, value)
        if isinstance(value, ast.Name | ast.Attribute | ast.Subscript):
            graphs = case.ask(KeptGraphs, frame=case.number, text=ast.unparse(value))
            if graphs is not None:
                yield CopiedWithGraph(use=use_of(own), whole=whole, graphs=graphs)
                return
