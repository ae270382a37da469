"""Rows as tokens, a few hundred of them in memory at a time."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from surefit.doctor.findings import Fact, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput

from .bad_rows import BadRow, BadRows
from .row import IGNORED, Row, Tokens
from .row_tokenizer import RowTokenizer
from .templates import Tokenizer
from .token_store import TokenSet, TokenWriter

__all__ = ["IGNORED", "RowTokenizer", "TokenSet", "Tokens", "check_tokenizer", "tokenize"]

NO_EOS = refusal(
    "SF151", "no-end-token", "The tokenizer has no EOS token, so answers could never end."
)
NO_PAD = refusal("SF152", "no-pad-token", "The tokenizer has no token to fill a batch with.")

ROWS_AT_ONCE = 256
"""Whose texts the tokenizer is given together."""


def tokenize(
    rows: Sequence[Row],
    to_tokens: RowTokenizer,
    each: Callable[[int], object] = lambda _: None,
    *,
    store: Path | None = None,
) -> TokenSet:
    """The tokens go to a file at `store`, or into memory if there is none. `each` is told how many
    rows were done since it was last called."""
    bad = BadRows()
    with TokenWriter(store) as writer:
        for at, made in enumerate(_made(rows, to_tokens, each)):
            bad.add(made) if isinstance(made, BadRow) else writer.add(at, made)
        return writer.finish(rows, bad)


def _made(
    rows: Sequence[Row], to_tokens: RowTokenizer, each: Callable[[int], object]
) -> Iterator[Tokens | BadRow]:
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        some = [rows[at] for at in range(begin, min(begin + ROWS_AT_ONCE, len(rows)))]
        yield from to_tokens.many(some)
        each(len(some))


def check_tokenizer(tokenizer: Tokenizer, name: str) -> None:
    """Raises `BadInput` for a tokenizer that cannot end an answer or fill a batch."""
    specials = Fact("special tokens", str(dict(tokenizer.special_tokens_map)))
    if tokenizer.eos_token_id is None:
        raise BadInput(
            NO_EOS.finding(
                Place(name),
                f"The tokenizer of `{name}` has no EOS token, so the model could not learn to end "
                "an answer.",
                facts=[specials],
                fixes=[Fix("Set `eos_token` in its tokenizer_config.json, or take another model.")],
            )
        )
    if tokenizer.pad_token_id is None:
        raise BadInput(
            NO_PAD.finding(
                Place(name),
                f"The tokenizer of `{name}` has no pad token to fill a batch with.",
                facts=[specials],
                why="Padding is masked by position, not by id, so any token can be used.",
                fixes=[Fix(f"Name one:  --pad-token '{tokenizer.eos_token}'")],
            )
        )
