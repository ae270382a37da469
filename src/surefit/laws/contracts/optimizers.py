"""What an optimizer takes: at least one parameter; what a gradient scaler takes: an optimizer some
of whose parameters have a gradient."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.observations import Crash, Frame, Value
from surefit.doctor.violations import Expression, Violation
from surefit.laws.case import Case, use_of
from surefit.laws.contracts.gradients import Gradients
from surefit.source.reading import Source

OPTIMIZER = "torch/optim/optimizer.py"
SCALER = "torch/amp/grad_scaler.py"
GIVES_ALL = ("parameters", "named_parameters")


@dataclass(frozen=True, slots=True)
class PlainContainer:
    """A list or a dict with layers or parameters in it, as an attribute of a module."""

    owner: str
    """Class of the module."""
    name: str
    holder: str
    modules: int
    parameters: int

    @property
    def registering(self) -> str:
        """The container of torch that registers what is in it."""
        item = "Module" if self.modules else "Parameter"
        return f"{item}{'Dict' if self.holder == 'dict' else 'List'}"


@dataclass(frozen=True, slots=True)
class OwnParameters:
    """What a module has."""

    probe: ClassVar[str] = "own-parameters"

    kind: str
    parameters: int
    trainable: int
    hidden: tuple[PlainContainer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoParameters(Violation):
    """It was given none. `use` is the call that creates it."""

    params: Expression
    """What it was given, as it is written."""
    module: OwnParameters | None
    """The model whose parameters were asked for, where that can be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingToUnscale(Violation):
    """A gradient scaler was to step an optimizer that holds no tensor with a gradient, and the
    model has tensors with one."""

    optimizer: Value
    gradients: Gradients


def violations_of(case: Case) -> Iterator[Violation]:
    crash, own = case.crash, case.own
    if crash is None or own is None:
        return
    yield from nothing_to_unscale(case, own)
    if not was_empty(crash):
        return
    params = case.argument(use_of(own), "params", 0)
    source, node = case.source(own.place), case.node(params)
    if params is not None and source is not None and node is not None:
        text, number = model_asked(source, node), crash.frames.index(own)
        module = case.ask(OwnParameters, frame=number, text=text) if text else None
        yield NoParameters(use=use_of(own), params=params, module=module)


def nothing_to_unscale(case: Case, own: Frame) -> Iterator[NothingToUnscale]:
    last = case.frames[-1]
    if not last.place.file.replace("\\", "/").endswith(SCALER) or not last.function.endswith(
        "step"
    ):
        return
    optimizer = last.value("optimizer")
    noted = next((value for value in last.values if "found_inf" in value.text), None)
    if optimizer is None or noted is None or noted.length != 0:
        return
    gradients = case.ask(Gradients)
    if gradients is not None and gradients.present:
        yield NothingToUnscale(use=use_of(own), optimizer=optimizer, gradients=gradients)


def was_empty(crash: Crash) -> bool:
    """The optimizer's own code failed on a list without anything in it."""
    last = crash.frames[-1]
    if not last.place.file.replace("\\", "/").endswith(OPTIMIZER):
        return False
    groups = [value for value in last.values if value.text == "param_groups"]
    return last.function.endswith("__init__") and any(value.length == 0 for value in groups)


def model_asked(source: Source, node: ast.expr) -> str:
    """`model` of `model.parameters()`, also inside a filter, a list or a comprehension."""
    for part in ast.walk(source.value_of(node)):
        match part:
            case ast.Call(func=ast.Attribute(value=model, attr=name)) if name in GIVES_ALL:
                return ast.unparse(model)
    return ""
