"""A process that was started, however that was done."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable


class Child(Protocol):
    """What is asked of a `subprocess.Popen`, and of whatever stands for one."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def send_signal(self, number: int, /) -> None: ...


@runtime_checkable
class HasEnd(Protocol):
    """A child with a line of its own, on which its end is told."""

    def fileno(self) -> int: ...


class Start(Protocol):
    """Starts a command in another way than `subprocess` does, or gives None where it cannot."""

    def __call__(self, command: Sequence[str], **how: Any) -> Child | None: ...


@contextmanager
def end_of(child: Child) -> Iterator[int | None]:
    """A descriptor that can be read when the child has ended, where the system has such."""
    if isinstance(child, HasEnd):
        yield child.fileno()
        return
    try:
        end = os.pidfd_open(child.pid)
    except (AttributeError, OSError):  # Linux has it
        yield None
        return
    try:
        yield end
    finally:
        os.close(end)
