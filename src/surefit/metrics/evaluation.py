"""A model's answers to rows, scored against their targets."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from surefit.data.row_tokenizer import to_write
from surefit.data.templates import Tokenizer
from surefit.data.tokens import TokenSet
from surefit.metrics.answers import AnswerScore, exact_match, score, token_f1
from surefit.models.answer import ALL, Share, shared_answers

Answered = list[tuple[int, str]]
"""The places of rows and what was answered there."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A score and the answers that it is the mean of, row by row."""

    score: AnswerScore
    """Means over the rows: `f1`, `exact_match`, and how many `rows` they are over."""

    predictions: tuple[dict[str, Any], ...]
    """For each row its `place`, `input`, `target`, `answer` and figures."""


def evaluate(
    model: Any,
    tokenizer: Tokenizer,
    rows: TokenSet,
    *,
    max_new_tokens: int,
    batch_size: int,
    share: Share = ALL,
    gathered: Callable[[Answered], Answered] = list,
    each: Callable[[int], object] = lambda _: None,
) -> Evaluation:
    """Greedy answers to the last question of each row; a failing batch stops it, never a score.

    Processes that share the rows all get the evaluation of every row.
    """
    mine = shared_answers(
        model,
        tokenizer,
        [tokens.prompt for tokens in rows.tokens],
        max_new_tokens=max_new_tokens,
        batch_size=batch_size,
        share=share,
        each=each,
    )
    texts = dict(gathered(list(mine.items())))
    said = [texts[index] for index in range(len(rows))]
    targets = [
        to_write(row, tokens, tokenizer) for row, tokens in zip(rows.rows, rows.tokens, strict=True)
    ]
    predictions = tuple(
        {
            "row": row.number + 1,
            "place": str(row.place),
            "input": row.input,
            "target": target,
            "answer": answer,
            "f1": token_f1(answer, target),
            "exact_match": exact_match(answer, target),
        }
        for row, answer, target in zip(rows.rows, said, targets, strict=True)
    )
    return Evaluation(score(said, targets), predictions)
