"""A name that the script imports or asks a library for is there in the installed version."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Frame, Question
from surefit.doctor.violations import Expression, Violation
from surefit.laws.case import Case
from surefit.laws.libraries.name_successors import (
    METHODS,
    ONLY_RAISE,
    STANDS_FOR,
    TABLES,
    candidates,
    successor,
)
from surefit.source.installed import has_name, is_shadowed, is_there, version
from surefit.source.reading import Source, called
from surefit.source.tried_first import is_tried_first


@dataclass(frozen=True, slots=True)
class LibraryNames:
    """Which names a module, or the class of a value, lacks."""

    probe: ClassVar[str] = "names"

    package: str = ""
    version: str = ""
    owner: str = ""
    missing: tuple[str, ...] = ()
    exist: tuple[str, ...] = ()
    """Of the candidates that were asked for."""
    near: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WantedNames:
    """Names that a statement asks a library for."""

    source: Source
    node: ast.ImportFrom | ast.Attribute
    owner: str
    """Full name of the module, or the text of a value."""
    names: tuple[str, ...]
    of_value: bool = False

    @property
    def by_import(self) -> bool:
        return isinstance(self.node, ast.ImportFrom)

    @property
    def package(self) -> str:
        return self.owner.partition(".")[0]

    def candidates(self, name: str) -> list[str]:
        return candidates(self.owner, name, of_value=self.of_value)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesAbsent(Violation):
    """The installed library does not have them."""

    wanted: WantedNames
    instead: Mapping[str, str]
    """Each absent name, and the full name of what stands in its place, or nothing."""
    installed: str
    """`numpy 2.1`."""
    kind: str = ""
    """Class of the value that was asked."""
    near: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    question: Question | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlyRaises(Violation):
    """The library keeps the name, and all that it does is to raise."""

    source: Source
    call: ast.Call
    name: str
    new: str
    version: str
    question: Question


def violations_of(case: Case) -> Iterator[Violation]:
    crash, frame = case.crash, case.own
    if crash is None or frame is None:
        return
    wanted = wanted_at(crash, frame, case)
    if wanted is not None:
        yield from absent(case, crash, frame, wanted)
    yield from raising(case, crash, frame)


def absent(case: Case, crash: Crash, frame: Frame, wanted: WantedNames) -> Iterator[NamesAbsent]:
    known = [full for name in wanted.names for full in wanted.candidates(name)]
    about: dict[str, object] = {"names": list(wanted.names), "exist": list(dict.fromkeys(known))}
    if wanted.of_value:
        about |= {"frame": crash.frames.index(frame), "text": wanted.owner}
    else:
        about["module"] = wanted.owner
    names = case.ask(LibraryNames, **about)
    if names is None or not names.missing:
        return
    instead = {
        name: successor(
            wanted.owner, name, names.exist, names.near.get(name, ()), of_value=wanted.of_value
        )
        for name in names.missing
    }
    yield NamesAbsent(
        use=written_in(wanted),
        wanted=wanted,
        instead=instead,
        installed=f"{names.package} {names.version}".strip(),
        kind=names.owner,
        near=names.near,
        question=case.answered("names", **about),
    )


def written_in(wanted: WantedNames) -> Expression:
    source, node = wanted.source, wanted.node
    span = source.span(node) if isinstance(node, ast.Attribute) else None
    return Expression(Place(source.file, node.lineno), span, source.segment(node))


def wanted_at(crash: Crash, frame: Frame, case: Case) -> WantedNames | None:
    source = case.source(frame.place)
    if source is None:
        return None
    statement = source.statement_at(frame.place.line or 0)
    if isinstance(statement, ast.ImportFrom) and crash.kind == "ImportError":
        if statement.level or not statement.module:
            return None
        names = tuple(alias.name for alias in statement.names)
        return WantedNames(source, statement, statement.module, names)
    node = case.node(frame)
    node = node.func if isinstance(node, ast.Call) else node
    if crash.kind != "AttributeError" or not isinstance(node, ast.Attribute):
        return None
    module = source.imported(node.value)
    if module:
        every = dict.fromkeys(attribute.attr for attribute in attributes_of(source, module))
        return WantedNames(source, node, module, tuple(every))
    text = ast.unparse(node.value)
    table = frame.value(text)
    if node.attr not in METHODS or table is None or table.kind not in TABLES:
        return None  # an attribute that any other value lacks says nothing of versions
    return WantedNames(source, node, text, (node.attr,), of_value=True)


def attributes_of(source: Source, module: str) -> Iterator[ast.Attribute]:
    """Every `module.name` of the file."""
    for node in source.every(ast.Attribute):
        if source.imported(node.value) == module:
            yield node


def raising(case: Case, crash: Crash, frame: Frame) -> Iterator[OnlyRaises]:
    source, last, call = case.source(frame), crash.frames[-1], case.node(frame)
    if source is None or not isinstance(call, ast.Call):
        return
    name = source.imported(call.func)
    new = ONLY_RAISE.get(name, "")
    if not new or last.own or not last.line.startswith("raise") or last.function != called(call):
        return
    about = {"module": "torch", "names": [], "exist": [new]}
    names = case.ask(LibraryNames, **about)
    if names is None or new not in names.exist:
        return
    yield OnlyRaises(
        use=case.expression(source, call),
        source=source,
        call=call,
        name=name,
        new=new,
        version=names.version,
        question=case.answered("names", **about),
    )


def violations_in_source(case: Case, source: Source) -> Iterator[Violation]:  # noqa: ARG001
    """By the source of the installed libraries, which are not imported."""
    for wanted in (*imports_without(source), *attributes_without(source)):
        if is_tried_first(source, wanted.node) or is_shadowed(wanted.package, source.file):
            continue
        yield NamesAbsent(
            use=written_in(wanted),
            wanted=wanted,
            instead={name: there_now(wanted, name) for name in wanted.names},
            installed=f"{wanted.package} {version(wanted.package)}".strip(),
        )


def is_missing(owner: str, name: str) -> bool:
    """The source of the installed module has no such name; where it can have more than is written,
    the name must be known to be given up."""
    if name.startswith("__"):
        return False
    known = has_name(owner, name)
    if known is None and f"{owner}.{name}" in STANDS_FOR:
        return is_there(owner)
    return known is False


def imports_without(source: Source) -> Iterator[WantedNames]:
    for node in source.every(ast.ImportFrom):
        if node.level or not node.module:
            continue
        names = [alias.name for alias in node.names if alias.name != "*"]
        if not isinstance(source.scope_of(node), ast.Module):
            # Whoever imports late can have asked for the version before.
            names = [name for name in names if f"{node.module}.{name}" in STANDS_FOR]
        missing = tuple(name for name in names if is_missing(node.module, name))
        if missing:
            yield WantedNames(source, node, node.module, missing)


def attributes_without(source: Source) -> Iterator[WantedNames]:
    """The first of each name; the fix changes all of them."""
    modules = {
        alias.asname or alias.name for node in source.every(ast.Import) for alias in node.names
    }
    known: set[str] = set()
    for node in source.every(ast.Attribute):
        if not isinstance(node.value, ast.Name) or node.value.id not in modules:
            continue
        owner = source.imported(node.value)
        full = f"{owner}.{node.attr}"
        if not owner or full in known or not is_missing(owner, node.attr):
            continue
        known.add(full)
        if not is_provided(source, owner, node.attr):
            yield WantedNames(source, node, owner, (node.attr,))


def is_provided(source: Source, owner: str, name: str) -> bool:
    """The file itself puts the name into the module, or asks first whether it is there."""
    every = [node for node in attributes_of(source, owner) if node.attr == name]
    return any(not isinstance(node.ctx, ast.Load) or is_tried_first(source, node) for node in every)


def there_now(wanted: WantedNames, name: str) -> str:
    """What is known to stand in its place, and is found in what is installed."""
    for full in wanted.candidates(name):
        owner, _, last = full.rpartition(".")
        known = has_name(owner, last) if owner else True
        if known is None and full == STANDS_FOR.get(f"{wanted.owner}.{name}"):
            known = is_there(owner)
        if known:
            return full
    return ""
