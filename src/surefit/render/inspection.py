"""What is in text rows, as text for people and as JSON."""

from collections.abc import Iterator, Sequence

import msgspec
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from surefit.data.inspection import (
    Bin,
    Duplicates,
    Example,
    Inspection,
    Lengths,
    LimitCost,
    Pair,
    Part,
    Targets,
)

from .json_document import Json
from .terminal import NARROWEST, WIDTH
from .visible import shorten, visible, wrap

NAME = 22
"""Where values begin: two spaces, the longest name, two spaces."""

FITS, OVER = "█", "░"
"""What bars are drawn with: rows within the limit, and rows over it."""

OPEN, CLOSE = "⟦", "⟧"
"""Stand around what the loss sees."""

IN_LOSS = "bold green"
LONGEST_PART = 480
"""Characters of an example's prompt or answer that are shown; the middle of a longer one is not."""

LINE_BREAK = 40
"""A line break takes as much room as so many characters."""

FIRST_PARTS, LAST_PARTS = 2, 4
"""The parts of a long conversation that are shown."""


def as_json(found: Inspection, examples: Sequence[Example]) -> dict[str, Json]:
    """Names and values as in `Inspection`, with `examples` beside them."""
    made: dict[str, Json] = msgspec.to_builtins(found)
    return {**made, "examples": msgspec.to_builtins(tuple(examples))}


def text(found: Inspection, examples: Sequence[Example], width: int = WIDTH) -> str:
    return "\n".join(line.plain.rstrip() for line in lines(found, examples, width))


def show(found: Inspection, examples: Sequence[Example], console: Console) -> None:
    """The same on a console, in colour where it has colours."""
    width = max(NARROWEST, min(WIDTH, console.width)) if console.is_terminal else WIDTH
    for line in lines(found, examples, width):
        line.rstrip()
        console.print(line, soft_wrap=True)


def lines(found: Inspection, examples: Sequence[Example], width: int) -> Iterator[Text]:
    yield from _counts(found, width)
    yield from _heading("Lengths")
    yield from _table(_length_rows(found))
    yield from _heading("Rows by their length in tokens")
    yield from _bars(found.histogram, found.limit.tokens, width)
    yield from _heading("Supervised tokens")
    share = _share(found.tokens_in_loss, found.tokens_in_all, "tokens")
    yield from _named("within the limit", f"{found.tokens_in_loss:,} of {share}", width)
    yield from _heading("Targets")
    yield from _target_lines(found.targets, found.measured, width)
    yield from _heading("Duplicates")
    yield from _duplicate_lines(found.duplicates, width)
    yield from _heading(f"Limit of {found.limit.tokens:,} tokens")
    yield from _limit_lines(found, width)
    yield from _heading(f"Padding in batches of {found.padding.batch_size}")
    yield from _named("shuffled", f"{found.padding.shuffled:.1%} of all positions", width)
    yield from _named(
        "grouped by length", f"{found.padding.bucketed:.1%}, the default of `sft`", width
    )
    if examples:
        yield from _heading("As the model sees them")
        yield Text(f"  Supervised tokens are shown in {OPEN} {CLOSE}; a line break is shown as ↵.")
    for example in examples:
        yield Text()
        yield from example_lines(example, width)


def _counts(found: Inspection, width: int) -> Iterator[Text]:
    bad = f"{found.bad_rows:,} bad" if found.bad_rows else "none bad"
    yield from _plain(f"{found.source}: {found.rows:,} rows, {bad}", width, style="bold")
    yield from _named("kind of rows", found.kind, width)
    for note in found.notes:
        yield from _named("note", note, width)
    if found.special_names.rows:
        named = _share(found.special_names.rows, found.measured, "rows")
        become = "it is read as the token" if found.special_names.become_tokens else "it stays text"
        yield from _named(
            "special tokens",
            f"{found.special_names.rows:,} of {named} contain the text of one: {become}",
            width,
        )


def _length_rows(found: Inspection) -> Iterator[Sequence[str]]:
    yield "", "shortest", "median", "95th percentile", "longest"
    yield "input, characters", *_cells(found.characters.input)
    yield "target, characters", *_cells(found.characters.target)
    yield "both, characters", *_cells(found.characters.row)
    yield "input, tokens, with template", *_cells(found.tokens.input)
    yield "target, tokens, with EOS", *_cells(found.tokens.target)
    yield "whole row, tokens", *_cells(found.tokens.row)


