"""What the page of a run shows of its rows: lengths, shares, some rows as the model sees them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from surefit.data.order import padding_waste
from surefit.data.row import IGNORED, Tokens
from surefit.data.templates import Tokenizer
from surefit.doctor.findings import Fact
from surefit.render.page.contents import DataShown, Histogram, RowShown, TokenSpan

from .token_rows import Prepared, RowSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from surefit.data.tokens import TokenSet

ROWS = 4
"""Of the first training rows; the longest comes after them."""
MOST_TOKENS = 320
"""Of a row that are shown: of a longer one its beginning and its end."""
BARS = 32
BEFORE = 8
"""Tokens before one, with which it is decoded: some write a space only after another token."""
NO_TEXT = "\ufffd"
"""What a tokenizer writes for a part of a character."""


def shown_tokens(
    settings: RowSettings,
    prepared: Prepared,
    tokenizer: Tokenizer,
    batches: Sequence[Sequence[int]],
    identity: Mapping[str, str],
) -> DataShown:
    """`batches`: the rows that go forward together in the first epoch; empty if they are packed."""
    training, held_out = prepared.train_set, prepared.held_out
    tokens = int(training.lengths.sum())
    longest = int(training.lengths.argmax())
    rows = list(dict.fromkeys([*range(min(ROWS, len(training))), longest]))
    return DataShown(
        facts=tuple(facts_of(settings, prepared)),
        lengths=tuple(
            histogram(name, rows.lengths)
            for name, rows in (("training rows", training), ("held-out rows", held_out))
            if len(rows)
        ),
        unit="tokens",
        supervised_share=int(training.supervised.sum()) / tokens if tokens else None,
        padding_share=padding_waste(training.lengths.tolist(), batches) if batches else None,
        rows=tuple(
            shown_row(training, row, tokenizer, "the longest row" if row == longest else "")
            for row in rows
        ),
        fingerprints=tuple(Fact(name, value) for name, value in identity.items()),
    )


def facts_of(settings: RowSettings, prepared: Prepared) -> list[Fact]:
    training, held_out = prepared.train_set, prepared.held_out
    facts = [
        Fact("source", settings.data),
        Fact("training rows", f"{len(training):,}, {int(training.lengths.sum()):,} tokens"),
        Fact("held-out rows", f"{len(held_out):,}, {int(held_out.lengths.sum()):,} tokens"),
        Fact("template", prepared.template),
        Fact("loss on", settings.loss_on),
    ]
    cut = int((training.cuts > 0).sum())
    if cut:
        facts.append(Fact("truncated prompts", f"{cut:,} rows, to {settings.max_tokens} tokens"))
    if len(training.bad):
        facts.append(Fact("rows skipped", f"{len(training.bad):,}"))
    return facts


def histogram(name: str, lengths: "NDArray[np.int64]") -> Histogram:
    """Bars of equal width from the shortest row to the longest."""
    import numpy as np

    low, high = int(lengths.min()), int(lengths.max())
    width = max(1, -(-(high + 1 - low) // BARS))
    edges = np.arange(low, high + width + 1, width)
    counts, _ = np.histogram(lengths, edges)
    return Histogram(name, tuple(edges.tolist()), tuple(counts.tolist()))


def shown_row(rows: "TokenSet", number: int, tokenizer: Tokenizer, note: str) -> RowShown:
    tokens = rows.tokens[number]
    count = f"{len(tokens.ids):,} tokens, {tokens.supervised:,} supervised"
    said = ", ".join(part for part in (count, note) if part)
    return RowShown(str(rows.rows[number].place), tuple(spans(tokens, tokenizer)), said)


def spans(tokens: Tokens, tokenizer: Tokenizer) -> list[TokenSpan]:
    texts = texts_of(tokens.ids, tokenizer)
    every = [
        TokenSpan(text, label != IGNORED)
        for text, label in zip(texts, tokens.labels, strict=True)
        if text
    ]
    if len(every) <= MOST_TOKENS:
        return every
    half = MOST_TOKENS // 2
    gap = TokenSpan(f"  … {len(every) - 2 * half:,} more tokens …  ", False)
    return [*every[:half], gap, *every[-half:]]


def texts_of(ids: Sequence[int], tokenizer: Tokenizer) -> list[str]:
    """The text that each token adds; "" for all but the last of those that are one character."""
    texts, begin = [], 0
    for at in range(len(ids)):
        before = decoded(ids[max(0, begin - BEFORE) : begin], tokenizer)
        now = decoded(ids[max(0, begin - BEFORE) : at + 1], tokenizer)
        is_part = now.endswith(NO_TEXT) and at + 1 < len(ids) and at - begin < 3
        if is_part:
            texts.append("")
            continue
        added = now[len(before) :] if now.startswith(before) else ""
        texts.append(
            added or " ".join(map(str, tokenizer.convert_ids_to_tokens(list(ids[begin : at + 1]))))
        )
        begin = at + 1
    return texts


def decoded(ids: Sequence[int], tokenizer: Tokenizer) -> str:
    if not ids:
        return ""
    text: str = tokenizer.decode(
        list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False
    )
    return text
