"""How the user's source names a device, and which calls create or move tensors."""

import ast

from surefit.doctor.violations import Expression, Written
from surefit.laws.case import Case
from surefit.lineage.producers import Producer
from surefit.source.line_edits import block_of
from surefit.source.reading import called

FACTORIES = frozenset(
    (
        *("zeros", "ones", "full", "rand", "randn", "randint", "arange", "linspace", "empty"),
        *("eye", "tensor", "as_tensor", "randperm", "tril_indices", "triu_indices"),
    )
)
"""Functions of torch that take `device=`."""


def is_factory(producer: Producer) -> bool:
    return producer.text.partition("(")[0].rpartition(".")[2] in FACTORIES


def neighbour(case: Case, created: Producer, device: str) -> str:
    """An argument of the function that created a tensor, on the device that is meant; empty outside
    of the functions of a crash."""
    source, node = case.source(created.place), case.node(created)
    for frame in reversed(case.crash.frames if case.crash is not None else ()):
        if source is None or node is None or frame.place.file != source.file:
            continue
        statement = source.statement_at(frame.place.line or 0)
        if statement is not None and source.scope_of(statement) is source.scope_of(node):
            values = {value.text: value for value in frame.values}
            for text in frame.arguments:
                if text in values and values[text].device == device:
                    return text
    return ""


def moved_beside(case: Case, use: Expression) -> Expression | None:
    """The last statement before, in the same block, that moves another: `x = x.to(DEVICE)`."""
    source, node = case.source(use.place), case.node(use)
    if source is None or node is None:
        return None
    statement = source.statement_of(node)
    block = block_of(source, statement)
    for earlier in reversed(block[: block.index(statement)]):
        match earlier:
            case ast.Assign(
                value=ast.Call(func=ast.Attribute(value=ast.Name(), attr="to"), args=[_]) as call
            ):
                return case.expression(source, call)
    return None


def device_of_move(case: Case, move: Written) -> str:
    """As the call writes it: `DEVICE` of `x.to(DEVICE)`, of `torch.zeros(3, device=DEVICE)`."""
    source, call = case.source(move.place), case.node(move)
    if source is None or not isinstance(call, ast.Call):
        return "device"
    named = source.argument(call, "device", 0 if called(call) == "to" else None)
    if named is not None:
        return source.segment(named)
    return f'"{called(call)}"' if called(call) in ("cuda", "xpu", "mps", "cpu") else "device"


def device_near(case: Case, use: Expression | None, device: str) -> str:
    """A name that the frame has for the device, or that of a module's weights."""
    for frame in case.crash.frames if case.crash is not None and use is not None else ():
        if not frame.own or use is None or frame.place.line != use.place.line:
            continue
        plain = [value for value in frame.values if value.text.isidentifier()]
        names = [value.text for value in plain if value.kind == "device"]
        texts = [value.text for value in plain if value.scalar == device]
        modules = [f"next({value.text}.parameters()).device" for value in plain if value.layer]
        if names or texts or modules:
            return (*names, *texts, *modules)[0]
    return repr(device)
