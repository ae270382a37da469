"""Layers that a module of the user's keeps as attributes: which class each has, by the source."""

import ast

from surefit.source.reading import Source, called, dotted, targets


def constructed_layer(source: Source, call: ast.Call) -> str:
    """`TransformerEncoder` for `self.encoder(x)`; empty where that is not plain."""
    name = dotted(call.func)
    created = [
        node.value
        for node in source.every(ast.Assign)
        if isinstance(node.value, ast.Call)
        and name
        and any(dotted(target) == name for target in targets(node))
    ]
    return called(created[0]) if len(created) == 1 else ""


def padded_input(source: Source, scope: ast.AST) -> str:
    """`ids == self.embed.padding_idx`, where an embedding with a padding token looks up an argument
    of the function."""
    if not isinstance(scope, ast.FunctionDef):
        return ""
    names = {argument.arg for argument in scope.args.args}
    tables = {
        dotted(target)
        for node in source.every(ast.Assign)
        if isinstance(node.value, ast.Call)
        and called(node.value) == "Embedding"
        and source.argument(node.value, "padding_idx", 2) is not None
        for target in targets(node)
    }
    for node in ast.walk(scope):
        if isinstance(node, ast.Call) and dotted(node.func) in tables and node.args:
            given = dotted(node.args[0])
            if given in names:
                return f"{given} == {dotted(node.func)}.padding_idx"
    return ""
