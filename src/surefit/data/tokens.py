"""Rows as token ids, and which of them the loss sees.

An answer ends with EOS, always: truncation takes from the prompt alone. Prompt and answer are
tokenised apart and their ids joined, so that what the model learns to continue is token for token
what it is given when it generates.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from surefit.doctor.findings import Fact, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput

from .bad_rows import BadRow, shown
from .rows import Row
from .templates import Piece, Template, Tokenizer, Unusable

IGNORED = -100
"""The label of a place that the loss does not look at; PyTorch's cross entropy skips it."""

NO_EOS = refusal("SF151", "no-end-token", "The tokenizer has no EOS: no answer could ever end.")
NO_PAD = refusal("SF152", "no-pad-token", "The tokenizer has no token to fill a batch with.")
TOO_LONG = refusal(
    "SF156", "target-too-long", "A target does not fit into the limit, even without its prompt."
)


@dataclass(frozen=True, slots=True)
class Tokens:
    """One row as numbers: the whole, what the loss sees of it, and where its last answer begins."""

    ids: list[int]
    labels: list[int]
    """As long as `ids`; `IGNORED` where the loss does not look."""

    answer_at: int
    number: int
    """The source row, as in `Row`."""

    cut: int = 0
    """Characters of the prompt that the limit cost."""

    @property
    def prompt(self) -> list[int]:
        """What the model is given to generate the last answer from."""
        return self.ids[: self.answer_at]

    @property
    def answer(self) -> list[int]:
        return self.ids[self.answer_at :]

    @property
    def supervised(self) -> int:
        """Places that the loss sees; the first token of a row has no prediction."""
        return sum(label != IGNORED for label in self.labels[1:])

    def features(self) -> dict[str, list[int]]:
        """The row as the collator, surefit's or the Trainer's, wants it."""
        return {"input_ids": self.ids, "labels": self.labels}


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
            tokens = self._encode(Piece(text, supervised=False))
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
        ids = list(self._before_every_text)
        labels = [IGNORED] * len(ids)
        answer_at = 0
        for piece in self.template.pieces(row):
            new = self._encode(piece)
            if piece.supervised:
                answer_at = len(ids)
            ids += new
            labels += new if piece.supervised or self.loss_on_all else [IGNORED] * len(new)
        return Tokens(ids, labels, answer_at, row.number)

    def _encode(self, piece: Piece) -> list[int]:
        encoded = self.tokenizer(
            piece.text,
            add_special_tokens=False,
            split_special_tokens=not self.template.parses_special_tokens,
            verbose=False,
        )
        ids = list(encoded["input_ids"])
        eos = self.tokenizer.eos_token_id
        if self.template.parses_special_tokens:
            return [*ids, eos] if piece.ends and ids[-1:] != [eos] else ids
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
        """What the tokenizer puts before a text, a BOS as a rule; chat templates write it."""
        if self.template.parses_special_tokens:
            return []
        bare = list(self.tokenizer("a", add_special_tokens=False)["input_ids"])
        full = list(self.tokenizer("a")["input_ids"])
        starts = (at for at in range(len(full)) if full[at : at + len(bare)] == bare)
        return full[: next(starts, 0)]


@dataclass(frozen=True, slots=True)
class TokenSet:
    """Rows that became tokens, side by side with them, and rows that could not."""

    rows: tuple[Row, ...]
    tokens: tuple[Tokens, ...]
    bad: tuple[BadRow, ...] = ()

    def __len__(self) -> int:
        return len(self.tokens)

    def features(self, chosen: Iterable[int]) -> list[dict[str, list[int]]]:
        """The rows at these places, as a collator wants them."""
        return [self.tokens[place].features() for place in chosen]


def tokenize(
    rows: Iterable[Row], to_tokens: RowTokenizer, each: Callable[[], object] = lambda: None
) -> TokenSet:
    """`each` is called after every row."""
    good: list[tuple[Row, Tokens]] = []
    bad: list[BadRow] = []
    for row in rows:
        try:
            good.append((row, to_tokens(row)))
        except Unusable as unusable:
            bad.append(unusable.bad)
        each()
    return TokenSet(tuple(row for row, _ in good), tuple(one for _, one in good), tuple(bad))


def check_tokenizer(tokenizer: Tokenizer, name: str) -> None:
    """Raises `BadInput` for a tokenizer that cannot end an answer or fill a batch."""
    specials = Fact("special tokens", str(dict(tokenizer.special_tokens_map)))
    if tokenizer.eos_token_id is None:
        raise BadInput(
            NO_EOS.finding(
                Place(name),
                f"The tokenizer of `{name}` has no EOS token, so no answer could be taught to end.",
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
                why="Padding is masked by place and never by id, so any token of it serves.",
                fixes=[Fix(f"Name one:  --pad-token '{tokenizer.eos_token}'")],
            )
        )


def _without_oldest_exchange(row: Row) -> Row | None:
    """The row less its first question and its answers; None where no other question is left."""
    answers = [index for index, turn in enumerate(row.turns) if turn.role == "assistant"]
    if len(answers) < 2:
        return None
    asked = [i for i, turn in enumerate(row.turns) if i > answers[0] and turn.role != "assistant"]
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
        why="A target that is cut teaches the model to stop in the middle and never to end.",
        fixes=(Fix(f"Raise the limit:  --max-tokens {len(tokens.ids)}"),),
    )
