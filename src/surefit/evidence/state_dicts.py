"""A module that was being loaded, beside what it was given: which names and shapes agree."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Frame, Question
from surefit.doctor.recording import Recording
from surefit.source.reading import Source, called

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Loading:
    """Names and shapes on both sides."""

    kind: str
    """Class of the module."""
    own: dict[str, tuple[int, ...]]
    given: dict[str, tuple[int, ...]]
    """Tensors directly in the argument; `other` are names of what is none."""
    other: tuple[str, ...] = ()
    inside: dict[str, dict[str, tuple[int, ...]]] = field(default_factory=dict)
    """Mappings in the argument that hold tensors."""
    made_at: Place | None = None

    @property
    def missing(self) -> list[str]:
        return [name for name in self.own if name not in self.given]

    @property
    def unexpected(self) -> list[str]:
        return [name for name in self.given if name not in self.own]

    @property
    def of_other_shape(self) -> list[str]:
        return [name for name, one in self.own.items() if self.given.get(name, one) != one]


def loading_in(crash: Crash, seen: Recording) -> Loading | None:
    """What `load_state_dict` of a module was at when it raised; None where it did not."""
    if not any(is_load(frame) for frame in crash.frames):
        return None
    said = seen.ask(question(crash))
    return msgspec.convert(said, Loading, strict=False) if said is not None else None


def is_load(frame: Frame) -> bool:
    return frame.layer is not None and frame.function.rpartition(".")[2] == "load_state_dict"


def question(crash: Crash) -> Question:
    return Question("state-dict", crash.id)


def prefix_too_many(loading: Loading) -> str | None:
    """What stands before every given name, without which names and shapes are the module's."""
    return lead(loading.given, loading.own)


def prefix_too_few(loading: Loading) -> str | None:
    """What stands before every name of the module, and before none that was given."""
    return lead(loading.own, loading.given)


def lead(longer: Shapes, shorter: Shapes) -> str | None:
    first = next(iter(shorter), None)
    ends = [name for name in longer if first and name.endswith(f".{first}")]
    for name in ends:
        before = name.removesuffix(str(first))
        if {f"{before}{one}": shape for one, shape in shorter.items()} == dict(longer):
            return before
    return None


def key_of_the_module(loading: Loading) -> str | None:
    """Under which the argument holds names and shapes of the module, all of them and no other."""
    found = [key for key, table in loading.inside.items() if table == loading.own]
    return found[0] if len(found) == 1 else None


def loader_call(crash: Crash, seen: Recording) -> tuple[Frame, Source, ast.Call] | None:
    """The user's own call of `load_state_dict`, where one can be read."""
    frame = crash.own_frame
    source = seen.source(frame.place) if frame else None
    if frame is None or source is None or frame.place.line is None:
        return None
    last = frame.place.end_line or frame.place.line
    calls = [
        one
        for one in source.calls_in(frame.place.line, last)
        if called(one) == "load_state_dict" and one.args
    ]
    return (frame, source, calls[0]) if len(calls) == 1 else None


def by_layer(names: list[str]) -> Iterator[str]:
    """`head` for `head.weight` and `head.bias`, each once, in order."""
    yield from dict.fromkeys(name.rpartition(".")[0] or name for name in names)
