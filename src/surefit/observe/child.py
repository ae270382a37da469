"""A process that was started, however that was done."""

from collections.abc import Sequence
from typing import Any, Protocol


class Child(Protocol):
    """What is asked of a `subprocess.Popen`, and of whatever stands for one."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def send_signal(self, number: int, /) -> None: ...


class Start(Protocol):
    """Starts a command in another way than `subprocess` does, or gives None where it cannot."""

    def __call__(self, command: Sequence[str], **how: Any) -> Child | None: ...
