"""Rows and their tokens -> an `Inspection`, and examples of them as the model sees them."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby, islice
from math import ceil

from .bad_rows import BadRows
from .duplicates import similarity
from .inspection import (
    Bin,
    Duplicates,
    Example,
    Inspection,
    Lengths,
    Limit,
    LimitCost,
    Padding,
    Pair,
    Part,
    Sizes,
    SpecialNames,
    Targets,
)
from .order import epoch_batches, padding_waste
from .rows import Row, RowSet
from .split import Split
from .templates import Unusable
from .token_store import TokenWriter
from .tokens import IGNORED, RowTokenizer, Tokens, TokenSet

MOST_BINS = 12
LIMITS = (128, 256, 512, 1024, 2048)
"""Limits that people choose from; those that make no difference are left out."""

MOST_PAIRS = 100
"""So many pairs of a group of twins are measured to show its nearest."""


@dataclass(frozen=True, slots=True)
class Tokenized:
    """Rows as tokens, as they are and within a limit."""

    by: RowTokenizer
    whole: TokenSet
    within: TokenSet
    fewest: Mapping[int, int]
    """Row number -> tokens that no cut can take away, for rows over the lowest limit of all."""

    @property
    def limit(self) -> int:
        return self.by.max_tokens


def tokenize_within(
    rows: Sequence[Row], to_tokens: RowTokenizer, each: Callable[[], object] = lambda: None
) -> Tokenized:
    """`each` is called once for every row."""
    endless = replace(to_tokens, max_tokens=sys.maxsize)
    unreadable, too_long = BadRows(), BadRows()
    fewest: dict[int, int] = {}
    with TokenWriter() as whole, TokenWriter() as within:
        for at, row in enumerate(rows):
            each()
            try:
                tokens = endless(row)
            except Unusable as unusable:
                unreadable.add(unusable.bad)
                continue
            whole.add(at, tokens)
            if len(tokens.ids) > min(to_tokens.max_tokens, *LIMITS):
                fewest[row.number] = _fewest(row, endless, len(tokens.ids))
            try:
                fits = len(tokens.ids) <= to_tokens.max_tokens
                within.add(at, tokens if fits else to_tokens(row))
            except Unusable as unusable:
                too_long.add(unusable.bad)
        return Tokenized(
            to_tokens, whole.finish(rows, unreadable), within.finish(rows, too_long), fewest
        )


def inspect_rows(
    read: RowSet,
    tokens: Tokenized,
    parts: Split,
    score: Callable[[str, str], float],
    batch_size: int,
    seed: int,
) -> Inspection:
    """`score` measures an answer against a target; at least one row must have become tokens."""
    rows = tokens.whole.rows
    lengths = [len(one.ids) for one in tokens.within.tokens]
    return Inspection(
        source=read.source,
        kind=read.kind,
        notes=read.notes,
        rows=len(read.rows) + read.skipped,
        bad_rows=read.skipped + len(read.rows) - len(tokens.within),
        measured=len(rows),
        characters=_sizes([(len(row.input), len(row.target)) for row in rows]),
        tokens=_sizes([(len(one.prompt), len(one.answer)) for one in tokens.whole.tokens]),
        histogram=histogram([len(one.ids) for one in tokens.whole.tokens], tokens.limit),
        tokens_in_all=sum(lengths),
        tokens_in_loss=sum(one.supervised for one in tokens.within.tokens),
        limit=_limit(tokens),
        limits=_limits(tokens),
        targets=_targets(rows, score),
        special_names=_special_names(rows, tokens.by),
        duplicates=_duplicates(read.rows, parts),
        padding=Padding(
            batch_size,
            padding_waste(lengths, epoch_batches(lengths, batch_size, seed, 0, bucket=False)),
            padding_waste(lengths, epoch_batches(lengths, batch_size, seed, 0)),
        ),
    )


def examples(
    tokens: Tokenized, decode: Callable[[list[int]], str], count: int
) -> tuple[Example, ...]:
    """The first, the shortest and the longest row that fits, then others spread over the source;
    `decode` must not leave special tokens out."""
    whole = {one.number: one for one in tokens.whole.tokens}
    chosen = islice(_chosen([whole[one.number] for one in tokens.within.tokens], count), count)
    return tuple(
        _example(title, tokens.within.rows[at], tokens.within.tokens[at], whole, decode)
        for at, title in chosen
    )


def histogram(lengths: Sequence[int], limit: int) -> tuple[Bin, ...]:
    """At most `MOST_BINS` bins of one width, a power of two, so that usual limits end a bin.

    Where a few rows are far longer than all others, the last bin takes all of these.
    """
    longest = max(lengths)
    top = min(longest, 2 * _percentile(lengths, 0.95))
    width = 1
    while _bin(top, width) - _bin(min(lengths), width) >= MOST_BINS - (top < longest):
        width *= 2
    first, last = _bin(min(lengths), width), _bin(top, width)
    into = Counter(min(_bin(length, width), last + 1) for length in lengths)
    over = Counter(min(_bin(length, width), last + 1) for length in lengths if length > limit)
    return tuple(
        Bin(
            at * width + 1,
            (at + 1) * width if at <= last else None,
            into[at],
            over[at],
        )
        for at in range(first, last + 1 + (last + 1 in into))
    )


def _bin(length: int, width: int) -> int:
    return (length - 1) // width


def _percentile(values: Sequence[int], share: float) -> int:
    """The lowest value that at least this share of the values does not exceed."""
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def _lengths(values: Sequence[int]) -> Lengths:
    return Lengths(min(values), _percentile(values, 0.5), _percentile(values, 0.95), max(values))


def _sizes(pairs: Sequence[tuple[int, int]]) -> Sizes:
    return Sizes(
        _lengths([asked for asked, _ in pairs]),
        _lengths([answered for _, answered in pairs]),
        _lengths([asked + answered for asked, answered in pairs]),
    )


def _fewest(row: Row, endless: RowTokenizer, whole: int) -> int:
    """Tokens of the last exchange alone with one character of its question, as a cut would end."""
    answers = [at for at, turn in enumerate(row.turns) if turn.role == "assistant"]
    begin = answers[-2] + 1 if len(answers) > 1 else 0
    turns = [turn for turn in row.turns[:begin] if turn.role == "system"] + [*row.turns[begin:]]
    asked = [at for at, turn in enumerate(turns) if turn.role != "assistant"]
    if asked:
        turns[asked[-1]] = replace(turns[asked[-1]], text=turns[asked[-1]].text[-1:])
    try:
        return len(endless(replace(row, turns=tuple(turns))).ids)
    except Unusable:
        return whole


def _limit(tokens: Tokenized) -> Limit:
    whole = {one.number: one for one in tokens.whole.tokens}
    cut = [
        (whole[one.number], one)
        for one in tokens.within.tokens
        if len(one.ids) < len(whole[one.number].ids)
    ]
    return Limit(
        tokens.limit,
        rows_cut=len(cut),
        tokens_lost=sum(len(before.ids) - len(after.ids) for before, after in cut),
        supervised_lost=sum(before.supervised - after.supervised for before, after in cut),
        unusable=len(tokens.within.bad),
    )


def _limits(tokens: Tokenized) -> tuple[LimitCost, ...]:
    """At the limits below the longest row, at the first that holds it, and at the one asked for."""
    lengths = {one.number: len(one.ids) for one in tokens.whole.tokens}
    longest = max(lengths.values())
    enough = min((limit for limit in LIMITS if limit >= longest), default=LIMITS[-1])
    tried = sorted({tokens.limit, *(limit for limit in LIMITS if limit <= enough)})
    return tuple(_cost(limit, lengths, tokens.fewest) for limit in tried)


def _cost(limit: int, lengths: Mapping[int, int], fewest: Mapping[int, int]) -> LimitCost:
    over = [number for number, length in lengths.items() if length > limit]
    fitting = [number for number in over if fewest[number] <= limit]
    return LimitCost(
        limit,
        len(over),
        sum(lengths[number] - limit for number in fitting),
        len(over) - len(fitting),
    )


def _targets(rows: Sequence[Row], score: Callable[[str, str], float]) -> Targets:
    times = Counter(row.target for row in rows)
    most, rows_with_it = times.most_common(1)[0]
    return Targets(
        distinct=len(times),
        most_frequent=most,
        rows_with_it=rows_with_it,
        share=rows_with_it / len(rows),
        baseline_f1=sum(n * score(most, target) for target, n in times.items()) / len(rows),
        in_input=sum(row.target.strip() in row.input for row in rows),
        in_white_space=sum(row.target != row.target.strip() for row in rows),
    )


def _special_names(rows: Sequence[Row], by: RowTokenizer) -> SpecialNames:
    names = [name for name in by.tokenizer.all_special_tokens if name]
    return SpecialNames(
        sum(any(name in turn.text for turn in row.turns for name in names) for row in rows),
        by.template.parses_special_tokens,
    )


def _duplicates(rows: Sequence[Row], parts: Split) -> Duplicates:
    by_number = {row.number: row for row in rows}
    twins = [[by_number[number] for number in group] for group in parts.groups]
    times = Counter(_texts(row) for row in rows)
    exact = [row for row in rows if times[_texts(row)] > 1]
    against = _contradictory(rows)
    return Duplicates(
        groups=len(twins),
        exact=len(exact),
        near=sum(map(len, twins)) - len(exact),
        exact_pair=_pair_of([row for row in exact if _texts(row) == _texts(exact[0])]),
        near_pair=_near_pair(twins),
        held_out=parts.wanted,
        leaks=parts.leaks_avoided,
        contradictory=sum(map(len, against)),
        contradictory_pair=_pair_of(against[0]) if against else None,
    )


def _texts(row: Row) -> tuple[str, str]:
    return row.input, row.target


def _contradictory(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows of one input that have several targets; the first two of each list differ."""
    by_input: dict[str, list[Row]] = {}
    for row in rows:
        by_input.setdefault(row.input, []).append(row)
    several = [same for same in by_input.values() if len({row.target for row in same}) > 1]
    return [
        [same[0], *sorted(same[1:], key=lambda row: row.target == same[0].target)]
        for same in several
    ]


