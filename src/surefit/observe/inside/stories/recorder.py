"""Operations on tensors, numbered as they are made, so that a tensor's story can be told.

Only a second run records: a mode that sees every operation makes a step half as slow again or more.
"""

import itertools
import os
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from types import CodeType, FrameType
from typing import Any

from surefit.doctor.findings import Place
from surefit.observe.inside.autopsy.values import is_tensor
from surefit.observe.inside.lineage.records import Records
from surefit.observe.inside.own_code import SUREFIT, own
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.stories.clamps import Clamped, clamped

MOST_KEPT = 400_000
"""Operations; of more than these the older half is forgotten, and stories end there."""
MOST_NUMBERS = 8
PARAMETER, GIVEN = "parameter", "given"
"""Names of what no recorded operation made; `given`: by a loader's worker, by numpy, by a function
with a backward of its own."""

READING = ("requires_grad", "grad", "shape", "dtype", "device", "grad_fn", "is_leaf", "size", "dim")
"""Attributes that say something about a tensor and make none."""
WRAPPERS = ("torch/overrides.py", "torch/_tensor.py")
"""Files whose lines say nothing about an operation: each of them goes through there."""


@dataclass(frozen=True, slots=True)
class Line:
    """An instruction of a frame that has gone on since."""

    code: CodeType
    number: int
    instruction: int

    @property
    def place(self) -> Place:
        """The lines of the expression that was being run."""
        positions = itertools.islice(self.code.co_positions(), self.instruction // 2, None)
        _, end, _, _ = next(positions, (None, None, None, None))
        last = end if end is not None and end > self.number else None
        return Place(os.path.abspath(self.code.co_filename), self.number, last)


@dataclass(frozen=True, slots=True)
class Made:
    """What is written down about one operation, before it is told."""

    serial: int
    name: str
    line: Line | None
    inside: Line | None
    shape: tuple[int, ...]
    dtype: str
    contiguous: bool
    takes: tuple[int, ...] = ()
    numbers: tuple[float, ...] = ()
    grad: bool = False
    result: float | None = None
    clamped: Clamped | None = None
    leaf: bool = False
    """A gradient ends here: in a parameter, or in a tensor that is used as one."""
    unseen: bool = False
    """It has a history that was not recorded: that of a function with a backward of its own."""
    device: str = ""


class Recorder:
    """Tensors are known by weak reference: an id alone is soon another tensor's."""

    def __init__(self, torch: Any, lineage: Records | None = None, stories: bool = True) -> None:
        self.torch = torch
        self.lineage = lineage
        self.stories = stories
        """Stories are asked for, and not lineage alone."""
        self.active = True
        self.idle = False
        """Nothing is asked about this step."""
        self.made: dict[int, Made] = {}
        self._known: dict[int, tuple[Callable[[], Any], int]] = {}
        self._serials = itertools.count(1) if lineage is None else lineage.serials

    @contextmanager
    def pause(self) -> Iterator[None]:
        """What is computed inside is no part of any story."""
        self.active = False
        try:
            yield
        finally:
            self.active = True

    def known(self, tensor: Any) -> int:
        """The number of a tensor that some operation was given or gave; 0 for others."""
        alive, serial = self._known.get(id(tensor), (None, 0))
        return serial if alive is not None and alive() is tensor else 0

    def serial_of(self, tensor: Any, changed: bool = False) -> int:
        """Its number; one that no recorded operation made gets a number now. Changed: what its
        graph is now says nothing about the operation that made it."""
        alive, serial = self._known.get(id(tensor), (None, 0))
        if alive is None or alive() is not tensor or serial not in self.made:
            name = PARAMETER if isinstance(tensor, self.torch.nn.Parameter) else GIVEN
            return self._add(tensor, name, None, None, unseen=tensor.grad_fn is not None)
        if tensor.grad_fn is not None and not self.made[serial].grad and not changed:
            self.made[serial] = replace(self.made[serial], grad=True, unseen=True)
        self._look_again(tensor, serial)
        return serial

    def _look_again(self, tensor: Any, serial: int) -> None:
        """`model.half()` gives its parameters other data; their story does not change with it."""
        known = self.made[serial]
        shape, dtype = tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")
        device = str(tensor.device)
        if (known.shape, known.dtype, known.device) != (shape, dtype, device):
            self.made[serial] = replace(known, shape=shape, dtype=dtype, device=device)

    def note(
        self,
        func: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any,
        before: Clamped | None,
    ) -> None:
        outs = list(tensors_in(result))
        name = name_of(func)
        ins = list(tensors_in((args, kwargs)))
        if changes_its_input(name) and ins:
            # A parameter stays one, whatever was written into it.
            outs = [] if isinstance(ins[0], self.torch.nn.Parameter) else [ins[0]]
        else:
            # `.to()` and `.contiguous()` give back their own input where there is nothing to do.
            outs = [out for out in outs if not any(out is one for one in ins)]
        if not outs:
            return
        line, inside = lines(func)
        if self.stories:
            takes = tuple(self.serial_of(one, changed=one is outs[0]) for one in ins)
            numbers = tuple(itertools.islice(plain_numbers((args, kwargs)), MOST_NUMBERS))
            for out in outs:
                self._add(out, name, line, inside, takes, numbers, before)
        if self.lineage is not None and inside is not None and is_of_values(inside.code):
            for out in outs:
                self.lineage.operation(name, line, inside, ins, out)

    def _add(
        self,
        tensor: Any,
        name: str,
        line: Line | None,
        inside: Line | None,
        takes: tuple[int, ...] = (),
        numbers: tuple[float, ...] = (),
        before: Clamped | None = None,
        unseen: bool = False,
    ) -> int:
        serial = next(self._serials)
        self.made[serial] = Made(
            serial,
            name,
            line,
            inside,
            tuple(tensor.shape),
            str(tensor.dtype).removeprefix("torch."),
            self.is_contiguous(tensor),
            takes,
            numbers,
            bool(tensor.requires_grad),
            single_number(tensor),
            before,
            bool(tensor.requires_grad and tensor.is_leaf),
            unseen,
            str(tensor.device),
        )
        self._known[id(tensor)] = weakref.ref(tensor), serial
        if len(self.made) > MOST_KEPT:
            for old in list(itertools.islice(self.made, MOST_KEPT // 2)):
                del self.made[old]
        return serial

    def is_contiguous(self, tensor: Any) -> bool:
        return tensor.layout is self.torch.strided and bool(tensor.is_contiguous())


def is_of_values(code: CodeType) -> bool:
    """A library's own operation, which is no expression of the user's; an optimizer's operations
    lead to parameters alone."""
    return not own(code) and "torch/optim/" not in code.co_filename.replace("\\", "/")


def note_arrays(recorder: Recorder) -> None:
    """`torch.from_numpy` is no operation that a mode sees."""
    torch = recorder.torch
    plain = torch.from_numpy
    note = guarded("the story of an array")(recorder.note)

    @wraps(plain)
    def from_numpy(array: Any) -> Any:
        result = plain(array)
        if recorder.active and not recorder.idle:
            note(plain, (), {}, result, None)
        return result

    torch.from_numpy = from_numpy


def recording_mode(recorder: Recorder) -> Any:
    look_before = guarded("what a clamp was given")(clamped)
    note_after = guarded("the story of a tensor")(recorder.note)

    def run(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if recorder.idle or not recorder.active:
            return func(*args, **kwargs)
        stories = recorder.stories
        before = look_before(recorder.torch, name_of(func), args, kwargs) if stories else None
        result = func(*args, **kwargs)
        note_after(func, args, kwargs, result, before)
        return result

    return operation_mode(recorder.torch, run)


def operation_mode(torch: Any, run: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]) -> Any:
    """A mode for this thread: `run` is given every operation, to run it and note what came of it.
    One that fails, fails as it would have."""
    mode: Any = torch.overrides.TorchFunctionMode

    class Watching(mode):  # type: ignore[misc]
        """Hands every operation on."""

        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return run(func, args, kwargs or {})

    return Watching()


def tensors_in(value: Any, depth: int = 4) -> Iterator[Any]:
    """Tensors in what a function was given or gave, through lists, tuples and dicts."""
    if is_tensor(value):
        yield value
    elif depth and isinstance(value, list | tuple):
        for inner in value:
            yield from tensors_in(inner, depth - 1)
    elif depth and isinstance(value, dict):
        for inner in value.values():
            yield from tensors_in(inner, depth - 1)


def name_of(func: Any) -> str:
    """`clamp`; `T` for the attribute of that name."""
    name = str(getattr(func, "__name__", type(func).__name__))
    if name == "__get__":
        name = str(getattr(getattr(func, "__self__", None), "__name__", name))
    return name


def changes_its_input(name: str) -> bool:
    return name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))


def plain_numbers(value: Any, depth: int = 3) -> Iterator[float]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield value
    elif depth and isinstance(value, list | tuple):
        for one in value:
            yield from plain_numbers(one, depth - 1)
    elif depth and isinstance(value, dict):
        for one in value.values():
            yield from plain_numbers(one, depth - 1)


def single_number(tensor: Any) -> float | None:
    """The value of a tensor of one element; elsewhere than on the CPU only if it has a graph,
    because reading it waits for the device."""
    if tensor.numel() != 1 or not tensor.is_floating_point() or tensor.is_meta:
        return None
    if tensor.device.type != "cpu" and not tensor.requires_grad:
        return None
    return float(tensor.detach().item())


def lines(func: Any) -> tuple[Line | None, Line | None]:
    """The innermost line of the user's own, and the innermost of all."""
    inside: Line | None = None
    frame: FrameType | None = sys._getframe(1)
    skipped = getattr(func, "__code__", None)
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        own_or_library = not file.startswith(SUREFIT) and not file.endswith(WRAPPERS)
        if own_or_library and code is not skipped:
            if inside is None:
                inside = Line(code, frame.f_lineno, frame.f_lasti)
            if own(code):
                return Line(code, frame.f_lineno, frame.f_lasti), inside
        frame = frame.f_back
    return None, inside
