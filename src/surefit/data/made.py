"""A sequence whose items are made when they are asked for, and not kept."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    from numpy.typing import NDArray

Item = TypeVar("Item")


class Made(Sequence[Item], Generic[Item]):
    """`count` items, each given by `make` and its place; equal to any sequence of equal items."""

    def __init__(self, count: int, make: Callable[[int], Item]) -> None:
        self._places = range(count)
        self._make = make

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> Item: ...
    @overload
    def __getitem__(self, at: slice) -> "Made[Item]": ...
    def __getitem__(self, at: int | slice) -> "Item | Made[Item]":
        if isinstance(at, slice):
            some = self._places[at]
            return Made(len(some), lambda place: self._make(some[place]))
        return self._make(self._places[at])

    def __iter__(self) -> Iterator[Item]:
        return map(self._make, self._places)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(
            one == its for one, its in zip(self, other, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} items)"


class Chosen(Made[Item]):
    """Some of the items of a sequence, by their places in it."""

    def __init__(self, items: Sequence[Item], places: "NDArray[Any]") -> None:
        super().__init__(len(places), lambda at: items[int(places[at])])
        self.places = places
