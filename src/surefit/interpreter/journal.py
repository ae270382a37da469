"""Every change to what a script holds, so that a path can be undone or merged with another."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from surefit.interpreter.merging import merge_entries
from surefit.interpreter.values import ABSENT

Result = TypeVar("Result")


@dataclass(slots=True)
class StateChange:
    """One entry of a dict, or one field of a value, before and after."""

    owner: object
    key: object
    old: object
    new: object = ABSENT

    @property
    def now(self) -> object:
        return read_entry(self.owner, self.key)


Changes = dict[tuple[int, object], StateChange]


class Journal:
    """Every entry that is set."""

    def __init__(self) -> None:
        self.open: list[Changes] = []

    def set(self, owner: object, key: object, value: object) -> None:
        if self.open:
            where = (id(owner), key)
            if where not in self.open[-1]:
                self.open[-1][where] = StateChange(owner, key, read_entry(owner, key))
        write_entry(owner, key, value)

    def undone(self, run: Callable[[], Result]) -> tuple[Result, Changes]:
        """Runs, undoes what was set, and returns it."""
        result, changes = self.watched(run)
        for change in reversed(list(changes.values())):
            write_entry(change.owner, change.key, change.old)
        return result, changes

    def watched(self, run: Callable[[], Result]) -> tuple[Result, Changes]:
        """Runs, and returns what was set; it stays."""
        self.open.append({})
        try:
            result = run()
        finally:
            changes = self.open.pop()
            for change in changes.values():
                change.new = change.now
            if self.open:
                for where, change in changes.items():
                    self.open[-1].setdefault(
                        where, StateChange(change.owner, change.key, change.old)
                    )
        return result, changes

    def apply(self, changes: Changes) -> None:
        for change in changes.values():
            self.set(change.owner, change.key, change.new)

    def merge_paths(self, first: Changes, second: Changes) -> None:
        """As it is after one path or the other; both began at what is set now."""
        for where in {**first, **second}:
            left, right = first.get(where), second.get(where)
            some = left or right
            assert some is not None
            self.merge(some, left.new if left else some.old, right.new if right else some.old)

    def merge_into_now(self, changes: Changes) -> None:
        """What is set now, or what a path had set that was left early."""
        for change in changes.values():
            self.merge(change, change.now, change.new)

    def merge_with_before(self, changes: Changes) -> None:
        for change in changes.values():
            self.merge(change, change.old, change.now)

    def merge(self, change: StateChange, left: object, right: object) -> None:
        self.set(change.owner, change.key, merge_entries(change.key, left, right))


def read_entry(owner: object, key: object) -> object:
    if isinstance(owner, dict):
        return owner.get(key, ABSENT)
    assert isinstance(key, str)
    return getattr(owner, key)


def write_entry(owner: object, key: object, value: object) -> None:
    if not isinstance(owner, dict):
        assert isinstance(key, str)
        setattr(owner, key, value)
    elif value is ABSENT:
        owner.pop(key, None)
    else:
        owner[key] = value
