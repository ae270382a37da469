"""A clamp holds back every value on the way to the loss, so that no gradient passes.

## What happens
Beyond its bounds a clamp gives the bound itself: its slope there is zero. If every element lies
beyond, the gradient of every parameter before it is exactly zero. For a classifier whose logits all
come to one bound, the loss is the logarithm of the number of classes.

## Why it matters
Nothing is reported. The loss is finite, gradients are there, the optimizer steps. No learning rate
helps: it is multiplied by zero. The logits of published GPT-2 weights lie near -60: bounds of ±10,
put in against overflow in float16, hold back all of them.

## What to do
Remove the clamp. Logits of any size are safe in `cross_entropy`, which subtracts the greatest
one first; where numbers really overflow, find out which, and compute that part in float32.

## How it is recognised
Every gradient of every parameter that an optimizer holds was there and exactly zero, at every step
looked at. A second run, which records operations, shows a clamp (`clamp`, `clip`, `hardtanh`,
`relu6`, `hardsigmoid`, `minimum` or `maximum` with a number) beyond whose bounds lies every element
at the first step, and no other way from the loss to a parameter. A loss of exactly zero is not
reported: there a margin is kept, and nothing is left to learn.
"""

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations
from math import prod

from surefit.doctor.conditions.parameters import GradientsFlow
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Operation, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import code, counted, spoken
from surefit.laws.case import Case
from surefit.laws.invariants.weights_learn import EveryGradientZero
from surefit.laws.losses.loss_stories import LossStory, story_of_loss
from surefit.laws.training.made_names import names_of_made
from surefit.remedies.without_clamp import (
    CLAMPS,
    clamp_call,
    clamp_layer,
    held_back,
    without_clamp,
)
from surefit.source.edits import replaced
from surefit.source.reading import Source, called

RULE = Rule("SF401", "saturated-logits", Severity.ERROR, __doc__)

PROOF_STEPS = 2
SAFE = ("binary_cross_entropy_with_logits", "cross_entropy")
"""Losses that take logits of any size."""

CROSS_ENTROPIES = ("cross_entropy", "nll_loss", "nll_loss_nd", "cross_entropy_loss")

PRODUCTS = ("mul", "mul_", "div", "div_", "truediv")

PRECISION = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}
"""Bits of a number's fraction."""

CLOSE = 1e-5


@dataclass(frozen=True, slots=True)
class UniformGuess:
    """A loss that is a weight times the cross entropy of a uniform distribution."""

    loss: float
    classes: int
    cost: float
    """As it was computed, in `dtype`."""
    dtype: str
    weights: tuple[float, ...]
    """Numbers of the source that the cost is multiplied by; none where it is the loss itself."""

    @property
    def words(self) -> str:
        """`= 0.9 × 10.828; 10.828 is ln 50257 (10.8249) in float16, a uniform guess`."""
        cost, exact = f"{self.cost:.5g}", f"{math.log(self.classes):.6g}"
        product = " × ".join([*(f"{weight:g}" for weight in self.weights), cost])
        begin = f"= {product}; {cost} is " if self.weights else "= "
        return f"{begin}ln {self.classes} ({exact}) in {self.dtype}, the cost of a uniform guess"


@RULE.on(EveryGradientZero)
def no_gradient_passes_a_clamp(broken: EveryGradientZero, case: Case) -> Finding | None:
    steps, recording = broken.trained, case.recording
    story = story_of_loss(recording, 0)
    clamp = closed_clamp(story) if story else None
    if story is None or clamp is None or clamp.place is None or story.past_clamps:
        return None
    source = recording.source(clamp.place)
    call = clamp_call(source, clamp) if source else None
    layer = clamp_layer(source, clamp) if source else None
    return case.finding(
        Place(clamp.place.file, layer.lineno, layer.end_lineno) if layer else clamp.place,
        headline(clamp, source, call or layer),
        facts=tuple(facts(clamp, steps, story, source, recording)),
        ruled_out=tuple(ruled_out(steps)),
        why="Beyond its bounds a clamp is constant, and the slope of a constant is zero: every"
        " parameter before it gets a gradient of exactly zero, at every step.",
        remedies=(fix(source, call, layer, story),),
    )


def closed_clamp(story: LossStory) -> Operation | None:
    """The first one on the way back from the loss that lets nothing through."""
    return next(
        (one for one in story.operations if one.elements and one.saturated == one.elements), None
    )


def headline(clamp: Operation, source: Source | None, call: ast.Call | None) -> str:
    what = code(source.segment(call)) if source and call else f"`{clamp.name}`"
    given = held_back(source, call) if source and call else None
    of = f" of {code(source.segment(given))}" if source and given else ""
    many = "the one element" if clamp.elements == 1 else f"all {clamp.elements:,} elements"
    return f"{what} holds back {many}{of}: no gradient passes it, and nothing learns."


def facts(
    clamp: Operation, steps: Steps, story: LossStory, source: Source | None, seen: Recording
) -> Iterator[Fact]:
    yield Fact("its bounds", spoken(f"{bound:g}" for bound in clamp.numbers))
    if not clamp.own and clamp.inside is not None:
        yield Fact("inside", f"{clamp.name} at {clamp.inside}")
    if clamp.least is not None and clamp.greatest is not None:
        yield Fact("what goes in", f"{clamp.least:.3g} … {clamp.greatest:.3g}, at the first step")
    present = [one for one in steps.parameters if one.looked > one.absent]
    looked = f"at each of {counted(max(one.looked for one in present), 'step')} looked at"
    yield Fact("gradients", f"exactly zero in {counted(len(present), 'parameter')}, {looked}")
    yield Fact("loss", loss_in_words(steps))
    guess = uniform_guess(story, steps.losses[0][1]) if steps.losses else None
    if guess is not None:
        yield Fact(f"{guess.loss:.5g}", guess.words)
    yield from never_run(steps, story, seen)
    if source is not None and clamp.place is not None:
        yield from again(source, clamp.place.line or 0)


