"""Functions inside functions as functions of the module, which other processes find by name."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import dedent

from surefit.doctor.conditions.condition import Condition
from surefit.laws.case import Case
from surefit.source.edits import inserted_before, removed, replaced, with_import
from surefit.source.patches import Edit, all_of
from surefit.source.reading import Source

Inner = ast.Lambda | ast.FunctionDef


@dataclass(frozen=True, slots=True)
class InnerFunction:
    """A lambda or a `def` inside a function, by its first line."""

    line: int
    name: str
    needs: tuple[str, ...] = ()
    """Names of the function around it, which it is given by `functools.partial`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionsToModule:
    """`lambda rows: f(rows)` becomes a `def` before the statement of the module it stands in."""

    source: Source
    functions: Sequence[InnerFunction]
    must: Condition | None = None
    words: str = "Make a function of the module of it: a worker finds that by its name."
    choice: bool = False

    def edit(self, case: Case) -> Edit | None:  # noqa: ARG002 - as every remedy
        names: set[str] = set()
        edits: list[Edit | None] = []
        for function in self.functions:
            nodes = inner_functions(self.source, function)
            if len(nodes) != 1:
                return None
            name = self.free_name(function.name, nodes[0], names)
            names.add(name)
            try:
                edits.append(moved(self.source, nodes[0], name, function.needs))
            except ValueError:
                return None
        edit = all_of(edits)
        partial = any(function.needs for function in self.functions)
        return with_import(edit, self.source, "functools", "partial") if edit and partial else edit

    def free_name(self, name: str, node: Inner, names: set[str]) -> str:
        known = {read.id for read in self.source.every(ast.Name)} | {*self.source.definitions}
        if isinstance(node, ast.FunctionDef) and len(self.source.definitions[node.name]) == 1:
            known -= {node.name}
        taken = known | names
        while name in taken:
            name = f"{name}_of_loader"
        return name


def inner_functions(source: Source, function: InnerFunction) -> list[Inner]:
    """Those that begin at the line and read the names."""
    found: list[Inner] = [
        node
        for node in source.every(ast.Lambda)
        if node.lineno == function.line
        and {*function.needs} <= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    ]
    found += [
        node
        for node in source.every(ast.FunctionDef)
        if node.name == function.name
        and function.line in (node.lineno, *(part.lineno for part in node.decorator_list))
    ]
    return found


def moved(source: Source, node: Inner, name: str, needs: Sequence[str]) -> Edit | None:
    top = [outer for outer in (node, *source.up(node)) if isinstance(outer, ast.stmt)][-1]
    if top is node:
        return None
    bound = f"partial({', '.join([name, *needs])})" if needs else name
    if isinstance(node, ast.Lambda):
        parameters = ", ".join(
            filter(None, [*needs, source.segment(node.args) or ast.unparse(node.args)])
        )
        text = f"def {name}({parameters}):\n    return {ast.unparse(node.body)}\n\n"
        return all_of([inserted_before(source, top, text), replaced(source, node, bound)])
    if node.decorator_list or needs:
        return None
    text = dedent("\n".join(source.lines[node.lineno - 1 : node.end_lineno])) + "\n\n"
    return all_of([inserted_before(source, top, text), removed(source, node)])
