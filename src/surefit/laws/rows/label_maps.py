"""Maps from labels to ids that a script builds again for each split."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.laws.evaluation.evaluation_names import HELD_OUT, TRAINED, names_in, words_of
from surefit.source.reading import Source, called

FITTING = ("fit_transform", "fit", "factorize")
ENCODER = frozenset(
    ("label", "encoder", "binarizer", "ordinal", "vocab", "index", "map", "mapping")
)
LABELS = frozenset(
    ("y", "label", "labels", "target", "targets", "tag", "tags", "class", "classes", "id", "ids")
    + ("map", "mapping", "index", "encoded", "codes")
)


@dataclass(frozen=True)
class LabelMap:
    """One of the two: what builds it, and from which part of the rows."""

    source: Source
    node: ast.expr
    statement: ast.stmt


@dataclass(frozen=True)
class MapsPerSplit:
    """The same map, built from training labels and again from others."""

    training: LabelMap
    held_out: LabelMap


def maps_per_split(source: Source) -> MapsPerSplit | None:
    for find in (encoders, dictionaries, calls_that_build):
        built = list(find(source))
        training = [known for known in built if part_of(known) == "training"]
        others = [known for known in built if part_of(known) == "held out"]
        for first in training:
            for second in others:
                if alike(first, second):
                    return MapsPerSplit(first, second)
    return None


def alike(first: LabelMap, second: LabelMap) -> bool:
    """The same, but for the rows."""
    node, again = first.node, second.node
    if isinstance(node, ast.Call) and isinstance(again, ast.Call):
        return ast.unparse(node.func) == ast.unparse(again.func) and node is not again
    return type(node) is type(again) and node is not again


def part_of(known: LabelMap) -> str:
    """By the names that it is built from and assigned to."""
    words = {word for name in names_in(known.statement) for word in words_of(name)}
    if words & HELD_OUT and not words & TRAINED:
        return "held out"
    return "training" if words & TRAINED and not words & HELD_OUT else ""


def encoders(source: Source) -> Iterator[LabelMap]:
    """`LabelEncoder().fit_transform(...)`, and others whose names speak of labels."""
    for call in source.every(ast.Call):
        if called(call) not in FITTING or not isinstance(call.func, ast.Attribute):
            continue
        statement = source.statement_of(call)
        names = [*names_in(statement), *callee_names(call.func)]
        about = {word for name in names for word in words_of(name)}
        owner = {word for name in callee_names(call.func) for word in words_of(name)}
        if owner & ENCODER or (called(call) == "factorize" and about & LABELS):
            yield LabelMap(source, call, statement)


def callee_names(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr


def dictionaries(source: Source) -> Iterator[LabelMap]:
    """`{label: number for number, label in enumerate(...)}`; one in a function of a single
    parameter is built wherever that is called."""
    for node in numbered(source):
        if not reads_parameter(source, node):
            yield LabelMap(source, node, source.statement_of(node))


def numbered(source: Source) -> Iterator[ast.DictComp]:
    for node in source.every(ast.DictComp):
        counts = [loop.iter for loop in node.generators]
        if any(isinstance(part, ast.Call) and called(part) == "enumerate" for part in counts):
            yield node


def reads_parameter(source: Source, node: ast.AST) -> bool:
    function = source.scope_of(node)
    if not isinstance(function, ast.FunctionDef):
        return False
    parameters = {argument.arg for argument in function.args.args}
    return len(parameters - {"self"}) == 1


def calls_that_build(source: Source) -> Iterator[LabelMap]:
    """Calls of a function or class of the script in which such a map is built."""
    builders = {
        outer.name
        for node in numbered(source)
        for outer in source.up(node)
        if isinstance(outer, ast.FunctionDef | ast.ClassDef)
    }
    for call in source.calls_named(*builders):
        yield LabelMap(source, call, source.statement_of(call))
