"""An array that is taken by position in a loop, put into the dataset that the loop goes through."""

import ast

from surefit.doctor.findings import Place
from surefit.source.edits import Edit, removed, replaced
from surefit.source.line_edits import shares_lines
from surefit.source.patches import all_of
from surefit.source.reading import Source, called
from surefit.source.selection import calls_within, nodes_within, the_only


def part_taken(source: Source, place: Place, name: str) -> ast.expr | None:
    statement = source.statement_at(place.line or 0)
    if statement is None:
        return None
    return the_only(
        node
        for node in nodes_within(source.scope_of(statement), ast.Subscript)
        if isinstance(node.value, ast.Name) and node.value.id == name
    )


def put_into_the_dataset(source: Source, part: ast.expr, names: tuple[str, str]) -> Edit | None:
    """`for i, (a,) in enumerate(loader): soft = cached[...]` becomes
    `for i, (a, soft) in enumerate(loader):`; `names`: of the inputs and of the array."""
    taken = source.statement_of(part)
    scope = source.scope_of(taken)
    datasets = list(calls_within(scope, "TensorDataset"))
    loops = [node for node in nodes_within(scope, ast.For) if taken in node.body]
    match taken, datasets, loops:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value),
            [ast.Call(args=[ast.Name(id=rows)], keywords=[]) as dataset],
            [ast.For(body=body)],
        ) if value is part and rows == names[0] and len(body) > 1:
            batch = batch_of(loops[0])
            if not isinstance(batch, ast.Tuple) or len(batch.elts) != 1:
                return None
            row = batch.elts[0]
            if shares_lines(source, taken):
                return None
            return all_of(
                (
                    replaced(source, dataset.args[0], f"{rows}, {names[1]}"),
                    replaced(source, batch, f"({source.segment(row)}, {name})"),
                    removed(source, taken),
                )
            )
    return None


def batch_of(loop: ast.For) -> ast.expr:
    """`(a,)` of `for (a,) in loader`, and of `for i, (a,) in enumerate(loader)`."""
    match loop:
        case ast.For(target=ast.Tuple(elts=[_, batch]), iter=ast.Call() as call):
            return batch if called(call) == "enumerate" else loop.target
    return loop.target
