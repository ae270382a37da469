"""What functions of installed libraries take, read from their source; no library is imported.

Only the part of a file that defines a class or a function is parsed: whole ones are too long.
"""

import ast
import re
import sys
from dataclasses import dataclass
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from surefit.source.reading import dotted

MOST_HOPS = 12
"""Files that an import is followed through."""
MOST_STARS = 20
"""Modules of which a file imports everything; more are not looked into: it takes too long."""
HARMLESS = (
    *("dataclass", "staticmethod", "classmethod", "no_grad", "inference_mode", "requires"),
    *("add_start_docstrings", "add_end_docstrings", "auto_docstring", "deprecated"),
)
"""Decorators that leave what a function takes as it is written."""
NO_FIELDS = ("object", "ABC", "Generic", "Protocol")
"""Classes of Python's own that take nothing."""

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Module:
    """A file of a library, unparsed."""

    name: str
    text: str
    is_package: bool


@dataclass(frozen=True, slots=True)
class Defined:
    """A class or a function, and the file that it stands in."""

    module: Module
    node: Definition


@cache
def arguments_taken(full_name: str) -> frozenset[str] | None:
    """Names of the arguments of `transformers.Trainer`, or of `datasets.Dataset.from_dict`.

    None where that is not certain: it takes any name, a decorator changes it, it is no Python.
    """
    found = find(full_name)
    if found is not None:
        return of_definition(found)
    owner, _, method = full_name.rpartition(".")
    of = find(owner) if "." in owner else None
    inside = own_method(of, method) if of is not None else None
    return of_function(inside, bound=True) if inside is not None else None


def of_definition(found: Defined) -> frozenset[str] | None:
    if not isinstance(found.node, ast.ClassDef):
        return of_function(found.node, bound=False)
    return of_class(found)


def of_class(found: Defined, deep: int = 0) -> frozenset[str] | None:
    """What makes an object of a class takes: `__init__`, or the fields of a dataclass."""
    node = found.node
    assert isinstance(node, ast.ClassDef)
    if deep > MOST_HOPS or node.keywords or not all(map(is_harmless, node.decorator_list)):
        return None
    made = methods(node, "__init__", "__new__")
    if made:
        return of_function(made[0], bound=True) if len(made) == 1 else None
    if not is_dataclass(node):
        return inherited(found, deep)
    fields = {
        one.target.id
        for one in node.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    }
    below = fields_below(found, deep)
    return None if below is None else below | fields


def inherited(found: Defined, deep: int) -> frozenset[str] | None:
    """Of a class without an `__init__`: that of its only base."""
    assert isinstance(found.node, ast.ClassDef)
    if len(found.node.bases) != 1:
        return None
    base = base_of(found, found.node.bases[0])
    return of_class(base, deep + 1) if base else None


def fields_below(found: Defined, deep: int) -> frozenset[str] | None:
    """Of the dataclasses that a dataclass is made from."""
    assert isinstance(found.node, ast.ClassDef)
    fields: frozenset[str] = frozenset()
    for one in found.node.bases:
        name = dotted(one.value if isinstance(one, ast.Subscript) else one)
        if name.rpartition(".")[2] in NO_FIELDS:
            continue
        base = base_of(found, one)
        if base is None or not isinstance(base.node, ast.ClassDef):
            return None
        if is_dataclass(base.node):
            more = of_class(base, deep + 1)
            if more is None:
                return None
            fields |= more
    return fields


def base_of(found: Defined, node: ast.expr) -> Defined | None:
    name = dotted(node)
    base = find_in(found.module, name) if name and "." not in name else None
    return base if base is not None and isinstance(base.node, ast.ClassDef) else None


def is_dataclass(node: ast.ClassDef) -> bool:
    return any(last_name(one) == "dataclass" for one in node.decorator_list)


def is_harmless(decorator: ast.expr) -> bool:
    return last_name(decorator) in HARMLESS


def last_name(decorator: ast.expr) -> str:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return dotted(called).rpartition(".")[2]


def own_method(found: Defined, name: str) -> ast.FunctionDef | None:
    named = methods(found.node, name) if isinstance(found.node, ast.ClassDef) else []
    return named[0] if len(named) == 1 else None


def methods(node: ast.ClassDef, *names: str) -> list[ast.FunctionDef]:
    return [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name in names]


def of_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, *, bound: bool
) -> frozenset[str] | None:
    listed = node.args
    if listed.kwarg is not None or not all(map(is_harmless, node.decorator_list)):
        return None
    plain = [one.arg for one in listed.args]
    static = any(last_name(one) == "staticmethod" for one in node.decorator_list)
    given = plain[1:] if bound and not static and not listed.posonlyargs else plain
    return frozenset([*given, *(one.arg for one in listed.kwonlyargs)])


@cache
def find(full_name: str) -> Defined | None:
    """The class or function of a full name, followed through the imports of its library."""
    owner, _, name = full_name.rpartition(".")
    module = read_module(owner) if owner else None
    return find_in(module, name) if module else None


def find_in(module: Module, name: str, deep: int = 0) -> Defined | None:
    if deep > MOST_HOPS:
        return None
    node = definition_in(module, name) if name in module.text else None
    if node is not None:
        return Defined(module, node)
    stars = stars_of(module)
    everything = [(where, name) for where in stars] if len(stars) <= MOST_STARS else []
    for where, what in (*imports_of(module).get(name, ()), *everything):
        further = read_module(where)
        # Most modules of which everything is imported do not even mention the name.
        mentions = further is not None and (what in further.text or stars_of(further))
        found = find_in(further, what, deep + 1) if further and mentions else None
        if found is not None:
            return found
    return None


