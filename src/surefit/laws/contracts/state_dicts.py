"""What `load_state_dict` of a module takes: exactly its names, each with its shape."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from surefit.doctor.findings import Place
from surefit.doctor.observations import Frame
from surefit.doctor.violations import Expression, Violation
from surefit.laws.case import Case, use_of
from surefit.source.reading import called

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Loading:
    """A module and what it is given: names and shapes on both sides."""

    probe: ClassVar[str] = "state-dict"

    kind: str
    """Class of the module."""
    own: dict[str, tuple[int, ...]]
    given: dict[str, tuple[int, ...]]
    """Tensors directly in the argument; `other` are names of what is none."""
    other: tuple[str, ...] = ()
    inside: dict[str, dict[str, tuple[int, ...]]] = field(default_factory=dict)
    """Mappings in the argument that hold tensors."""
    made_at: Place | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDictNames(Violation):
    """Names or shapes of what is loaded are not those of the module."""

    loading: Loading

    @property
    def missing(self) -> list[str]:
        return [name for name in self.loading.own if name not in self.loading.given]

    @property
    def unexpected(self) -> list[str]:
        return [name for name in self.loading.given if name not in self.loading.own]

    @property
    def of_other_shape(self) -> list[str]:
        given = self.loading.given
        return [name for name, shape in self.loading.own.items() if given.get(name, shape) != shape]

    @property
    def prefix_too_many(self) -> str:
        """What stands before every given name, without which names and shapes are the module's; a
        wrapper may have counters of its own beside them."""
        given = self.loading.given
        exact = lead(given, self.loading.own)
        wrapped = {name: shape for name, shape in given.items() if "." in name}
        return exact or (lead(wrapped, self.loading.own) if self.counters else "")

    @property
    def counters(self) -> list[str]:
        """`n_averaged`: single numbers that are given under a name without a dot."""
        given = self.loading.given.items()
        return [name for name, shape in given if "." not in name and shape == ()]

    @property
    def prefix_too_few(self) -> str:
        """What stands before every name of the module, and before none that was given."""
        return lead(self.loading.own, self.loading.given)

    @property
    def key_of_the_module(self) -> str:
        """Under which the argument holds names and shapes of the module, all and no others."""
        tables = self.loading.inside.items()
        keys = [key for key, table in tables if table == self.loading.own]
        return keys[0] if len(keys) == 1 else ""

    def call(self, case: Case) -> Expression | None:
        """The user's own call of `load_state_dict`; None where a library makes it."""
        node = case.node(self.use)
        own = isinstance(node, ast.Call) and called(node) == "load_state_dict"
        return self.use if own else None

    @property
    def is_another_model(self) -> bool:
        """Neither a prefix, an entry of a checkpoint nor a size explains it."""
        explained = self.prefix_too_many or self.prefix_too_few or self.key_of_the_module
        return not explained and not self.of_other_shape


def lead(longer: Shapes, shorter: Shapes) -> str:
    first = next(iter(shorter), "")
    for name in longer if first else ():
        before = name.removesuffix(first)
        if name.endswith(f".{first}") and dict(longer) == {
            f"{before}{inner}": shape for inner, shape in shorter.items()
        }:
            return before
    return ""


def violations_of(case: Case) -> Iterator[Violation]:
    frames = case.crash.frames if case.crash is not None else ()
    loading = case.ask(Loading) if any(map(is_load, frames)) else None
    if loading is not None and case.own is not None and loading.own != loading.given:
        yield StateDictNames(use=use_of(case.own), loading=loading)


def is_load(frame: Frame) -> bool:
    return frame.layer is not None and frame.function.rpartition(".")[2] == "load_state_dict"


def by_layer(names: list[str]) -> tuple[str, ...]:
    """`head` for `head.weight` and `head.bias`, each once, in order."""
    return tuple(dict.fromkeys(name.rpartition(".")[0] or name for name in names))
