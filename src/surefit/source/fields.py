"""Members of dictionaries and objects that the file writes out: `CONFIG["lr"]`, `cfg.lr`."""

import ast
from collections.abc import Iterator

from surefit.source.callers import is_open
from surefit.source.classes import named_class
from surefit.source.reading import Source, dotted, targets
from surefit.source.remembered import remembered

CHANGES = ("update", "setdefault", "pop", "popitem", "clear", "__setitem__", "__setattr__")
NAMESPACES = ("types.SimpleNamespace", "argparse.Namespace")


def member(source: Source, made: ast.expr, key: str) -> ast.expr | None:
    """What a dictionary that is written out, or `SimpleNamespace(a=1)`, has under a key."""
    if isinstance(made, ast.Dict):
        return in_dictionary(made, key)
    if not isinstance(made, ast.Call) or is_open(made) or made.args:
        return None
    if dotted(made.func) == "dict" or source.imported(made.func) in NAMESPACES:
        return source.argument(made, key)
    return None


def in_dictionary(made: ast.Dict, key: str) -> ast.expr | None:
    """The last value under a key; None where `**other` could hold another one."""
    for name, value in zip(reversed(made.keys), reversed(made.values), strict=True):
        if name is None:
            return None
        if isinstance(name, ast.Constant) and name.value == key:
            return value
    return None


def default_of_field(source: Source, node: ast.expr, name: str) -> ast.expr | None:
    """Of a class in this file, `Config.lr`, or of an instance that is made by a call, `Config()`:
    the value in its body, or what the call gives in its place."""
    owner = named_class(source, node.func if isinstance(node, ast.Call) else node)
    if owner is None:
        return None
    fields = [one for one in owner.body if isinstance(one, ast.Assign | ast.AnnAssign)]
    named = [one for one in fields if any(dotted(target) == name for target in targets(one))]
    if len(named) != 1 or any(dotted(base) for base in owner.bases if is_own(source, base)):
        return None
    if isinstance(node, ast.Call):
        if is_open(node) or (node.args and not is_dataclass(owner)):
            return None
        given = source.argument(node, name, fields.index(named[0]))
        return given or named[0].value
    return named[0].value


def is_own(source: Source, base: ast.expr) -> bool:
    return named_class(source, base) is not None


def is_dataclass(owner: ast.ClassDef) -> bool:
    made = [one.func if isinstance(one, ast.Call) else one for one in owner.decorator_list]
    return any(dotted(one).rpartition(".")[2] == "dataclass" for one in made)


def is_changed(source: Source, owner: ast.expr, key: str) -> bool:
    """Somewhere the file sets this member of what has the same name, or calls a method that sets
    members."""
    name = dotted(owner).rpartition(".")[2]
    known = members_set(source, source.tree)
    if not name or (name, key) in known or (name, "") in known:
        return True
    return any(
        dotted(read.value).rpartition(".")[2] == name
        for one in CHANGES
        for read in source.attributes_read.get(one, ())
    )


@remembered(otherwise=frozenset())
def members_set(source: Source, _: ast.Module) -> frozenset[tuple[str, str]]:
    """Owner and member that the file sets; an empty member for one that is not known."""
    return frozenset(set_here(source))


def set_here(source: Source) -> Iterator[tuple[str, str]]:
    for node in source.every(ast.Attribute):
        if not isinstance(node.ctx, ast.Load):
            yield dotted(node.value).rpartition(".")[2], node.attr
    for item in source.every(ast.Subscript):
        if not isinstance(item.ctx, ast.Load):
            key = item.slice.value if isinstance(item.slice, ast.Constant) else ""
            yield dotted(item.value).rpartition(".")[2], key if isinstance(key, str) else ""
    for name in source.names_read.get("setattr", ()):
        call = source.parents[name]
        if isinstance(call, ast.Call) and call.args:
            yield dotted(call.args[0]).rpartition(".")[2], ""
