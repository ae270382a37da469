"""How well answers match their targets: token F1 and exact match, as SQuAD counts them."""

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """Means over rows; each row counts the same, however long its target."""

    f1: float
    exact_match: float
    rows: int


def score(answers: Sequence[str], targets: Sequence[str]) -> AnswerScore:
    pairs = list(zip(answers, targets, strict=True))
    if not pairs:
        raise ValueError("there is no row to score")
    return AnswerScore(
        f1=sum(token_f1(answer, target) for answer, target in pairs) / len(pairs),
        exact_match=sum(exact_match(answer, target) for answer, target in pairs) / len(pairs),
        rows=len(pairs),
    )


def token_f1(answer: str, target: str) -> float:
    """The harmonic mean of precision and recall over words; 1 if both are empty."""
    said, wanted = _words(answer), _words(target)
    if not said or not wanted:
        return float(said == wanted)
    shared = sum((Counter(said) & Counter(wanted)).values())
    return 2 * shared / (len(said) + len(wanted))


def exact_match(answer: str, target: str) -> bool:
    return _words(answer) == _words(target)


def _words(text: str) -> list[str]:
    """Lower case, without punctuation and articles."""
    return _ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()
