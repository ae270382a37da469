"""A dropout is active in evaluation mode, because `model.eval()` does not reach it.

## What happens
`F.dropout(x, p)` takes `training=True` unless told otherwise: as a function it knows nothing of the
mode of the model. `nn.Dropout(p)(x)` inside `forward` is a new layer each time, and new layers are
in training mode; a layer in a plain list is no part of the model, either.

## Why it matters
Every evaluation drops activations at random: metrics are too low, and differ from call to call.

## What to do
Write `F.dropout(x, p, training=self.training)`, or create an `nn.Dropout` in `__init__`.

## How it is recognised
During calls of a model in evaluation mode, a dropout function with p > 0 was called silently
about `training`, or by a dropout layer in training mode that is no registered part of the model.
Silent where `training=True` is written down (Monte Carlo dropout), and where a registered dropout
layer was put into training mode.
"""

import ast

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.laws.invariants.evaluation_mode import DropoutInEvaluation
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import SetArgument
from surefit.remedies.replace import ReplaceWith
from surefit.source.reading import Source, called

RULE = Rule("SF523", "dropout-always-active", Severity.ERROR, __doc__)

MODE = "self.training"


@RULE.on(DropoutInEvaluation)
def dropout_is_never_off(broken: DropoutInEvaluation, case: Case) -> Finding:
    place = broken.use.place
    source = case.source(place)
    remedies: list[SetArgument | ReplaceWith] = []
    layer = broken.dropout.layer
    for call in calls_at(source, broken) if source is not None else ():
        at = case.expression(source, call) if source is not None else Expression(place)
        if source is None or not is_method(source, call):
            continue
        must = law_holds(broken)
        if not layer:
            words = "Have it follow the mode of the model: `training=self.training`."
            remedies.append(SetArgument(at=at, words=words, name="training", value=MODE, must=must))
        elif text := as_function(source, call):
            words = "Use the function, with the mode of the model."
            remedies.append(
                ReplaceWith(at=at, words=words, text=text, imports=("torch", None), must=must)
            )
    return case.finding(place, broken.said, facts=broken.facts, why=why(broken), remedies=remedies)


def calls_at(source: Source, broken: DropoutInEvaluation) -> list[ast.Call]:
    """The dropouts of its line: of a function, those of its name; of a layer that is created
    there, the call of it."""
    dropout = broken.dropout
    every = list(source.calls_in(broken.use.place.line or 0))
    if not dropout.layer:
        return [call for call in every if called(call) == dropout.function]
    return [
        call
        for call in every
        if isinstance(call.func, ast.Call) and called(call.func) == dropout.layer
    ]


def is_method(source: Source, call: ast.Call) -> bool:
    scope = source.scope_of(call)
    args = scope.args.args if isinstance(scope, ast.FunctionDef) else []
    return bool(args) and args[0].arg == "self"


def as_function(source: Source, call: ast.Call) -> str:
    """`torch.nn.functional.dropout(x, 0.5, training=self.training)` for `nn.Dropout(0.5)(x)`."""
    layer = call.func
    if not isinstance(layer, ast.Call) or called(layer) != "Dropout" or len(call.args) != 1:
        return ""
    rate = source.argument(layer, "p", 0)
    given = source.segment(rate) if rate is not None else "0.5"
    inside = source.segment(call.args[0])
    return f"torch.nn.functional.dropout({inside}, {given}, training={MODE})"


def why(broken: DropoutInEvaluation) -> str:
    if not broken.dropout.layer:
        return (
            "`training` is True for this function unless it is handed over: `model.eval()` does"
            " not reach it, and every evaluation drops activations at random."
        )
    return (
        "This layer is no registered part of the model (it is created in `forward`, or kept in a"
        " plain list), so `model.eval()` does not reach it and it stays in training mode."
    )
