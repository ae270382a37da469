"""Which metrics the words before a printed number name, and what such a number cannot be."""

import re
from functools import cache

from surefit.doctor.scoring.metrics import AVERAGES, CLASSES, METRICS

ACCURACIES = ("accuracy", "number right", "top ", "exact match", "balanced accuracy")
LOSS_LIKE = tuple(metric.name for metric in METRICS if metric.kind != CLASSES)
PERPLEXITY = re.compile(r"perplex|\bppl", re.IGNORECASE)
SQUARES = re.compile(r"\b(?:rmse|mse|mae)\b", re.IGNORECASE)
ACCURACY = re.compile(
    r"(?<![a-z])acc(?:uracy)?(?![a-z])|correct|(?<![a-z])hits?(?![a-z])|top-?\d", re.IGNORECASE
)
NOT_ITSELF = re.compile(r"log|neg|delta|diff|change|gain|drop|improve|[-+]$|ratio", re.IGNORECASE)

WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (ACCURACY.pattern, ACCURACIES),
    (r"exact[ _-]?match|(?<![a-z])em(?![a-z])", ("exact match", "accuracy")),
    (r"balanced[ _-]?acc(?:uracy)?", ("balanced accuracy", "recall macro")),
    (r"(?<![a-z])mrr(?![a-z])|reciprocal[ _-]?rank", ("reciprocal rank",)),
    (r"(?<![a-z])(?:f-?1(?!\d)|f-?score|dice)(?:[ _-]?score)?", ("F1 ",)),
    (r"precision", ("precision ",)),
    (r"recall|sensitivity|(?<![a-z])tpr(?![a-z])", ("recall ", "balanced accuracy")),
    (r"(?<![a-z])m?iou(?![a-z])|jaccard", ("IoU ",)),
    (r"(?<![a-z])(?:roc[ _-]?)?auc(?:[ _-]?roc)?(?![a-z])|auroc", ("area under the curve",)),
    (r"average[ _-]precision|(?<![a-z])(?:pr[ _-]?auc|auprc)(?![a-z])", ("average precision",)),
    (r"(?<![a-z])r2(?![a-z])|r[ _-]?squared|r²", ("R squared",)),
    (r"(?<![a-z])mape(?![a-z])", ("mean absolute percentage error",)),
    (
        r"(?<![a-z])rmse(?![a-z])|root[ _-]mean[ _-]sq\w*",
        ("root of the mean squared error", "root of "),
    ),
    (r"(?<![a-z])mae(?![a-z])", ("mean absolute error", "loss")),
    (r"(?<![a-z])(?:mean[ _-])?err(?:or)?s?[ _-]rate", ("error rate",)),
    (
        r"loss|nll|entropy|(?<![a-z])(?:mse|l1|l2)(?![a-z])|error|perplex\w*|(?<![a-z])ppl",
        LOSS_LIKE,
    ),
)
AVERAGED = re.compile(r"macro|micro|weighted", re.IGNORECASE)


def tail(label: str) -> str:
    """The words since the last separator: `val ppl` of `train loss, val ppl`."""
    return re.split(r"[,|;]", label)[-1]


@cache
def named_by(label: str) -> frozenset[str]:
    """Names of metrics, by the last words that name some; none where nothing is named."""
    last = tail(label)
    found = [
        (match.end(), match.end() - match.start(), names)
        for pattern, names in WORDS
        for match in re.finditer(pattern, last, re.IGNORECASE)
    ]
    if not found:
        return frozenset()
    _, _, names = max(found, key=lambda entry: entry[:2])
    every = [metric.name for metric in METRICS if is_among(metric.name, names)]
    average = AVERAGED.search(last)
    if average is None:
        return frozenset(every)
    kept = [name for name in every if average[0].lower() in name or not is_averaged(name)]
    return frozenset(kept)


def is_among(name: str, names: tuple[str, ...]) -> bool:
    """By name, or by its beginning where that ends with a space."""
    return any(name == known or (known.endswith(" ") and name.startswith(known)) for known in names)


def is_averaged(name: str) -> bool:
    return name.endswith(AVERAGES)


def names_a_loss(named: frozenset[str]) -> bool:
    """Which can be anything that is minimised."""
    return named.issuperset(LOSS_LIKE)


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