@cache
def definition_in(module: Module, name: str) -> Definition | None:
    """What the file defines under a name, at its top and just once."""
    starts = list(re.finditer(rf"^(?:class|def|async def) {re.escape(name)}\b", module.text, re.M))
    if len(starts) != 1:
        return None
    first = starts[0].start()
    blank = module.text.rfind("\n\n", 0, first)
    begin = blank + 2 if blank >= 0 else 0
    end = re.compile(r"^[^\s#)\]}]", re.M).search(module.text, starts[0].end())
    part = module.text[begin : end.start() if end else len(module.text)]
    return parsed_definition(part, name) or parsed_definition(module.text, name)


def parsed_definition(text: str, name: str) -> Definition | None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = [one for one in tree.body if isinstance(one, Definition) and one.name == name]
    return found[0] if len(found) == 1 else None


IMPORTS = re.compile(r"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]+(?:\(([^)]*)\)|([^\n(]+))", re.M)


@cache
def imports_of(module: Module) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for match in IMPORTS.finditer(module.text):
        where = absolute(module, match[1])
        for one in re.sub(r"#[^\n]*", "", match[2] or match[3] or "").split(","):
            words = one.split()
            if words and where:
                found.setdefault(words[-1], []).append((where, words[0]))
    return found


@cache
def stars_of(module: Module) -> list[str]:
    """Modules from which a file imports everything."""
    found = re.findall(r"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]+\*", module.text, re.M)
    return [absolute(module, one) for one in found]


def absolute(module: Module, written: str) -> str:
    """`transformers.trainer` for `.trainer` in that package."""
    inside = written.lstrip(".")
    level = len(written) - len(inside)
    if not level:
        return inside
    parts = module.name.split(".")
    up = level - 1 if module.is_package else level
    kept = parts[: len(parts) - up] if up else parts
    return ".".join([*kept, inside]) if inside else ".".join(kept)


@cache
def read_module(name: str) -> Module | None:
    """A module of an installed package, by its file; nothing of it is run. None of Python's own."""
    top, *inside = name.split(".")
    spec = spec_of(top)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if spec is None or not spec.origin or (inside and not folders):
        return None
    if not inside:
        return read(name, Path(spec.origin), bool(folders))
    place = Path(folders[0], *inside)
    if (place / "__init__.py").is_file():
        return read(name, place / "__init__.py", is_package=True)
    return read(name, place.with_suffix(".py"), is_package=False)


@cache
def spec_of(top: str) -> ModuleSpec | None:
    """Where a package lies; None for those of Python's own."""
    return None if top in sys.stdlib_module_names else PathFinder.find_spec(top)


def read(name: str, file: Path, is_package: bool) -> Module | None:
    if file.suffix != ".py":
        return None
    try:
        return Module(name, file.read_text(encoding="utf-8"), is_package)
    except (OSError, UnicodeDecodeError):
        return None


@cache
def has_name(owner: str, name: str) -> bool | None:
    """Whether a module of a library has a name; None where its source does not tell."""
    module = read_module(owner)
    return None if module is None else holds(module, name)


def holds(module: Module, name: str, deep: int = 0) -> bool | None:
    if is_written(module, name) or is_inside(module, name):
        return True
    stars = stars_of(module)
    for where in stars if len(stars) <= MOST_STARS else ():
        further = read_module(where) if deep < MOST_HOPS else None
        inside = holds(further, name, deep + 1) if further else None
        if inside is not False:
            return inside
    more = len(stars) > MOST_STARS or GIVES_MORE.search(module.text)
    return None if more else False


GIVES_MORE = re.compile(
    r"__getattr__|globals\(\)|sys\.modules|setattr\(|exec\(|vars\(|_LazyModule|lazy_loader"
)
"""Names can come into a module without being written in it."""


def is_written(module: Module, name: str) -> bool:
    """Something in the file binds the name, or lists it among those to be imported later."""
    if name in imports_of(module):
        return True
    word = re.escape(name)
    binds = rf"^[ \t]*(?:(?:async )?def|class)[ \t]+{word}\b|^[ \t]*{word}[ \t]*(?::[^=\n]*)?=[^=]"
    if re.search(binds, module.text, re.M) or re.search(rf"\bas {word}\b", module.text):
        return True
    if re.search(rf"^[ \t]*import {word}\b", module.text, re.M):
        return True
    return "_import_structure" in module.text and bool(re.search(rf"[\"']{word}[\"']", module.text))


def is_inside(module: Module, name: str) -> bool:
    """A module of the package has the name."""
    return module.is_package and has_file(f"{module.name}.{name}")


def has_file(name: str) -> bool:
    top, *inside = name.split(".")
    spec = spec_of(top)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    place = Path(folders[0], *inside) if folders else None
    if place is None:
        return False
    return place.is_dir() or any(place.parent.glob(f"{place.name}.*"))


def is_there(name: str) -> bool:
    """A module of this name is installed, as Python source."""
    return read_module(name) is not None


@cache
def version(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


@cache
def is_shadowed(package: str, file: str) -> bool:
    """A module of the user's own has the name of a library, and lies where Python looks first."""
    spec = spec_of(package)
    installed = Path(spec.origin).resolve() if spec and spec.origin else None
    for folder in Path(file).resolve().parents:
        for own in (folder / f"{package}.py", folder / package / "__init__.py"):
            if own.is_file() and own.resolve() != installed:
                return True
    return False
