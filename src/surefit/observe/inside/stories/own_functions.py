"""What functions with a backward of the user's own were given, keep and return, in a second run."""

import inspect
import itertools
import os
from collections.abc import Sequence
from functools import wraps
from typing import Any

from surefit.doctor.observations import Json
from surefit.observe.inside.autopsy.values import is_tensor
from surefit.observe.inside.own_code import is_own, own_frame
from surefit.observe.inside.spool import guarded

OF_FUNCTION = "own-function"
MARK = "surefit-inputs"


class OwnFunctions:
    """The last call of a `backward` that has returned, and the last that saved no tensor."""

    def __init__(self) -> None:
        self.returned: dict[str, Json] | None = None
        self.saved: dict[str, Json] | None = None
        self.wrapped: set[int] = set()

    def told(self) -> dict[str, Json]:
        return {"returned": self.returned, "saved": self.saved}

    def watch(self, module: Any) -> None:
        """Of `torch.autograd.function`."""
        plain = module.Function.__dict__["apply"].__func__
        keep = module.FunctionCtx.save_for_backward
        prepare, note = guarded("a function")(self.prepare), guarded("a function")(self.note)
        note_saved = guarded("what a function saves")(self.note_saved)

        @wraps(plain)
        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            prepare(cls)
            result = plain(cls, *args, **kwargs)
            note(cls, args, result)
            return result

        @wraps(keep)
        def save_for_backward(context: Any, *tensors: Any) -> Any:
            note_saved(tensors)
            return keep(context, *tensors)

        module.Function.apply = classmethod(apply)
        module.FunctionCtx.save_for_backward = save_for_backward

    def prepare(self, cls: Any) -> None:
        """Its `backward`, if it is the user's, is listened to."""
        backward = inspect.unwrap(cls.backward)
        code = getattr(backward, "__code__", None)
        if id(cls) in self.wrapped or code is None or not is_own(code.co_filename):
            return
        self.wrapped.add(id(cls))
        plain, told = cls.backward, guarded("a backward")(self.note_returned)

        @wraps(plain)
        def listened(context: Any, *gradients: Any) -> Any:
            result = plain(context, *gradients)
            told(cls, code, context, result)
            return result

        cls.backward = staticmethod(listened)

    def note(self, cls: Any, args: Sequence[Any], result: Any) -> None:
        outputs = result if isinstance(result, tuple) else (result,)
        names = parameters_of(cls)
        inputs = [
            {"name": names[number] if number < len(names) else "", **described(value)}
            for number, value in enumerate(args)
        ]
        for output in outputs:
            if is_tensor(output) and output.grad_fn is not None:
                output.grad_fn.metadata[MARK] = inputs

    def note_returned(self, cls: Any, code: Any, context: Any, result: Any) -> None:
        every = result if isinstance(result, tuple) else (result,)
        self.returned = {
            "function": cls.__name__,
            "file": os.path.abspath(code.co_filename),
            "line": code.co_firstlineno,
            "inputs": context.metadata.get(MARK, []),
            "gradients": [described(value) for value in every],
        }

    def note_saved(self, values: Sequence[Any]) -> None:
        frame = own_frame(depth=2)
        if frame is None or all(value is None or is_tensor(value) for value in values):
            return
        self.saved = {
            "file": os.path.abspath(frame.f_code.co_filename),
            "line": frame.f_lineno,
            "values": [described(value) for value in values],
        }


def parameters_of(cls: Any) -> list[str]:
    """Of `forward`, less the context, which it has unless there is a `setup_context`."""
    names = list(inspect.signature(cls.forward).parameters)
    own = itertools.takewhile(lambda base: base.__name__ != "Function", cls.__mro__)
    return names if any("setup_context" in vars(base) for base in own) else names[1:]


def described(value: Any) -> dict[str, Json]:
    if not is_tensor(value):
        return {"kind": type(value).__name__}
    return {
        "kind": "Tensor",
        "shape": [int(size) for size in value.shape],
        "dtype": str(value.dtype).removeprefix("torch."),
        "device": str(value.device),
        "grad": bool(value.requires_grad),
    }