def loss_in_words(steps: Steps) -> str:
    least, greatest = steps.least_loss or 0.0, steps.greatest_loss or 0.0
    if f"{least:.5g}" == f"{greatest:.5g}":
        return f"{least:.5g}, each of {counted(steps.backwards, 'time')}"
    return f"{least:.5g} … {greatest:.5g}, by what each batch holds and by nothing learned"


def never_run(steps: Steps, story: LossStory, seen: Recording) -> Iterator[Fact]:
    """Models that nobody called, where a term of the loss is a plain zero."""
    zero = next((one for one in story.operations if one.result == 0.0 and not one.takes), None)
    if zero is None or zero.place is None:
        return
    for root in steps.roots:
        if root.training == root.evaluating == root.nested == 0 and root.made_at is not None:
            beside = [one.serial for one in steps.roots if one.made_at == root.made_at]
            names = names_of_made(seen.source(root.made_at), root.made_at, beside)
            yield Fact(
                f"`{names.get(root.serial) or root.kind}`",
                f"created at {root.made_at} and never run;"
                f" a term of the loss is the 0 of {zero.place}",
            )


def again(source: Source, line: int) -> Iterator[Fact]:
    """The same clamp in other lines: taking one away leaves them."""
    text = next((source.segment(one) for one in source.calls_in(line) if called(one) in CLAMPS), "")
    calls = source.every(ast.Call) if text else ()
    others = [one.lineno for one in calls if one.lineno != line and source.segment(one) == text]
    if others:
        yield Fact("the same again", f"at line {spoken(map(str, sorted(others)))}")


def ruled_out(steps: Steps) -> Iterator[Fact]:
    rates = sorted({one.highest_rate for one in steps.optimizers})
    used = f" ({spoken(f'{rate:g}' for rate in rates)} was used)" if rates else ""
    yield Fact("learning rate", f"times zero it is zero{used}")
    yield Fact("lost updates", "none was meant: the gradient itself is zero")
    if steps.skipped == 0:
        yield Fact("skipped steps", f"none of {counted(steps.steps, 'step')} was left out")
    if not steps.outside:
        held = counted(len(steps.parameters), "parameter")
        yield Fact("not in the optimizer", f"nothing: it holds {held}, all that take part")


def fix(
    source: Source | None, call: ast.Call | None, layer: ast.Call | None, story: LossStory
) -> Fix:
    must = GradientsFlow(changes_the_past=True, steps=PROOF_STEPS)
    if source is not None and layer is not None and isinstance(layer.func, ast.Attribute):
        identity = f"{source.segment(layer.func.value)}.Identity()"
        words = f"If the bounds are not needed, `{identity}` in place of this layer."
        return Fix(words, replaced(source, layer, identity), must, choice=True)
    edit = without_clamp(source, call) if source and call else None
    if edit is None:
        return Fix("Remove the bounds, or set them beyond what goes in.", choice=True)
    safe = next((name for name in SAFE if name in {one.name for one in story.operations}), None)
    more = f"; `{safe}` takes logits of any size" if safe else ""
    return Fix(f"Remove the clamp{more}.", edit, must)


def uniform_guess(story: LossStory, loss: float) -> UniformGuess | None:
    """None unless weights of the story itself lead from the cost to the loss."""
    for entropy in story.operations:
        classes = classes_of(entropy, story)
        if classes < 2:
            continue
        for cost in costs(entropy, story):
            weights = weights_of(loss / cost, story)
            if is_uniform(cost, classes, entropy.dtype) and weights is not None:
                return UniformGuess(loss, classes, cost, entropy.dtype, weights)
    return None


def classes_of(entropy: Operation, story: LossStory) -> int:
    given = story.by_serial(entropy.takes[0]) if entropy.takes else None
    if entropy.name not in CROSS_ENTROPIES or given is None or not given.shape:
        return 0
    return given.shape[1] if len(given.shape) > 1 else given.shape[0]


def costs(entropy: Operation, story: LossStory) -> Iterator[float]:
    """The single numbers that the entropy, or the mean of several, came to."""
    for one in reversed(story.operations):
        if one.serial >= entropy.serial and one.grad and one.result:
            yield one.result


def is_uniform(cost: float, classes: int, dtype: str) -> bool:
    """Within a unit in the last place of the type that it was computed in."""
    spacing = 2.0 ** (math.floor(math.log2(cost)) - min(PRECISION.get(dtype, 23), 16))
    return cost > 0 and abs(cost - math.log(classes)) <= spacing


def weights_of(factor: float, story: LossStory) -> tuple[float, ...] | None:
    """The numbers of the story whose product is the factor."""
    if abs(factor - 1) < CLOSE:
        return ()
    products = (one for one in story.operations if one.name in PRODUCTS and one.grad)
    found = list(dict.fromkeys(number for one in products for number in multipliers(one, story)))
    for count in (1, 2, 3):
        for several in combinations(found[:8], count):
            if abs(prod(several) / factor - 1) < CLOSE:
                return several
    return None


def multipliers(product: Operation, story: LossStory) -> Iterator[float]:
    taken = (story.by_serial(serial) for serial in product.takes)
    beside = (one.result for one in taken if one is not None and not one.grad)
    for number in chain(product.numbers, beside):
        if number:
            yield 1 / number if product.name.startswith(("div", "true")) else number
