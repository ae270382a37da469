"""The expression that a variable is set to, also where a function of the file gives it back."""

import ast

from surefit.source.reading import Source, called

DEEPEST = 3


def expression_of(source: Source, name: str, scope: ast.AST) -> ast.expr | None:
    """`outcome.drop(rows)` for `y` of `x, y = split(...)`, if that is what `split` returns."""
    for _ in range(DEEPEST):
        value = assigned(source, name, scope)
        if not isinstance(value, tuple):
            return value
        call, number = value
        functions = source.definitions.get(called(call), [])
        function = functions[0] if len(functions) == 1 else None
        if not isinstance(function, ast.FunctionDef):
            return None
        returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
        if len(returned) != 1 or not isinstance(returned[0], ast.Tuple):
            return None
        if number >= len(returned[0].elts):
            return None
        part = returned[0].elts[number]
        if not isinstance(part, ast.Name):
            return part
        name, scope = part.id, function
    return None


def assigned(source: Source, name: str, scope: ast.AST) -> ast.expr | tuple[ast.Call, int] | None:
    """The only assignment of a name in a scope; of a call that gives back several, which."""
    found: list[ast.expr | tuple[ast.Call, int]] = []
    for node in ast.walk(scope):
        if not isinstance(node, ast.Assign) or source.scope_of(node) is not scope:
            continue
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name) and target.id == name:
            found.append(value)
        elif isinstance(target, ast.Tuple):
            names = [part.id if isinstance(part, ast.Name) else "" for part in target.elts]
            if name not in names:
                continue
            number = names.index(name)
            if isinstance(value, ast.Tuple) and len(value.elts) == len(names):
                found.append(value.elts[number])
            elif isinstance(value, ast.Call):
                found.append((value, number))
    return found[0] if len(found) == 1 else None
