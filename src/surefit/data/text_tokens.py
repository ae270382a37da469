"""Plain texts as tokens: every token is supervised, and a long text becomes several rows."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from .bad_rows import BadRows
from .row import IGNORED, Row, Tokens
from .row_tokenizer import before_every_text
from .templates import Tokenizer
from .token_store import TokenSet, TokenWriter

TEXTS_AT_ONCE = 256
"""Which the tokenizer is given together."""


def tokenize_texts(
    rows: Sequence[Row],
    tokenizer: Tokenizer,
    max_tokens: int,
    each: Callable[[int], object] = lambda _: None,
    *,
    store: Path | None = None,
) -> TokenSet:
    """Texts in pieces of at most `max_tokens`, EOS behind the last; all but the first are seen by
    the loss. The second half of a piece counts as its answer: what a student is to continue.

    The tokens go to a file at `store`, or into memory if there is none. `each` is told how many
    texts were done since it was last called.
    """
    before = before_every_text(tokenizer)
    with TokenWriter(store) as writer:
        for begin in range(0, len(rows), TEXTS_AT_ONCE):
            some = [rows[at] for at in range(begin, min(begin + TEXTS_AT_ONCE, len(rows)))]
            encoded = tokenizer(
                [row.input for row in some],
                add_special_tokens=False,
                # The name of a special token in a text is text: EOS would end it there.
                split_special_tokens=True,
                return_attention_mask=False,
                return_token_type_ids=False,
                verbose=False,
            )
            for at, (row, ids) in enumerate(zip(some, encoded["input_ids"], strict=True), begin):
                for piece in _pieces([*ids, tokenizer.eos_token_id], before, max_tokens):
                    writer.add(at, _tokens(piece, len(before), row.number))
            each(len(some))
        return writer.finish(rows, BadRows())


def _pieces(ids: list[int], before: list[int], most: int) -> Iterator[list[int]]:
    """A single token that is left over is no piece: nothing could be predicted in it."""
    width = most - len(before)
    for begin in range(0, len(ids), width):
        piece = [*before, *ids[begin : begin + width]]
        if begin == 0 or len(piece) > len(before) + 1:
            yield piece


def _tokens(ids: list[int], before: int, number: int) -> Tokens:
    labels = [IGNORED] * before + ids[before:]
    return Tokens(ids, labels, max(before + 1, len(ids) // 2), number)
