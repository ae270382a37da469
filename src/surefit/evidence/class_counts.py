"""Where a script says how many classes its model has."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Frame, Script
from surefit.doctor.recording import Recording
from surefit.source.reading import Source, called

DEFAULT = 2
"""Classes of a classifier of transformers that is not told how many there are."""
NAMES = ("num_labels", "num_classes", "n_classes", "n_labels", "out_features", "out_channels")
LAYERS = {"Linear": 1, "Conv1d": 1, "Conv2d": 1, "Conv3d": 1, "LazyLinear": 0}


@dataclass(frozen=True, slots=True)
class ClassCount:
    """A number in the source that is the number of classes."""

    source: Source
    node: ast.Constant
    name: str
    """The argument or the layer that takes it."""

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.node.lineno)


def class_count(seen: Recording, classes: int) -> ClassCount | None:
    """The one number of this size that a model takes as its number of classes."""
    found: dict[ast.Constant, ClassCount] = {}
    for script in seen.all(Script):
        source = seen.source(script.file)
        for name, node in numbers(source) if source else ():
            if source is not None and node.value == classes:
                found.setdefault(node, ClassCount(source, node, name))
    return next(iter(found.values())) if len(found) == 1 else None


def numbers(source: Source) -> Iterator[tuple[str, ast.Constant]]:
    """Arguments for a number of classes, followed to the number itself, or to a default."""
    for call in source.every(ast.Call):
        for one in call.keywords:
            if one.arg in NAMES:
                yield from constant(source, f"`{one.arg}`", one.value)
        position = LAYERS.get(called(call))
        if position is not None and len(call.args) > position:
            yield from constant(source, f"`{called(call)}`", call.args[position])


def constant(source: Source, name: str, node: ast.expr) -> Iterator[tuple[str, ast.Constant]]:
    value = source.value_of(node)
    if isinstance(value, ast.Name):
        bound = source.bound_by(value)
        if len(bound) == 1 and isinstance(bound[0], ast.arg):
            value = default_of(source, bound[0]) or value
    if isinstance(value, ast.Constant) and type(value.value) is int:
        yield name, value


def default_of(source: Source, argument: ast.arg) -> ast.expr | None:
    """The default of an argument that no call in the file gives another value."""
    arguments = source.parents[argument]
    if not isinstance(arguments, ast.arguments):
        return None
    plain = [*arguments.posonlyargs, *arguments.args]
    if argument in plain:
        at = plain.index(argument) - len(plain) + len(arguments.defaults)
        value = arguments.defaults[at] if at >= 0 else None
    else:
        value = arguments.kw_defaults[arguments.kwonlyargs.index(argument)]
    given = any(one.arg == argument.arg for one in source.every(ast.keyword))
    return None if given or value is None else source.value_of(value)


@dataclass(frozen=True, slots=True)
class Untold:
    """A call that makes a classifier and could say how many classes it has."""

    source: Source
    call: ast.Call

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.call.lineno, self.call.end_lineno)

    @property
    def text(self) -> str:
        return f"`{called(self.call)}`"


def untold_classifier(crash: Crash, seen: Recording) -> Untold | None:
    """The call of a configuration, or of `from_pretrained`, that made the model which failed and
    does not say `num_labels`."""
    roots = [frame.layer for frame in crash.frames if not frame.own and is_root(frame)]
    place = roots[-1].made_at if roots and roots[-1] else None
    source = seen.source(place)
    statement = source.statement_at(place.line) if source and place and place.line else None
    if source is None or statement is None or "num_labels" in source.text:
        return None
    calls = [one for one in ast.walk(statement) if isinstance(one, ast.Call)]
    makers = [one for one in calls if says_classes(one)]
    makers = makers or [one for one in source.every(ast.Call) if called(one).endswith("Config")]
    return Untold(source, makers[0]) if len(makers) == 1 else None


def is_root(frame: Frame) -> bool:
    return frame.layer is not None and frame.layer.path == "" and "For" in frame.layer.kind


def says_classes(call: ast.Call) -> bool:
    return called(call).endswith("Config") or called(call) == "from_pretrained"
