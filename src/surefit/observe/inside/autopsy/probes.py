"""Answers to the questions of rules, from frames that are kept for a few seconds after a crash."""

import ast
import gc
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import asdict
from types import FrameType
from typing import Any

from surefit.doctor.observations import Answer, Crash, Json, Question
from surefit.observe.inside import spool
from surefit.observe.inside.autopsy import expressions
from surefit.observe.inside.autopsy.collators import rows_in
from surefit.observe.inside.autopsy.values import attributes, is_a, is_tensor, mapping, untouched

SOCKET = "ask"
"""In the spool's folder: where the parent listens."""
PATIENCE = 5.0
"""Seconds that a crashed process waits for questions, all in all."""

Said = dict[str, Json] | None
Probe = Callable[[Sequence[FrameType], dict[str, Any]], Said]

PROBES: dict[str, Probe] = {}


def probe(kind: str) -> Callable[[Probe], Probe]:
    def mark(function: Probe) -> Probe:
        PROBES[kind] = function
        return function

    return mark


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
    function = PROBES.get(question.kind)
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


@probe("reshape")
def reshape(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    """Whether `reshape` to a shape gives what `contiguous().view` gives."""
    value = value_in(frames, about)
    if not is_tensor(value):
        return None
    shape = [int(size) for size in about.get("shape", [-1])]
    one, other = value.reshape(shape), value.contiguous().view(shape)
    return {
        "equal": bool(sys.modules["torch"].equal(one, other)),
        "elements": int(value.numel()),
        "shape": [int(size) for size in one.shape],
    }


@probe("count-outside")
def count_outside(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    """How many elements of a tensor lie below or above bounds, and the first few of them."""
    value = value_in(frames, about)
    if not is_tensor(value):
        return None
    outside = value[(value < about["least"]) | (value > about["greatest"])]
    first = outside.unique()[:8].tolist()
    return {"outside": int(outside.numel()), "elements": int(value.numel()), "first": first}


@probe("collate")
def collate(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    """What another collator of the library makes of a copy of the rows."""
    rows, tokenizer = rows_in(frames)
    kind = getattr(sys.modules.get("transformers"), str(about["kind"]), None)
    if kind is None or tokenizer is None or not rows:
        return None
    copies = [{**(mapping(row) or {})} for row in deepcopy(rows)]
    batch = kind(tokenizer)(copies)
    labels = batch["labels"]
    supervised = int((labels != -100).sum())
    return {
        "shape": [int(size) for size in labels.shape],
        "supervised": supervised,
        "equal": supervised == about.get("expected"),
        "elements": supervised,
    }


@probe("arrays-on-disk")
def arrays_on_disk(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:  # noqa: ARG001
    """Arrays that are read in place from files, and whose last axis has a width."""
    found = [one for one in gc.get_objects() if is_a(one, "numpy", "memmap")]
    wide = [one for one in found if one.shape and int(one.shape[-1]) == about["width"]]
    files = {str(file): one for one in wide if (file := attributes(one).get("filename"))}
    return {
        "files": [
            {"file": shown(file), "shape": [int(size) for size in one.shape]}
            for file, one in files.items()
        ]
    }


def shown(file: str) -> str:
    """As seen from the folder that the program runs in, if it lies there."""
    return os.path.relpath(file) if file.startswith(os.getcwd() + os.sep) else file
