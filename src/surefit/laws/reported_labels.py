"""What the words before a printed number say that it is, and what such a number cannot be."""

import re

ACCURACY = re.compile(
    r"(?<![a-z])acc(?:uracy)?(?![a-z])|correct|(?<![a-z])hits?(?![a-z])|top-?\d", re.IGNORECASE
)
LOSS = re.compile(
    r"loss|perplex|\bppl|nll|entropy|\bmse|\bmae|rmse|\bl1\b|\bl2\b|error", re.IGNORECASE
)
SCORE = re.compile(r"(?<![a-z])f-?1(?!\d)|f-?score|precision|recall", re.IGNORECASE)
PERPLEXITY = re.compile(r"perplex|\bppl", re.IGNORECASE)
SQUARES = re.compile(r"\b(?:rmse|mse|mae)\b", re.IGNORECASE)
NOT_ITSELF = re.compile(r"log|neg|delta|diff|change|gain|drop|improve|[-+]$|ratio", re.IGNORECASE)

FAMILIES = {"accuracy": "accuracy", "loss": "loss", "numbers": "loss", "score": "score"}
"""Family of a formula -> family of a label."""


def family_of(label: str) -> str:
    """`accuracy`, `loss`, `score`, or empty: by the last word that says one of them."""
    last = tail(label)
    words = {"accuracy": ACCURACY, "loss": LOSS, "score": SCORE}
    found = [
        (match.start(), family)
        for family, pattern in words.items()
        for match in pattern.finditer(last)
    ]
    return max(found)[1] if found else ""


def tail(label: str) -> str:
    """The words since the last separator: `val ppl` of `train loss, val ppl`."""
    return re.split(r"[,|;]", label)[-1]


def is_impossible(label: str, value: float) -> str:
    """Why; empty where the number is possible."""
    last = tail(label)
    if NOT_ITSELF.search(last):
        return ""
    if PERPLEXITY.search(last) and value < 0.999:
        return "a perplexity is the exponential of a loss that is not negative, so at least 1"
    if SQUARES.search(last) and value < 0:
        return "a mean of squares or absolute values is not negative"
    if ACCURACY.search(last) and (value < 0 or value > 100.001):
        return "an accuracy is a share of all rows, from 0 to 1 (or to 100 %)"
    return ""
