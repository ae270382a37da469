"""Answers to the questions of rules, from frames that are kept for a few seconds after a crash."""

import ast
import json
import os
import pkgutil
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from importlib import import_module
from types import FrameType
from typing import Any

from surefit.doctor.observations import Answer, Crash, Json, Question
from surefit.observe.inside import spool
from surefit.observe.inside.autopsy import expressions
from surefit.observe.inside.autopsy import probes as folder_of_probes
from surefit.observe.inside.autopsy.values import untouched

SOCKET = "ask"
"""In the spool's folder: where the parent listens."""
PATIENCE = 5.0
"""Seconds that a crashed process waits for questions, all in all."""

Said = dict[str, Json] | None
Probe = Callable[[Sequence[FrameType], dict[str, Any]], Said]


@cache
def probes() -> dict[str, Probe]:
    """Every file in `probes/` is one, named as it is; there is no list to edit."""
    found = {}
    for one in pkgutil.iter_modules(folder_of_probes.__path__):
        module = import_module(f"{folder_of_probes.__name__}.{one.name}")
        found[one.name.replace("_", "-")] = module.answer
    return found


def answer_parent(seen: Crash, frames: Sequence[FrameType]) -> None:
    """Tells the parent of the crash, and answers what it asks until it is content or time is up."""
    folder = spool.folder()
    if folder is None or not hasattr(socket, "AF_UNIX"):
        return
    ends = time.monotonic() + PATIENCE
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(PATIENCE)
            line.connect(os.path.join(folder, SOCKET))
            line.sendall(json.dumps({"crash": seen.id}).encode() + b"\n")
            for question in _questions(line, ends):
                said = asdict(answer(question, frames))
                line.sendall(json.dumps(said).encode() + b"\n")
    except OSError:
        return  # nobody asks: the parent has ended, or had no question in time


def _questions(line: socket.socket, ends: float) -> Iterator[Question]:
    waiting = b""
    while (left := ends - time.monotonic()) > 0:
        line.settimeout(left)
        came = line.recv(65536)
        if not came:
            return
        waiting += came
        while b"\n" in waiting:
            one, waiting = waiting.split(b"\n", 1)
            yield Question(**json.loads(one))


def answer(question: Question, frames: Sequence[FrameType]) -> Answer:
    function = probes().get(question.kind)
    if function is None:
        return Answer(question, None, "no probe of this name")
    try:
        with untouched():
            said = function(frames, question.about)
    except Exception as error:  # noqa: BLE001 - said to the rule
        return Answer(question, None, f"{type(error).__name__}: {error}")
    return Answer(question, said, "" if said is not None else "it could not be read")


def value_in(frames: Sequence[FrameType], about: dict[str, Any]) -> Any:
    """The value of an expression in one of the crash's frames."""
    frame = frames[int(about["frame"])]
    return expressions.read(ast.parse(str(about["text"]), mode="eval").body, frame)