def _cells(lengths: Lengths) -> tuple[str, ...]:
    every = (lengths.shortest, lengths.median, lengths.percentile_95, lengths.longest)
    return tuple(f"{length:,}" for length in every)


def _bars(bins: Sequence[Bin], limit: int, width: int) -> Iterator[Text]:
    """A bar for each bin; its rows over the limit in the other shade."""
    names = [f"{one.first:,} or more" if one.last is None else _range(one) for one in bins]
    counts = [f"{one.rows:,}" for one in bins]
    names_wide, counts_wide = max(map(len, names)), max(map(len, counts))
    mark = f"  ◄ limit {limit:,}"
    room = width - names_wide - counts_wide - len(mark) - 6
    most = max(one.rows for one in bins)
    for one, name, count in zip(bins, names, counts, strict=True):
        over = _bar(one.over_limit, most, room)
        fits = _bar(one.rows - one.over_limit, most, room)
        begin = f"  {name:>{names_wide}}  {count:>{counts_wide}}  "
        holds = one.first <= limit and (one.last is None or limit <= one.last)
        yield Text.assemble(begin, FITS * fits, (OVER * over, "red"), mark if holds else "")
    if any(one.over_limit for one in bins):
        yield Text(f"  {OVER} rows longer than the limit")
    elif bins[-1].last is not None and bins[-1].last < limit:
        yield Text(f"  no row reaches the limit of {limit:,}")
    if bins[0].first > limit:
        yield Text(f"  every row is longer than the limit of {limit:,}")


def _range(one: Bin) -> str:
    return f"{one.first:,}" if one.first == one.last else f"{one.first:,}–{one.last:,}"


def _bar(rows: int, most: int, room: int) -> int:
    """At least one place for any row."""
    return max(1, round(rows / most * (room - 1))) if rows else 0


def _target_lines(targets: Targets, rows: int, width: int) -> Iterator[Text]:
    yield from _named("distinct", f"{targets.distinct:,} in {rows:,} rows", width)
    most = shorten(visible(targets.most_frequent), 40)
    times = _share(targets.rows_with_it, rows, "rows")
    yield from _named("most frequent", f"`{most}` in {targets.rows_with_it:,} of {times}", width)
    yield from _named("", f"as the answer to every row: F1 {targets.baseline_f1:.4f}", width)
    found = f"{targets.in_input:,} of {_share(targets.in_input, rows, 'rows')}"
    yield from _named("verbatim in the input", found, width)
    if targets.in_white_space:
        spaced = f"{targets.in_white_space:,} of {_share(targets.in_white_space, rows, 'rows')}"
        yield from _named("white space around it", spaced, width)


def _duplicate_lines(found: Duplicates, width: int) -> Iterator[Text]:
    if not found.groups:
        yield from _named(
            "same answer", "no two rows with the same or nearly the same input", width
        )
    else:
        together = f"{found.exact + found.near:,} rows in {found.groups:,} groups of duplicates"
        yield from _named("same answer", f"{together}: the same or nearly the same input", width)
        yield from _named("exact", f"{found.exact:,} rows{_pair(found.exact_pair)}", width)
        near = f"{found.near:,} rows{_pair(found.near_pair, similar=True)}"
        yield from _named("near", near, width)
        leaks = f"{found.leaks} of {found.held_out} held-out rows would leak into training"
        yield from _named("random split", f"{leaks}; `sft` keeps duplicates on one side", width)
    if found.contradictory:
        rows = f"{found.contradictory:,} rows share their input with a row of another answer"
        yield from _named("other answer", f"{rows}{_pair(found.contradictory_pair)}", width)


def _pair(pair: Pair | None, similar: bool = False) -> str:
    if pair is None:
        return ""
    how = f", similarity {pair.similarity:.3f}" if similar else ""
    return f", such as {pair.one} and {pair.other}{how}"