def _pair_of(rows: Sequence[Row]) -> Pair | None:
    if len(rows) < 2:
        return None
    one, other = rows[:2]
    return Pair(one.place, other.place, float(similarity(one.input, other.input)))


def _near_pair(twins: Sequence[Sequence[Row]]) -> Pair | None:
    """The nearest two, not the same, of the first group that has such."""
    for group in twins:
        different: dict[tuple[str, str], Row] = {}
        for row in group:
            different.setdefault(_texts(row), row)
        some = islice(combinations(different.values(), 2), MOST_PAIRS)
        pairs = [_pair_of(pair) for pair in some]
        if pairs:
            return max((pair for pair in pairs if pair), key=lambda pair: pair.similarity)
    return None


def _chosen(whole: Sequence[Tokens], count: int) -> Iterator[tuple[int, str]]:
    """Positions with a title for each, no position twice."""
    if not whole:
        return
    by_length = sorted(range(len(whole)), key=lambda at: len(whole[at].ids))
    titles = {0: "first row"}
    titles.setdefault(by_length[0], "shortest row")
    titles.setdefault(by_length[-1], "longest row")
    for step in range(count):
        titles.setdefault(step * len(whole) // count, "another row")
    yield from titles.items()


def _example(
    title: str,
    row: Row,
    tokens: Tokens,
    whole: Mapping[int, Tokens],
    decode: Callable[[list[int]], str],
) -> Example:
    return Example(
        title,
        row.place,
        len(tokens.ids),
        len(whole[row.number].ids),
        tokens.supervised,
        tuple(_parts(tokens, decode)),
    )


def _parts(tokens: Tokens, decode: Callable[[list[int]], str]) -> Iterator[Part]:
    """Decoded with all that stands before: some tokenizers drop the first space of a text."""
    at, before = 0, ""
    for supervised, run in groupby(tokens.labels, key=lambda label: label != IGNORED):
        begin, at = at, at + len(list(run))
        after = decode(tokens.ids[:at])
        text = after[len(before) :] if after.startswith(before) else decode(tokens.ids[begin:at])
        yield Part(text, supervised)
        before = after
