"""A handle that a class opens in `__init__`, opened again in each process that uses it."""

import ast
from dataclasses import dataclass

from surefit.laws.case import Case
from surefit.remedies.change import Operator
from surefit.source.edits import both, inserted_after, inserted_before, with_import
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit
from surefit.source.reading import Source, names_within
from surefit.source.selection import nodes_within


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedPerProcess(Operator):
    """`self.archive = ZipFile(path)`, once more where the process is another one."""

    source: Source
    opening: ast.Assign
    """In `__init__`."""
    function: str
    """The method that reads."""
    words: str

    def edit(self, case: Case) -> Edit | None:  # noqa: ARG002 - as every remedy
        source, opening = self.source, self.opening
        owner = source.class_around(opening)
        methods = (
            [node for node in owner.body if isinstance(node, ast.FunctionDef)] if owner else []
        )
        reading = [node for node in methods if node.name == self.function]
        around = [node for node in source.up(opening) if isinstance(node, ast.FunctionDef)]
        if not reading or not around or around[0].name != "__init__" or reading[0] is around[0]:
            return None
        first = first_statement(reading[0])
        if shares_lines(source, opening) or shares_lines(source, first):
            return None
        text, missing = opened_again(source, opening, around[0])
        handle = ast.unparse(opening.targets[0])
        process = f"{handle}_process"
        kept = "".join(f"\nself.{name} = {name}" for name in missing)
        after = f"{process} = os.getpid(){kept}"
        before = f"if {process} != os.getpid():\n    {handle}, {process} = {text}, os.getpid()"
        edit = both(inserted_after(source, opening, after), inserted_before(source, first, before))
        return with_import(edit, source, "os", None)


def first_statement(function: ast.FunctionDef) -> ast.stmt:
    """After the docstring."""
    has_words = ast.get_docstring(function, clean=False) is not None and len(function.body) > 1
    return function.body[1 if has_words else 0]


def opened_again(
    source: Source, opening: ast.Assign, around: ast.FunctionDef
) -> tuple[str, list[str]]:
    """The opening call in terms of `self`, and the names of `__init__` that `self` does not have
    yet."""
    known: dict[str, str] = {}
    for node in ast.walk(around):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self")) as target],
                value=ast.Name(id=name),
            ):
                known.setdefault(name, ast.unparse(target))
    taken = {argument.arg for argument in (*around.args.args, *around.args.kwonlyargs)} - {"self"}
    stored = set(names_within(around, ast.Store))
    names = {node.id for node in nodes_within(opening.value, ast.Name) if node.id in taken | stored}
    missing = sorted(names - known.keys())
    attributes = {name: known.get(name, f"self.{name}") for name in names}
    return renamed(source.segment(opening.value), attributes), missing


def renamed(text: str, names: dict[str, str]) -> str:
    """An expression with attributes in place of names, written as it was."""
    lines = text.split("\n")
    found = [
        node
        for node in nodes_within(ast.parse(f"({text})", mode="eval"), ast.Name)
        if node.id in names
    ]
    for node in sorted(found, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        line, at = lines[node.lineno - 1], node.col_offset - (node.lineno == 1)
        # Columns count bytes, the bracket before the first line among them.
        before, after = line.encode()[:at].decode(), line.encode()[at:].decode()
        lines[node.lineno - 1] = before + names[node.id] + after[len(node.id) :]
    return "\n".join(lines)