def _limit_lines(found: Inspection, width: int) -> Iterator[Text]:
    limit = found.limit
    if not limit.rows_cut and not limit.unusable:
        yield from _named("truncation", "none: every row fits", width)
    if limit.rows_cut:
        rows = f"{limit.rows_cut:,} of {_share(limit.rows_cut, found.measured, 'rows')}"
        yield from _named("cut", f"{rows} truncated on the left of the prompt", width)
        loss = f", {limit.supervised_lost:,} of them supervised" if limit.supervised_lost else ""
        yield from _named("tokens lost", f"{limit.tokens_lost:,}{loss}", width)
    if limit.unusable:
        rows = f"{limit.unusable:,} of {_share(limit.unusable, found.measured, 'rows')}"
        yield from _named("unusable", f"{rows}: the target leaves no room for any input", width)
    yield from _table(_limit_rows(found.limits, limit.tokens))


def _limit_rows(limits: Sequence[LimitCost], asked: int) -> Iterator[Sequence[str]]:
    yield "", "rows over it", "tokens over it", "rows unusable"
    for one in limits:
        name = f"at {one.limit:,}{', current' if one.limit == asked else ''}"
        yield name, f"{one.rows_over:,}", f"{one.tokens_over:,}", f"{one.unusable:,}"


def example_lines(example: Example, width: int) -> Iterator[Text]:
    cut = f", cut from {example.tokens_whole:,}" if example.tokens < example.tokens_whole else ""
    title = f"{example.title}, {example.place}: {example.tokens:,} tokens{cut}"
    yield from _plain(f"{title}, {example.tokens_in_loss:,} supervised", width, style="bold")
    whole = Text()
    for part in _shown(example.parts):
        words = _middle(part.text) if part.text else ""
        safe = visible(words.replace("\n", "↵\n"), keep="\n")
        whole.append(f"{OPEN}{safe}{CLOSE}" if part.supervised else safe, _style(part))
    for line in whole.split("\n", allow_blank=True):
        for wrapped in _folded(line, width - 2):
            yield Text("  ").append_text(wrapped)


def _style(part: Part) -> str:
    return IN_LOSS if part.supervised else ""


def _shown(parts: Sequence[Part]) -> Sequence[Part]:
    left_out = len(parts) - FIRST_PARTS - LAST_PARTS
    if left_out <= 1:
        return parts
    gap = Part(f" … {left_out} prompts and answers … ", supervised=False)
    return [*parts[:FIRST_PARTS], gap, *parts[-LAST_PARTS:]]


def _middle(words: str) -> str:
    """The text without its middle, if it is long."""
    head = _fitting(words, LONGEST_PART // 2)
    tail = _fitting(words[::-1], LONGEST_PART // 2)
    left_out = len(words) - head - tail
    if left_out <= LINE_BREAK:
        return words
    return f"{words[:head]} … {left_out:,} characters … {words[len(words) - tail :]}"


def _fitting(words: str, room: int) -> int:
    """How many characters from the beginning have room."""
    for at, character in enumerate(words):
        room -= LINE_BREAK if character == "\n" else 1
        if room < 0:
            return at
    return len(words)


def _folded(line: Text, width: int) -> Iterator[Text]:
    """Broken after a space where there is one, so that no character is lost."""
    while cell_len(line.plain) > width:
        fits = len(line.plain)
        while cell_len(line.plain[:fits]) > width:
            fits -= max(1, (cell_len(line.plain[:fits]) - width) // 2)
        space = line.plain.rfind(" ", 0, fits) + 1
        head, line = line.divide([space or fits])
        yield head
    yield line


def _heading(title: str) -> Iterator[Text]:
    yield Text()
    yield Text(title, style="bold")


def _named(name: str, value: str, width: int) -> Iterator[Text]:
    first, *rest = wrap(value, width - NAME - 4)
    yield Text(f"  {name:<{NAME}}  {first}")
    for more in rest:
        yield Text(" " * (NAME + 4) + more)


def _plain(words: str, width: int, style: str = "") -> Iterator[Text]:
    for line in wrap(words, width):
        yield Text(line, style=style)


def _table(rows: Iterator[Sequence[str]]) -> Iterator[Text]:
    """Names on the left, numbers in columns on the right, each as wide as it must be."""
    every = list(rows)
    columns = [max(map(len, column)) for column in zip(*every, strict=True)]
    for name, *values in every:
        cells = (f"{value:>{size}}" for value, size in zip(values, columns[1:], strict=True))
        yield Text(f"  {name:<{columns[0]}}  {'  '.join(cells)}")


def _share(some: int, every: int, of: str) -> str:
    """`every`, and which share of it some are."""
    share = some / every if every else 0.0
    return f"{every:,} {of} ({share:.1%})"
