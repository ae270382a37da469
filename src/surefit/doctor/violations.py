"""A law that does not hold, with the values on both sides of it: what rules work on."""

from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeVar

from surefit.doctor.findings import Fact, Place
from surefit.doctor.observations import Value
from surefit.doctor.words import code, shape_of
from surefit.source.spans import Span


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression of the user's source: where it stands, and as it is written."""

    place: Place
    span: Span | None = None
    text: str = ""


class Written(Protocol):
    """Something that stands in the user's source: an expression, a producer of a lineage."""

    @property
    def place(self) -> Place: ...
    @property
    def span(self) -> Span | None: ...
    @property
    def text(self) -> str: ...


def fact_at(name: str, written: Written | None) -> tuple[Fact, ...]:
    """`created at   train.py:12  torch.tensor(rows)`; nothing where there is no place."""
    if written is None:
        return ()
    shown = " ".join(written.text.split())
    place = Place(written.place.file, written.place.line)
    return (Fact(name, f"{place}  {shown}".rstrip()),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """One side of a violation: a value, and what the user calls it."""

    value: Value
    name: str
    """In backticks: `batch["labels"]`."""
    frame: int | None = None
    """Number of the frame of the crash that has it as `value.text`; None for source that was only
    read."""
    use: Expression | None = None
    """The user's expression that hands it over, where there is one."""
    birth: Expression | None = None
    """Of source that was only read: where the interpreter says that it got its wrong property."""
    sizes: str = ""
    """The shape in words, where only a part of it is known: `(n, 40)`."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape or ()

    @property
    def dtype(self) -> str:
        return self.value.dtype or ""

    @property
    def shape_words(self) -> str:
        return self.sizes or shape_of(self.shape)

    def fact(self, more: str = "") -> Fact:
        """Its dtype and shape, and whatever else there is to say."""
        described = " ".join(word for word in (self.dtype, self.shape_words) if word)
        return Fact(self.name, f"{described}, {more}" if more else described)


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A law that does not hold. Each law has a class of its own, with both sides of it."""

    use: Expression
    """The user's expression in which it shows. Where the wrong value was born, lineage tells."""


Narrower = TypeVar("Narrower", bound=Violation)


def narrowed(kind: type[Narrower], plain: Violation, **more: Any) -> Narrower:
    """The same violation as a subclass of it."""
    return kind(**({field.name: getattr(plain, field.name) for field in fields(plain)} | more))


def in_code(text: str, otherwise: str, longest: int = 60) -> str:
    """A short text in backticks."""
    return code(text) if text and len(text) <= longest else otherwise
