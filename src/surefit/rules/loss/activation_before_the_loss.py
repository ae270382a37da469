"""A loss that takes logits is given the output of `softmax` or `sigmoid`.

## What happens
`cross_entropy` applies `log_softmax` to its input, and `binary_cross_entropy_with_logits` applies
`sigmoid`. A model that ends in `softmax` or `sigmoid` has it applied twice. `nll_loss` takes
log-probabilities: probabilities, or logits as they are, give a number that is no likelihood.

## Why it matters
Nothing is raised, and the loss falls a little. Probabilities lie between 0 and 1, so after a second
softmax the best class of ten can get at most 0.23: the loss cannot fall below 1.46, gradients are
small, and training stops early at a low accuracy.

## What to do
Return logits from the model, and apply `softmax` or `sigmoid` only where probabilities are needed:
when predicting. `argmax` is the same for both. Or use the loss that takes what the model gives:
`nn.BCELoss` for probabilities, `nn.NLLLoss` for `log_softmax`.

## How it is recognised
At every call looked at, the graph says which operation the predictions came out of, views aside.
`nll_loss` is also recognised by numbers above zero, which no logarithm of a probability is.
`log_softmax` before `cross_entropy` changes nothing and is not reported.
"""

import re
from collections.abc import Iterator
from math import e, log

from surefit.doctor.findings import Fact, Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.layers.last_activations import (
    MODULES,
    Activation,
    activation_before,
    without_activation,
)
from surefit.laws.losses.loss_calls import CLASSES, WrittenLoss, loss_call_at, sibling
from surefit.laws.losses.loss_predictions import NotLogits
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.edits import replaced
from surefit.source.patches import Edit
from surefit.source.reading import called

RULE = Rule("SF421", "activation-before-the-loss", Severity.ERROR, __doc__)

THRESHOLD = re.compile(r">=?\s*0?\.5\b|\bround\(")
"""Probabilities are turned into decisions."""


@RULE.on(NotLogits)
def predictions_are_no_logits(broken: NotLogits, case: Case) -> Finding:
    loss = loss_call_at(case, broken.site.place, broken.site.name)
    operation = broken.operation
    activation = activation_before(case, operation, loss) if operation else None
    return case.finding(
        place_of(broken, loss, activation),
        headline(broken),
        facts=(*broken.facts, *floor(broken)),
        why=why(broken),
        remedies=remedies(broken, case, loss, activation),
    )


def place_of(broken: NotLogits, loss: WrittenLoss | None, activation: Activation | None) -> Place:
    if activation is not None:
        call = activation.call
        return Place(activation.source.file, call.lineno, call.end_lineno)
    if loss is not None and not broken.operation:
        return loss.place
    return broken.use.place


def headline(broken: NotLogits) -> str:
    loss = code(CLASSES.get(broken.site.name, broken.site.name))
    if not broken.operation:
        return f"{loss} takes log-probabilities and is given logits as they are: no `log_softmax`."
    itself = {
        "cross_entropy": " and applies `log_softmax` again",
        "binary_cross_entropy_with_logits": " and applies `sigmoid` again",
    }
    return (
        f"`{broken.operation}` is applied before {loss}, which takes {broken.takes}"
        f"{itself.get(broken.site.name, '')}."
    )


def floor(broken: NotLogits) -> Iterator[Fact]:
    """What the loss cannot fall below, with as many classes."""
    site = broken.site
    widest = {"softmax": 1.0, "sigmoid": 1.0, "tanh": 2.0}.get(broken.operation)
    if site.name == "cross_entropy" and widest and site.classes > 1:
        least = log(1 + (site.classes - 1) / e**widest)
        yield Fact("the loss cannot fall below", f"{least:.3f}, with {site.classes} classes")


def why(broken: NotLogits) -> str:
    name = broken.site.name
    if name == "cross_entropy":
        return (
            "`cross_entropy` applies `log_softmax` itself: softmax is then applied twice, every"
            " class keeps a part of the probability, and gradients are small."
        )
    if name == "nll_loss":
        return "`nll_loss` only picks the number of the right class: it applies no logarithm."
    return (
        "The loss applies `sigmoid` itself: numbers of a bounded range become probabilities near"
        " one half, and a confident prediction cannot be made."
    )


def remedies(
    broken: NotLogits, case: Case, loss: WrittenLoss | None, activation: Activation | None
) -> list[Remedy]:
    must = law_holds(broken)
    removal = without_activation(activation) if activation is not None else None
    name, operation = broken.site.name, broken.operation
    found: list[Remedy] = []
    if name == "nll_loss":
        if activation is not None and operation == "softmax":
            words = "Use `log_softmax`, which gives the logarithms."
            found.append(Change(to=as_logarithm(activation), words=words, must=must))
        elif loss is not None and not operation:
            words = "Use `cross_entropy`, which takes logits."
            found.append(Change(to=sibling(loss, "cross_entropy"), words=words, must=must))
        return found
    words = f"Give the loss logits: leave `{operation}` out."
    found.append(Change(to=removal, words=words, must=must))
    if name == "binary_cross_entropy_with_logits" and operation == "sigmoid" and loss is not None:
        words = f"Keep `{operation}`, and use the loss that takes probabilities: `BCELoss`."
        other = Change(to=sibling(loss, "binary_cross_entropy"), words=words, must=must)
        found.insert(0 if wants_probabilities(case, operation, activation) else 1, other)
    return found


def wants_probabilities(case: Case, operation: str, activation: Activation | None) -> bool:
    """The script turns outputs into decisions at 0.5, and nowhere else applies the activation."""
    sources = list(case.recording.sources())
    applied = [
        call
        for source in sources
        for call in source.calls_named(operation)
        if (activation is None or call is not activation.call)
    ]
    return not applied and any(THRESHOLD.search(source.text) for source in sources)


def as_logarithm(activation: Activation) -> Edit:
    source, function = activation.source, activation.call.func
    text = source.segment(function).removesuffix(called(activation.call))
    name = MODULES["log_softmax"] if activation.is_module else "log_softmax"
    return replaced(source, function, f"{text}{name}")
