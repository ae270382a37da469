"""What a layer keeps for `backward`: no tensor of inference mode."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.violations import Expression, Violation
from surefit.doctor.words import code
from surefit.laws.case import Case, use_of


@dataclass(frozen=True, slots=True)
class InferenceTensors:
    """Tensors that torch marks as created in inference mode."""

    probe: ClassVar[str] = "inference-tensors"

    names: tuple[str, ...] = ()
    """In the user's frames."""
    in_the_call: tuple[str, ...] = ()
    """In the frame of the library that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceTensorKept(Violation):
    """A trainable layer was given one of them."""

    layer: str
    names: tuple[str, ...] = ()
    birth: Expression | None = None
    """Of source that was only read: the block or decorator of that mode."""


def violations_of(case: Case) -> Iterator[Violation]:
    crash = case.crash
    if crash is None or case.own is None or crash.in_backward:
        return
    if crash.layer is None or not crash.layer.parameters or not any(inference_blocks(case)):
        return
    tensors = case.ask(InferenceTensors)
    if tensors is not None and tensors.in_the_call:
        layer = code(crash.layer.path or crash.layer.kind)
        yield InferenceTensorKept(use=use_of(case.own), layer=layer, names=tensors.names)


def inference_blocks(case: Case) -> Iterator[Expression]:
    """`torch.inference_mode()` in a `with` or as a decorator."""
    for source in case.recording.sources():
        items = [item for block in source.every(ast.With) for item in block.items]
        functions = source.every(ast.FunctionDef)
        decorators = [head for function in functions for head in function.decorator_list]
        for head in (*(item.context_expr for item in items), *decorators):
            name = head.func if isinstance(head, ast.Call) else head
            if source.imported(name).endswith("torch.inference_mode"):
                yield case.expression(source, head)
