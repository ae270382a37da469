"""A model's answers to rows, scored against their targets."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from surefit.data.templates import Tokenizer
from surefit.data.tokens import TokenSet
from surefit.metrics.answers import AnswerScore, exact_match, score, token_f1
from surefit.models.answer import answers


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A score and the answers that it is the mean of, row by row."""

    score: AnswerScore
    predictions: tuple[dict[str, Any], ...]


def evaluate(
    model: Any,
    tokenizer: Tokenizer,
    rows: TokenSet,
    *,
    max_new_tokens: int,
    batch_size: int,
    each: Callable[[int], object] = lambda _: None,
) -> Evaluation:
    """Greedy answers to the last question of each row; a failing batch stops it, never a score."""
    said = answers(
        model,
        tokenizer,
        [tokens.prompt for tokens in rows.tokens],
        max_new_tokens=max_new_tokens,
        batch_size=batch_size,
        each=each,
    )
    targets = [row.target for row in rows.rows]
    predictions = tuple(
        {
            "row": row.number + 1,
            "place": str(row.place),
            "input": row.input,
            "target": row.target,
            "answer": answer,
            "f1": token_f1(answer, row.target),
            "exact_match": exact_match(answer, row.target),
        }
        for row, answer in zip(rows.rows, said, strict=True)
    )
    return Evaluation(score(said, targets), predictions)
