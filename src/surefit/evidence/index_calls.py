"""Calls that pick elements by an index of the same number of axes: what they were given."""

import ast
from dataclasses import dataclass

from surefit.doctor.observations import Crash, Frame, Operation, Value
from surefit.doctor.recording import Recording
from surefit.evidence.failed_operations import failure_of
from surefit.evidence.known_numbers import number_of
from surefit.source.reading import Source, called

READING = ("gather", "take_along_dim")
WRITING = ("scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce")
ARGUMENTS = {"take_along_dim": ("indices", "dim")}
"""Names of what is given behind the tensor, in order; of the others:"""
USUAL = ("dim", "index", "src")
KEEPS_SHAPE = (
    "long",
    "int",
    "to",
    "type",
    "clone",
    "contiguous",
    "detach",
    "clamp",
    "float",
    "cpu",
)
"""Methods whose result has the shape of what they are called on."""


@dataclass(frozen=True, slots=True)
class Part:
    """A tensor that such a call was given."""

    node: ast.expr
    text: str
    shape: tuple[int, ...]
    dtype: str
    least: float | None = None
    greatest: float | None = None


@dataclass(frozen=True, slots=True)
class IndexCall:
    """`of.gather(axis, index)`."""

    source: Source
    frame: Frame
    call: ast.Call
    name: str
    of: Part
    index: Part
    axis: int
    """From 0."""
    axis_node: ast.expr
    src: Part | None = None

    @property
    def writes(self) -> bool:
        return self.name in WRITING


def index_call(crash: Crash, seen: Recording) -> IndexCall | None:
    """The failing call, if it is one of these and stands in the user's own code."""
    frame = crash.own_frame
    if frame is None or frame is not crash.frames[-1] or frame.span is None:
        return None
    source = seen.source(frame.place)
    call = source.expression_at(frame.span) if source else None
    if source is None or not isinstance(call, ast.Call):
        return None
    name = called(call)
    if name not in (*READING, *WRITING):
        return None
    return read(source, frame, call, name, crash, seen)


def read(
    source: Source, frame: Frame, call: ast.Call, name: str, crash: Crash, seen: Recording
) -> IndexCall | None:
    of, given = given_to(source, call, name)
    names = ARGUMENTS.get(name, USUAL)
    axis_node, index = given.get("dim"), given.get("index") or given.get("indices")
    if of is None or axis_node is None or index is None:
        return None
    numbers = {one.text: int(one.scalar) for one in frame.values if type(one.scalar) is int}
    axis = number_of(source, axis_node, numbers)
    nodes = [of, index]
    if "src" in names and "src" in given and tensor(frame, given["src"]) is not None:
        nodes.append(given["src"])
    parts = [part(frame, node) for node in nodes]
    if any(one is None for one in parts):
        parts = told(nodes, crash, seen)
    known = [one for one in parts if one is not None]
    if axis is None or len(known) != len(nodes) or not known[0].shape:
        return None
    axes = len(known[0].shape)
    if not -axes <= axis < axes:
        return None
    src = known[2] if len(known) == 3 else None
    of_part, index_part = known[0], known[1]
    return IndexCall(source, frame, call, name, of_part, index_part, axis % axes, axis_node, src)


def given_to(
    source: Source, call: ast.Call, name: str
) -> tuple[ast.expr | None, dict[str, ast.expr]]:
    """The tensor that is picked from, and the arguments behind it by name."""
    function = source.imported(call.func).startswith("torch.")
    plain = list(call.args)
    named = {one.arg: one.value for one in call.keywords if one.arg}
    if any(isinstance(one, ast.Starred) for one in plain):
        return None, {}
    if function:
        of = plain.pop(0) if plain else named.get("input")
    else:
        of = call.func.value if isinstance(call.func, ast.Attribute) else None
    return of, {**dict(zip(ARGUMENTS.get(name, USUAL), plain, strict=False)), **named}


def tensor(frame: Frame, node: ast.expr) -> Value | None:
    text = ast.unparse(node)
    found = (one for one in frame.values if one.text == text)
    return next((one for one in found if one.shape is not None and one.dtype), None)


def part(frame: Frame, node: ast.expr) -> Part | None:
    """By the frame's values; a method that keeps the shape is looked through, and its dtype told
    by its name."""
    value = tensor(frame, node)
    if value is not None:
        least, greatest = value.least, value.greatest
        return Part(node, value.text, value.shape or (), value.dtype or "", least, greatest)
    if not isinstance(node, ast.Call) or called(node) not in KEEPS_SHAPE:
        return None
    inside = part(frame, node.func.value) if isinstance(node.func, ast.Attribute) else None
    dtype = {"long": "int64", "int": "int32", "float": "float32"}.get(called(node))
    if inside is None or (dtype is None and called(node) in ("to", "type")):
        return None
    bounds = (None, None) if called(node) == "clamp" else (inside.least, inside.greatest)
    return Part(node, ast.unparse(node), inside.shape, dtype or inside.dtype, *bounds)


def told(nodes: list[ast.expr], crash: Crash, seen: Recording) -> list[Part | None]:
    """By a second run that recorded the operation."""
    failure = failure_of(seen, crash)
    given = failure.given if failure else []
    if len(given) < len(nodes):
        return [None]
    return [of_operation(node, one) for node, one in zip(nodes, given, strict=False)]


def of_operation(node: ast.expr, one: Operation) -> Part:
    return Part(node, ast.unparse(node), one.shape, one.dtype)
