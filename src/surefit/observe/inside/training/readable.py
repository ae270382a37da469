"""When tensors can be looked at, which of them, and without the program noticing."""

import sys
from collections.abc import Callable
from typing import Any

from surefit.observe.inside import finishing

MOST_WAITING = 4096
"""Values on a device that are kept until somebody reads them."""

_waiting: list[tuple[Any, Callable[[Any], None]]] = []


def torch() -> Any:
    return sys.modules["torch"]


def can_look() -> bool:
    """Nothing is tracing, capturing or transforming what is computed right now. Not for use while
    compiling: whoever asks has asked that before."""
    library = torch()
    binding = library._C
    return not (
        binding._len_torch_dispatch_stack()
        or binding._get_tracing_state() is not None
        or binding._functorch.peek_interpreter_stack() is not None
        or (library.cuda._initialized and library.cuda.is_current_stream_capturing())
    )


class Ordinary:
    """Asks whether a value is a plain tensor on a CPU while nothing is listening, so that it can
    be read as it is. What it asks is looked up once: this is done in every step."""

    __slots__ = ("dispatched", "kind", "told", "transformed")

    def __init__(self) -> None:
        library = torch()
        self.kind = library.Tensor
        self.told = library._C._len_torch_function_stack
        self.dispatched = library._C._len_torch_dispatch_stack
        self.transformed = library._C._functorch.peek_interpreter_stack

    def is_ordinary(self, value: Any) -> bool:
        if type(value) is not self.kind or self.told() or self.dispatched():
            return False
        return self.transformed() is None and bool(value.is_cpu)


class looking:  # noqa: N801 - read as a verb: `with looking():`
    """Inside, operations belong to no graph, no `__torch_function__` is told of them, and torch's
    compiler does not take up what surefit calls."""

    __slots__ = ("compiler", "recording", "untold")

    def __enter__(self) -> Any:
        library = torch()
        self.compiler = library._C._dynamo.eval_frame.set_eval_frame(None)
        self.untold = library._C.DisableTorchFunction()
        self.untold.__enter__()
        self.recording = library.is_grad_enabled()
        library._C._set_grad_enabled(False)
        return library

    def __exit__(self, *error: object) -> None:
        binding = torch()._C
        binding._set_grad_enabled(self.recording)
        self.untold.__exit__(*error)
        binding._dynamo.eval_frame.set_eval_frame(self.compiler)


def plain(tensor: Any) -> Any:
    """The part of a tensor that lies here, to be read without asking other processes or code of
    its own class; None where there is none (meta, fake, lazy, quantized or wrapping tensors)."""
    library = torch()
    kind = type(tensor)
    if kind is not library.Tensor and kind is not library.nn.Parameter:
        if library.Tensor not in kind.__mro__:
            return None
        if kind.__name__ == "DTensor":
            return plain(tensor._local_tensor)
        if kind.__torch_dispatch__ is not library._C._disabled_torch_dispatch_impl:
            return None
        if kind.__name__.startswith("Uninitialized"):
            return None
        tensor = library.Tensor.as_subclass(tensor, library.Tensor)  # less what its class overrides
    if (tensor.is_cpu or not tensor.is_meta) and tensor.dtype.is_floating_point:
        return tensor
    return None if tensor.is_meta or tensor.is_quantized or tensor.is_complex() else tensor


def is_dense(tensor: Any) -> bool:
    """Strided, and its elements fill one stretch of memory, in whatever order of axes."""
    if tensor.layout is not torch().strided:
        return False
    if tensor.is_contiguous():
        return True
    expected = 1
    for step, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size != 1:
            if step != expected:
                return False
            expected *= size
    return True


def read(tensor: Any, then: Callable[[Any], None]) -> None:
    """Numbers of a small tensor; those on a device are read later, when nobody has to wait."""
    if tensor.device.type == "cpu":
        then(tensor.tolist())
    elif len(_waiting) < MOST_WAITING:
        _waiting.append((tensor, then))


def read_waiting() -> None:
    """Reads what was left on devices: the work that made it has long been done."""
    waiting = _waiting[:]
    _waiting.clear()
    for tensor, then in waiting:
        then(tensor.tolist())


def waiting() -> int:
    return len(_waiting)


@finishing.after_fork
def forget_parent() -> None:
    _waiting.clear()
