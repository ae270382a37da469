"""The activation in the user's source that predictions come out of."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.laws.case import Case
from surefit.laws.losses.loss_calls import WrittenLoss
from surefit.source.edits import replaced
from surefit.source.origins import origin
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

MODULES = {
    "softmax": "Softmax",
    "log_softmax": "LogSoftmax",
    "sigmoid": "Sigmoid",
    "logsigmoid": "LogSigmoid",
    "tanh": "Tanh",
    "relu": "ReLU",
}


@dataclass(frozen=True, slots=True)
class Activation:
    """A call in the source: of a function, a method, or a module's class."""

    source: Source
    call: ast.Call
    is_module: bool

    @property
    def argument(self) -> ast.expr | None:
        """What it is applied to; not known for a module."""
        call = self.call
        if self.is_module:
            return None
        if isinstance(call.func, ast.Attribute) and not self.source.imported(call.func):
            return call.func.value
        return self.source.argument(call, "input", 0)


def activation_before(case: Case, operation: str, loss: WrittenLoss | None) -> Activation | None:
    """The one that the predictions of a loss come from: given to it directly, returned by a model,
    the last layer of one, or the only one there is."""
    every = [
        activation
        for source in case.recording.sources()
        for activation in activations_in(source, operation)
    ]
    if loss is not None and loss.predictions is not None:
        direct = origin(loss.source, loss.predictions)
        here = [activation for activation in every if activation.call in (loss.predictions, direct)]
        if len(here) == 1:
            return here[0]
    for likely in (is_returned, is_last_layer, always):
        chosen = [activation for activation in every if likely(activation)]
        if len(chosen) == 1:
            return chosen[0]
        if chosen:
            return None
    return None


def activations_in(source: Source, operation: str) -> Iterator[Activation]:
    for call in source.every(ast.Call):
        if called(call) == operation:
            yield Activation(source, call, is_module=False)
        elif called(call) == MODULES.get(operation):
            yield Activation(source, call, is_module=True)


def is_returned(activation: Activation) -> bool:
    """`return torch.sigmoid(self.head(x))`, as it is or by a name, of a model's `forward`."""
    source, call = activation.source, activation.call
    scope = source.scope_of(call)
    if activation.is_module or getattr(scope, "name", "") != "forward":
        return False
    returned = [node.value for node in ast.walk(scope) if isinstance(node, ast.Return)]
    return any(value is not None and is_from(source, value, call) for value in returned)


def is_from(source: Source, value: ast.expr, call: ast.Call) -> bool:
    while isinstance(value, ast.Call) and value is not call:
        if not (isinstance(value.func, ast.Attribute) and value.func.attr.startswith("squeeze")):
            break
        value = value.func.value
    return value is call or origin(source, value) is call


def is_last_layer(activation: Activation) -> bool:
    """The last argument of an `nn.Sequential`, or a layer that stands by itself."""
    if not activation.is_module:
        return False
    parent = activation.source.parents.get(activation.call)
    if isinstance(parent, ast.Call) and called(parent) == "Sequential":
        return parent.args[-1] is activation.call
    return isinstance(parent, ast.Assign)


def always(_: Activation) -> bool:
    return True


def without_activation(activation: Activation) -> Edit | None:
    """What it was applied to, in its place."""
    source, call = activation.source, activation.call
    if activation.is_module:
        before = source.segment(call.func).removesuffix(called(call))
        return replaced(source, call, f"{before}Identity()")
    argument = activation.argument
    return replaced(source, call, source.segment(argument)) if argument is not None else None
