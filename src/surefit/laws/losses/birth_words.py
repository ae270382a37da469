"""Why an operation gave NaN or infinity, in words, from what it was given."""

from math import prod

from surefit.doctor.gradient_births import ForwardValue, TakenOperand

SPREADS = {
    **dict.fromkeys(("std", "std_mean"), "standard deviation"),
    **dict.fromkeys(("var", "var_mean"), "variance"),
}
"""Operations that divide by n - 1, and what they compute."""
MEANS = ("mean", "median", "nanmean", "cross_entropy", "nll_loss", "mse_loss", "l1_loss")
LOGARITHMS = ("log", "log2", "log10", "log_", "xlogy")
ROOTS = ("sqrt", "rsqrt", "sqrt_")
DIVISIONS = ("div", "__truediv__", "true_divide", "__rtruediv__", "div_", "__itruediv__")
HUGE = 1e18
"""Beyond this a product in float32 overflows soon; `exp` does from 89 on."""


def is_of_single_elements(value: ForwardValue) -> bool:
    """A standard deviation, each of a single element."""
    taken = prod(value.operands[0].shape) if value.operands else 0
    return value.name in SPREADS and 0 < taken == max(value.elements, 1)


def is_of_nothing(value: ForwardValue) -> bool:
    return value.name in MEANS and bool(value.operands) and not prod(value.operands[0].shape)


def reason(value: ForwardValue) -> str:
    """As the second half of a sentence; empty where the operands do not tell."""
    first, second = (*value.operands, TakenOperand(), TakenOperand())[:2]
    least, greatest = first.least, first.greatest
    if is_of_single_elements(value):
        what = SPREADS[value.name]
        return f"the sample {what} of a single element divides by n - 1 = 0"
    if is_of_nothing(value):
        return "the mean of no elements is 0 / 0"
    if value.name in LOGARITHMS and least is not None and least <= 0:
        return "the logarithm of a negative number is NaN" if least < 0 else "log(0) is -inf"
    if value.name in ROOTS and least is not None and least < 0:
        return "the square root of a negative number is NaN"
    divisor = first if value.name == "__rtruediv__" else second
    if value.name in DIVISIONS and divisor.zeros:
        return "a division by 0" if not first.zeros else "a division by 0 (0 / 0 is NaN)"
    far = max(abs(least or 0.0), abs(greatest or 0.0), abs(second.greatest or 0.0))
    if far > HUGE or (value.name.startswith("exp") and far > 80):
        return f"it overflows, with numbers up to {far:.3g}"
    return ""
