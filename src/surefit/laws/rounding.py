"""A count of batches that was rounded down: `len(rows) // size`, with a smaller last batch."""

import ast

from surefit.source.reading import Source

LOADER = "torch.utils.data.DataLoader"


def rounded_down(node: ast.expr | None) -> ast.BinOp | None:
    """The only division in an expression that rounds down."""
    inside = ast.walk(node) if node is not None else ()
    divisions = [
        part for part in inside if isinstance(part, ast.BinOp) and isinstance(part.op, ast.FloorDiv)
    ]
    return divisions[0] if len(divisions) == 1 else None


def rounded_up(source: Source, node: ast.BinOp) -> str:
    """The length of the loader over the same rows, where it exists by then; otherwise the division
    rounded up."""
    loader = loader_over(source, node.left)
    if loader:
        return f"len({loader})"
    rows, size = source.segment(node.left), source.segment(node.right)
    tight = isinstance(node.left, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return f"-(-{rows if tight else f'({rows})'} // {size})"


def loader_over(source: Source, node: ast.expr) -> str:
    """`loader` for `len(data)`, where the lines before say `loader = DataLoader(data, ...)`."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[rows], keywords=[]):
            for call in source.calls_of(LOADER):
                over = source.argument(call, "dataset", 0)
                same = over is not None and ast.unparse(over) == ast.unparse(rows)
                parent = source.parents.get(call)
                before = call.lineno < node.lineno
                together = source.scope_of(call) is source.scope_of(node)
                match parent:
                    case ast.Assign(targets=[ast.Name(id=name)]) if same and before and together:
                        return name
    return ""
