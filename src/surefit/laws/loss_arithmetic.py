"""What a number that a loss stands at is made of: a weight, and the cost of a uniform guess."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations
from math import prod

from surefit.doctor.observations import Operation
from surefit.laws.loss_stories import LossStory

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
