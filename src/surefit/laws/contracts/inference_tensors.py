"""What a layer keeps for `backward`: no tensor of inference mode."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.violations import Expression, Violation
from surefit.doctor.words import code
from surefit.laws.case import Case, use_of

REFUSED = "Inference tensors cannot be saved for backward"


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
    """A trainable layer, or another operation of the graph, was given one of them."""

    layer: str
    """Or the operation, in backticks."""
    names: tuple[str, ...] = ()
    birth: Expression | None = None
    """Of source that was only read: the block or decorator of that mode."""


def violations_of(case: Case) -> Iterator[Violation]:
    crash = case.crash
    if crash is None or case.own is None or crash.in_backward:
        return
    if not any(inference_blocks(case)):
        return
    layer = crash.layer if crash.layer is not None and crash.layer.parameters else None
    if layer is None and REFUSED not in crash.said:
        return
    tensors, use = case.ask(InferenceTensors), use_of(case.own)
    if tensors is None or not (tensors.in_the_call or (layer is None and tensors.names)):
        return
    name = code((layer.path or layer.kind) if layer is not None else use.text)
    yield InferenceTensorKept(use=use, layer=name, names=tensors.names)


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
