"""What is in feature arrays, as text for people and as JSON."""

from collections.abc import Iterator, Sequence

import msgspec
from rich.console import Console
from rich.text import Text

from surefit.data.features.inspection import ArrayInspection, Fit, Picture, ShardSeen

from .json_document import Json
from .terminal import NARROWEST, WIDTH
from .visible import shorten, visible, wrap

NAME = 16
MOST_SHARDS = 20
"""So many files are listed; of more, the first and all that are not as declared."""


def as_json(found: ArrayInspection) -> dict[str, Json]:
    """Names and values as in `ArrayInspection`."""
    made: dict[str, Json] = msgspec.to_builtins(found)
    return made


def text(found: ArrayInspection, width: int = WIDTH) -> str:
    return "\n".join(line.plain.rstrip() for line in lines(found, width))


def show(found: ArrayInspection, console: Console) -> None:
    width = max(NARROWEST, min(WIDTH, console.width)) if console.is_terminal else WIDTH
    for line in lines(found, width):
        line.rstrip()
        console.print(line, soft_wrap=True)


def lines(found: ArrayInspection, width: int) -> Iterator[Text]:
    yield from _head(found, width)
    if found.shards:
        yield from _heading("Arrays" if len(found.shards) > 1 else "Array")
        yield from _table(_shape_rows(found), width)
    if any(one.kind for one in found.shards):
        yield from _heading(f"Values, of a sample of {max(s.looked_at for s in found.shards)} rows")
        yield from _table(_value_rows(found), width)
        yield from _value_words(found, width)
    if found.fits:
        yield from _heading("Beside the model")
        yield from _fit_lines(found.fits, width)
    for one in found.pictures:
        yield from _picture_lines(one, width)


def _head(found: ArrayInspection, width: int) -> Iterator[Text]:
    rows = [f"{found.rows:,} rows"] if found.rows is not None else []
    files = ["1 file" if found.files == 1 else f"{found.files} files"] if found.files else []
    held = [size(found.bytes)] if found.shards else []
    counts = ", ".join([" in ".join([*rows, *files]), *held] if rows or files else held)
    for line in wrap(f"{found.source}: {counts}" if counts else found.source, width):
        yield Text(line, style="bold")
    yield from _named("declared", found.declared or "nothing: --steps and --features do", width)
    for name, shards in _by_scenario(found.shards).items():
        of = f"{len(shards)} of {len(found.shards)}"
        yield from _named("is", f"{name}: {of}", width)
    for note in found.notes:
        yield from _named("note", note, width)


def _by_scenario(shards: Sequence[ShardSeen]) -> dict[str, list[ShardSeen]]:
    found: dict[str, list[ShardSeen]] = {}
    for one in shards:
        if one.scenario:
            found.setdefault(one.scenario, []).append(one)
    return found


def _listed(found: ArrayInspection) -> list[ShardSeen]:
    """The first few, and all others that are not like them."""
    first = found.shards[:MOST_SHARDS]
    usual = {(one.shape[1:], one.dtype, one.scenario, one.kind) for one in first[:1]}
    rest = [
        one
        for one in found.shards[MOST_SHARDS:]
        if (one.shape[1:], one.dtype, one.scenario, one.kind) not in usual
    ]
    return [*first, *rest[:MOST_SHARDS]]


def _shape_rows(found: ArrayInspection) -> Iterator[Sequence[str]]:
    yield "", "shape", "dtype", "size", "is"
    listed = _listed(found)
    for one in listed:
        shape = " x ".join(f"{length:,}" for length in one.shape)
        words = "; ".join(word for word in (one.scenario or "", one.note) if word)
        yield one.name, shape, one.dtype, size(one.bytes), words
    left = len(found.shards) - len(listed)
    if left:
        yield f"and {left} more", "", "", "", "like the first"


def _value_rows(found: ArrayInspection) -> Iterator[Sequence[str]]:
    yield "", "from", "to", "not 0", "steps used", "kind"
    for one in _listed(found):
        if one.kind is None or one.low is None or one.high is None:
            continue
        used = f"{one.shortest}–{one.longest}"
        used = str(one.longest) if one.shortest == one.longest else used
        yield (
            *(one.name, f"{one.low:.4g}", f"{one.high:.4g}", f"{one.nonzero or 0:.2%}"),
            *(used, one.kind),
        )


def _value_words(found: ArrayInspection, width: int) -> Iterator[Text]:
    axes = {one.sums_to_one for one in found.shards if one.kind}
    if len(axes) == 1:
        carried = axes.pop()
        words = " and ".join(f"`{axis}`" for axis in carried)
        said = f"every sum over {words} is 1" if carried else "no axis sums to 1"
        yield from _named("sums", said, width)
    if any(one.shortest != one.longest for one in found.shards if one.kind):
        yield from _named("steps used", "all-zero steps at the end of a row are excluded", width)


def _fit_lines(fits: Sequence[Fit], width: int) -> Iterator[Text]:
    signs = {True: "fits", False: "DOES NOT FIT", None: ""}
    for one in fits:
        sign = signs[one.fits]
        yield from _named(one.name, f"{one.said}{': ' if sign else ''}{sign}", width)


def _picture_lines(one: Picture, width: int) -> Iterator[Text]:
    yield from _heading(shorten(visible(one.title), width))
    for line in one.lines:
        yield Text(f"  {line}")
    for line in wrap(one.legend, width - 2):
        yield Text(f"  {line}", style="dim")


def size(count: int) -> str:
    """Bytes in the unit in which they are read most easily; a thousand to each."""
    number = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 999.5 or unit == "GB":
            return f"{count} bytes" if unit == "bytes" else f"{number:.3g} {unit}"
        number /= 1000
    return f"{count} bytes"


def _heading(title: str) -> Iterator[Text]:
    yield Text()
    yield Text(title, style="bold")


def _named(name: str, value: str, width: int) -> Iterator[Text]:
    first, *rest = wrap(value, width - NAME - 4)
    yield Text(f"  {name:<{NAME}}  {first}")
    for more in rest:
        yield Text(" " * (NAME + 4) + more)


def _table(rows: Iterator[Sequence[str]], width: int) -> Iterator[Text]:
    """Names on the left, numbers in columns, words in the last; long names are cut."""
    every = [list(map(visible, row)) for row in rows]
    columns = [max(map(len, column)) for column in zip(*every, strict=True)]
    columns[0] = min(columns[0], 30)
    for name, *values, last in every:
        shown = shorten(name, columns[0])
        cells = (f"{value:>{wide}}" for value, wide in zip(values, columns[1:-1], strict=True))
        begin = f"  {shown:<{columns[0]}}  {'  '.join(cells)}  "
        first, *rest = wrap(last, max(12, width - len(begin)))
        yield Text(begin + first)
        for more in rest:
            yield Text(" " * len(begin) + more)
