"""Turns of a row as token ids, and which of them the loss sees.

An answer ends with EOS, always: truncation takes from the prompt alone. Prompt and answer are
tokenised apart and their ids joined, so that what the model learns to continue is token for token
what it is given when it generates.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from surefit.doctor.findings import Fact, Fix
from surefit.doctor.rule import refusal

from .bad_rows import BadRow, shown
from .row import IGNORED, Row, Tokens
from .templates import Piece, Template, Tokenizer, Unusable

TOO_LONG = refusal(
    "SF156", "target-too-long", "A target does not fit into the limit, even without its prompt."
)


@dataclass(frozen=True)
class RowTokenizer:
    """Rows to tokens, by one tokenizer and one template, none longer than `max_tokens`."""

    tokenizer: Tokenizer
    template: Template
    max_tokens: int
    loss_on_all: bool = False

    def __call__(self, row: Row) -> Tokens:
        """Raises `Unusable` if the row does not fit even without its prompt."""
        tokens = self._whole(row)
        if len(tokens.ids) <= self.max_tokens:
            return tokens
        kept = row
        while shorter := _without_oldest_exchange(kept):
            kept, tokens = shorter, self._whole(shorter)
            if len(tokens.ids) <= self.max_tokens:
                break
        else:
            tokens, kept = self._cut(kept)
        return replace(tokens, cut=_characters(row) - _characters(kept))

    def many(self, rows: Sequence[Row]) -> Iterator[Tokens | BadRow]:
        """The same row by row, but the tokenizer is asked once for all that fit as they are."""
        pieces = [self._pieces(row) for row in rows]
        texts = [piece.text for some in pieces if isinstance(some, list) for piece in some]
        encoded = iter(self._ids(texts))
        for row, some in zip(rows, pieces, strict=True):
            if isinstance(some, BadRow):
                yield some
                continue
            tokens = self._joined(some, islice(encoded, len(some)), row.number)
            yield tokens if len(tokens.ids) <= self.max_tokens else self._or_bad(row)

    def _pieces(self, row: Row) -> list[Piece] | BadRow:
        try:
            return self.template.pieces(row)
        except Unusable as unusable:
            return unusable.bad

    def _or_bad(self, row: Row) -> Tokens | BadRow:
        try:
            return self(row)
        except Unusable as unusable:
            return unusable.bad

    def _cut(self, row: Row) -> tuple[Tokens, Row]:
        """The row with as much of the end of its input as fits; its template stays whole."""
        asked = [i for i, turn in enumerate(row.turns) if turn.role != "assistant"]
        shorter, tokens = row, self._whole(row)
        while asked and len(tokens.ids) > self.max_tokens:
            turn = shorter.turns[asked[-1]]
            text = self._without_first(turn.text, len(tokens.ids) - self.max_tokens)
            if not text:
                break
            turns = list(shorter.turns)
            turns[asked[-1]] = replace(turn, text=text)
            shorter = replace(shorter, turns=tuple(turns))
            tokens = self._whole(shorter)
        if len(tokens.ids) > self.max_tokens:
            raise Unusable(_too_long(row, self._whole(row), self.max_tokens))
        return tokens, shorter

    def _without_first(self, text: str, count: int) -> str:
        """The text less its first `count` tokens; empty if it has no more than these."""
        if not getattr(self.tokenizer, "is_fast", False):
            tokens = self._ended(Piece(text, supervised=False), self._ids([text])[0])
            return text[-(-len(text) * count // len(tokens)) :] if count < len(tokens) else ""
        encoded = self.tokenizer(
            text,
            add_special_tokens=False,
            split_special_tokens=not self.template.parses_special_tokens,
            return_offsets_mapping=True,
            verbose=False,
        )
        starts = [start for start, _ in encoded["offset_mapping"]]
        # A character of several tokens starts them all at one place; it goes as a whole.
        later = (start for start in starts[count:] if start > 0)
        return text[next(later, len(text)) :]

    def _whole(self, row: Row) -> Tokens:
        pieces = self.template.pieces(row)
        return self._joined(pieces, (self._ids([piece.text])[0] for piece in pieces), row.number)

    def _joined(self, pieces: list[Piece], encoded: Iterable[list[int]], number: int) -> Tokens:
        ids = list(self._before_every_text)
        labels = [IGNORED] * len(ids)
        answer_at = 0
        for piece, found in zip(pieces, encoded, strict=True):
            new = self._ended(piece, found)
            if piece.supervised:
                answer_at = len(ids)
            ids += new
            labels += new if piece.supervised or self.loss_on_all else [IGNORED] * len(new)
        return Tokens(ids, labels, answer_at, number)

    def _ids(self, texts: list[str]) -> list[list[int]]:
        if not texts:
            return []
        encoded = self.tokenizer(
            texts,
            add_special_tokens=False,
            split_special_tokens=not self.template.parses_special_tokens,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )
        return [list(ids) for ids in encoded["input_ids"]]

    def _ended(self, piece: Piece, ids: list[int]) -> list[int]:
        eos = self.tokenizer.eos_token_id
        if self.template.parses_special_tokens:
            return [*ids, eos] if piece.ends and ids[-1:] != [eos] else ids
        if not self._special.isdisjoint(ids):
            ids = [text_id for token_id in ids for text_id in self._as_text(token_id)]
        return [*ids, eos] if piece.ends else ids

    def _as_text(self, token_id: int) -> list[int]:
        """Letter by letter, if it is a special token: some vocabularies hold their names as words.

        A target that quotes EOS would otherwise end there.
        """
        if token_id not in self._special:
            return [token_id]
        name = self.tokenizer.convert_ids_to_tokens(token_id)
        return list(self.tokenizer.convert_tokens_to_ids(list(name)))

    @cached_property
    def _special(self) -> frozenset[int]:
        """All but the one for the unknown, which any text can hold."""
        return frozenset(self.tokenizer.all_special_ids) - {self.tokenizer.unk_token_id}

    @cached_property
    def _before_every_text(self) -> list[int]:
        """Chat templates write it themselves."""
        return [] if self.template.parses_special_tokens else before_every_text(self.tokenizer)


def to_write(row: Row, tokens: Tokens, tokenizer: Tokenizer) -> str:
    """What a model must write to be right: the target, or calls of tools as they are rendered."""
    if not row.turns[-1].more:
        return row.target
    return str(tokenizer.decode(tokens.answer, skip_special_tokens=True)).strip()


def before_every_text(tokenizer: Tokenizer) -> list[int]:
    """What the tokenizer puts before a text, a BOS as a rule."""
    bare = list(tokenizer("a", add_special_tokens=False)["input_ids"])
    full = list(tokenizer("a")["input_ids"])
    starts = (at for at in range(len(full)) if full[at : at + len(bare)] == bare)
    return full[: next(starts, 0)]


def _without_oldest_exchange(row: Row) -> Row | None:
    """The row less its first question and its answers; None where no other question is left.

    A tool's result stays with the call that it answers.
    """
    answers = [index for index, turn in enumerate(row.turns) if turn.role == "assistant"]
    if len(answers) < 2:
        return None
    later = enumerate(row.turns[answers[0] + 1 :], answers[0] + 1)
    asked = [index for index, turn in later if turn.role not in ("assistant", "tool")]
    if not asked:
        return None
    system = tuple(turn for turn in row.turns[: answers[0]] if turn.role == "system")
    return replace(row, turns=system + row.turns[asked[0] :])


def _characters(row: Row) -> int:
    return sum(len(turn.text) for turn in row.turns)


def _too_long(row: Row, tokens: Tokens, limit: int) -> BadRow:
    return BadRow(
        row.place,
        TOO_LONG,
        f"The target leaves no room for the input within {limit} tokens",
        facts=(
            Fact("target", shown(row.target)),
            Fact(
                "tokens",
                f"{len(tokens.answer)} in the target with its EOS, {len(tokens.ids)} in all",
            ),
        ),
        why="A truncated target would teach the model to stop in the middle, without EOS.",
        fixes=(Fix(f"Raise the limit:  --max-tokens {len(tokens.ids)}"),),
    )
