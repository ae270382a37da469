"""Tokenizers that exist while a model is trained, compared two by two: do they mean the same by an
id."""

import sys
from itertools import combinations
from typing import Any

from surefit.doctor.observations import VocabulariesSeen
from surefit.observe.inside import finishing, origins, own_code

LIBRARY = "transformers.tokenization_utils_base"
MOST = 3
LARGEST = 400_000
"""Tokens of a vocabulary that is still read; two of 50,000 took 0.28 s on a busy core."""
ASKED = 256
"""Ids that are compared first: only where one of them differs are all read."""

_seen: list[VocabulariesSeen] = []
_looked: list[int] = []


def look() -> None:
    """Once, at the first look that finds two of them."""
    if _looked or LIBRARY not in sys.modules:
        return
    kind = sys.modules[LIBRARY].PreTrainedTokenizerBase
    found = [one for one in origins.alive(kind) if not own_code.own_class(type(one))]
    if not 2 <= len(found) <= MOST:
        return
    _looked.append(len(found))
    for first, second in combinations(found, 2):
        if _differ(first, second):
            tokens, others = _tokens(first), _tokens(second)
            _seen.append(_compared(first, tokens, second, others))


def _differ(first: Any, second: Any) -> bool:
    size = min(len(first), len(second))
    if not 0 < size <= max(len(first), len(second)) <= LARGEST:
        return False
    some = list(range(0, size, max(1, size // ASKED)))
    return bool(first.convert_ids_to_tokens(some) != second.convert_ids_to_tokens(some))


def _tokens(tokenizer: Any) -> dict[int, str]:
    return {number: token for token, number in tokenizer.get_vocab().items()}


def _compared(
    first: Any, tokens: dict[int, str], second: Any, others: dict[int, str]
) -> VocabulariesSeen:
    shared = sorted(tokens.keys() & others.keys())
    differing = [number for number in shared if tokens[number] != others[number]]
    at = differing[0] if differing else None
    return VocabulariesSeen(
        (origins.made_at(first), origins.made_at(second)),
        (origins.serial(first), origins.serial(second)),
        (len(tokens), len(others)),
        len(shared),
        len(differing),
        at,
        (tokens[at], others[at]) if at is not None else (),
    )


def seen() -> tuple[VocabulariesSeen, ...]:
    return tuple(_seen)


@finishing.after_fork
def forget_parent() -> None:
    _seen.clear()
    _looked.clear()
