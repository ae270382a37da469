"""The parent's end of the line to crashed processes, which wait to be asked."""

import json
import selectors
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

import msgspec

from surefit.doctor.observations import Answer, Question
from surefit.observe.inside.autopsy.questions import PATIENCE, SOCKET, probes


class Asker:
    """Listens in the spool's folder; without one, to nobody."""

    def __init__(self, folder: Path | None) -> None:
        self.line: socket.socket | None = None
        self.selector = selectors.DefaultSelector()
        path = folder / SOCKET if folder is not None else None
        if hasattr(socket, "AF_UNIX") and path is not None:
            with suppress(OSError):  # a path too long for a socket: crashes are read, not asked
                self.line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                self.line.bind(str(path))
                self.line.listen(64)
                self.selector.register(self.line, selectors.EVENT_READ)

    def crashed(self, patience: float) -> Iterator["Crashed"]:
        """Processes that have crashed and wait, where one comes within so many seconds."""
        if not self.selector.get_map():
            time.sleep(patience)
            return
        for key, _ in self.selector.select(patience):
            if self.line is not None and key.fileobj is self.line:
                connection, _address = self.line.accept()
                connection.settimeout(PATIENCE)
                yield Crashed(connection)

    @contextmanager
    def also(self, descriptor: int | None) -> Iterator[None]:
        """Inside, waiting ends when this can be read, too."""
        if descriptor is None:
            yield
            return
        self.selector.register(descriptor, selectors.EVENT_READ)
        try:
            yield
        finally:
            self.selector.unregister(descriptor)

    def close(self) -> None:
        self.selector.close()
        if self.line is not None:
            self.line.close()


class Crashed:
    """One process that keeps its frames for as long as this line is open, at most PATIENCE."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.reader = connection.makefile("rb")
        self.answers: list[Answer] = []
        first = self._read()
        self.crash = str(json.loads(first)["crash"]) if first else ""

    def ask(self, questions: Sequence[Question]) -> list[Answer]:
        """Answers to those questions that are about this crash and that a probe can answer."""
        mine = [one for one in questions if one.crash == self.crash and one.kind in probes()]
        found = [answer for one in mine if (answer := self._ask(one)) is not None]
        self.answers += found
        return found

    def _ask(self, question: Question) -> Answer | None:
        try:
            self.connection.sendall(json.dumps(asdict(question)).encode() + b"\n")
            line = self._read()
        except OSError:
            return None
        return msgspec.convert(json.loads(line), Answer, strict=False) if line else None

    def _read(self) -> bytes:
        try:
            return self.reader.readline()
        except OSError:
            return b""

    def close(self) -> None:
        self.reader.close()
        self.connection.close()
