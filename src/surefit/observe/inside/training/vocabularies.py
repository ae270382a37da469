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
"""Tokens of a vocabulary that is still read; reading 50,000 takes about 20 ms."""

_seen: list[VocabulariesSeen] = []


def look() -> None:
    """Once, at the first look that finds two of them."""
    if _seen or LIBRARY not in sys.modules:
        return
    kind = sys.modules[LIBRARY].PreTrainedTokenizerBase
    found = [one for one in origins.alive(kind) if not own_code.own_class(type(one))]
    if not 2 <= len(found) <= MOST:
        return
    read = [(one, tokens) for one in found if (tokens := _tokens(one)) is not None]
    for (first, tokens), (second, others) in combinations(read, 2):
        _seen.append(_compared(first, tokens, second, others))


def _tokens(tokenizer: Any) -> dict[int, str] | None:
    size = len(tokenizer)
    if not 0 < size <= LARGEST:
        return None
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
