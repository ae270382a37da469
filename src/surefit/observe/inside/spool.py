"""Where an observed process writes what it saw: a file of JSON lines of its own, in one folder."""

import os
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from surefit.doctor.observations import NotObserved, Observation, Process
from surefit.observe.inside.untouched import append, encode, getpid

FOLDER = "SUREFIT_SPOOL"
"""Environment: the folder; without it nothing is observed."""
PROOF = "SUREFIT_PROOF"
"""Environment: observe every step, whatever it costs."""
STOP_AFTER = "SUREFIT_STOP_AFTER"
"""Environment: end the process after so many optimizer steps."""
GO_ON = "SUREFIT_GO_ON"
"""Environment: end it only so many seconds after these steps; what comes then is told apart."""
GOAL = ".goal"
"""Suffix of a file: how many bytes a process had written when it had taken these steps."""

_lock = threading.RLock()
"""A signal handler of the user's can come in while a line is being written."""
_failed: set[str] = set()

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def folder() -> Path | None:
    name = os.environ.get(FOLDER)
    return Path(name) if name else None


def in_proof() -> bool:
    return bool(os.environ.get(PROOF))


def number(name: str) -> int | None:
    raw = os.environ.get(name, "")
    return int(raw) if raw.isdigit() else None


def _worker() -> int | None:
    """The number of this process as a loader's worker."""
    loading = sys.modules.get("torch.utils.data._utils.worker")
    about = getattr(loading, "_worker_info", None)
    return about.id if about is not None else None


def is_worker() -> bool:
    """A loader's worker that has begun its work."""
    return _worker() is not None


def rank() -> tuple[int | None, int | None]:
    """The rank of this process and how many there are, by its environment or by torch's group."""
    if number("RANK") is not None:
        return number("RANK"), number("WORLD_SIZE")
    group = sys.modules.get("torch.distributed.distributed_c10d")
    if group is not None and group.is_initialized():
        return int(group.get_rank()), int(group.get_world_size())
    return None, None


def process() -> Process:
    (rank_, world), worker = rank(), _worker()
    if worker is not None:
        role = "worker"
    elif rank_ is not None:
        role = "rank"
    else:
        role = "main" if os.environ.get("SUREFIT_MAIN_PID") == str(getpid()) else "child"
    return Process(getpid(), role, rank_, world, worker)


def saw(observation: Observation) -> None:
    """Adds a line; whole or not at all, from any thread, and never an error for the caller."""
    try:
        where = folder()
        if where is None:
            return
        line = encode({"saw": type(observation).__name__, **asdict(observation)})
        with _lock:
            append(f"{where}/{getpid()}.jsonl", f"{line}\n".encode())
    except Exception:  # noqa: BLE001 - a full disk must not end the user's training
        pass


def came_to_the_goal() -> None:
    """Whatever this process writes from here on is no part of what it was started for."""
    where = folder()
    if where is None:
        return
    with _lock:
        own = f"{where}/{getpid()}"
        size = os.stat(f"{own}.jsonl").st_size if os.path.exists(f"{own}.jsonl") else 0
        append(f"{own}{GOAL}", str(size).encode())


def could_not(what: str, error: BaseException) -> None:
    """Notes, once for each, that something was not observed because surefit itself failed."""
    if what in _failed:
        return
    _failed.add(what)
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = f" ({Path(last[0].filename).name}:{last[0].lineno})" if last else ""
    saw(NotObserved(what, f"surefit failed: {type(error).__name__}: {error}{where}", process()))


def guarded(
    what: str,
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result | None]]:
    """A probe whose own failure goes to the spool and gives None, never to the user's program."""

    def wrap(probe: Callable[Arguments, Result]) -> Callable[Arguments, Result | None]:
        @wraps(probe)
        def inner(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result | None:
            try:
                return probe(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - see above
                could_not(what, error)
                return None

        return inner

    return wrap


def forget_parent() -> None:
    """In a forked child: its failures are its own, and the lock is held by nobody."""
    global _lock
    _lock = threading.RLock()
    _failed.clear()
