"""Threads that read ahead, and that end with what they read for."""

import os
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

from .reading import Reader, Rows

Result = TypeVar("Result")
Task = Callable[[Reader], Result]


class Readers:
    """So many threads, each with files of its own; with none, work is done where it is asked for.

    Tasks are begun in the order in which they were given, so that one may wait for an earlier one.
    Threads end when this object is closed or gone, at the latest with the interpreter; each first
    finishes the task it is at.
    """

    def __init__(self, count: int, rows: Rows) -> None:
        self._own = None if count else Reader(rows)
        self._tasks: SimpleQueue[tuple[Task[object], Future[object]] | None] = SimpleQueue()
        threads = [
            Thread(target=_work, args=(rows, self._tasks), name="surefit reader", daemon=True)
            for _ in range(count)
        ]
        for thread in threads:
            thread.start()
        self._end = weakref.finalize(self, _end, os.getpid(), self._tasks, threads, self._own)

    def submit(self, task: Task[Result]) -> Future[Result]:
        future: Future[Result] = Future()
        if self._own is not None:
            _done(task, future, self._own)
        else:
            self._tasks.put((task, future))  # type: ignore[arg-type]
        return future

    def close(self) -> None:
        self._end()


def _work(rows: Rows, tasks: "SimpleQueue[tuple[Task[object], Future[object]] | None]") -> None:
    reader = Reader(rows)
    try:
        while (item := tasks.get()) is not None:
            _done(*item, reader)
            del item  # a task that is held here would hold its buffers until the next one comes
    finally:
        reader.close()


def _done(task: Task[Result], future: Future[Result], reader: Reader) -> None:
    try:
        future.set_result(task(reader))
    except BaseException as error:  # noqa: BLE001 - raised again where the result is asked for
        future.set_exception(error)


def _end(
    process: int,
    tasks: "SimpleQueue[tuple[Task[object], Future[object]] | None]",
    threads: list[Thread],
    own: Reader | None,
) -> None:
    if own is not None:
        own.close()
    if os.getpid() != process:
        return  # a forked process has none of the threads
    with suppress(Empty):
        while True:
            tasks.get_nowait()
    for _ in threads:
        tasks.put(None)
    for thread in threads:
        thread.join()
