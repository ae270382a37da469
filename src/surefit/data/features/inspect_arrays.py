"""Looks into a folder of arrays: every header, a sample of every shard, all that is wrong."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote

import numpy as np

from surefit.doctor.findings import Finding, Fix, Place
from surefit.errors import BadInput

from .array_names import LAYOUT_FILE
from .checks import OTHER_DTYPE, OTHER_SHAPE, check_header, no_rows, shown, sizes_as_flags
from .checksums import INVISIBLE, flipped
from .decode import Values
from .every_row import row_faults
from .files import Files, read_headers
from .folder import Shards, as_shard, check_sample, read_shards, sample
from .headers import Header
from .inspection import ArrayInspection, Picture, ShardSeen
from .labels import is_flat, labelled, labels_among_features, usual
from .layout import USUAL_DTYPE, Kind, Layout
from .layout_file import LayoutFile, read_layout_file, settled
from .pictures import picture
from .probe import Probe, probe
from .row_checks import check_rows
from .scenarios import Verdict, judge, stored_sample
from .shards import Form
from .verdicts import findings

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Declared:
    """What a call says about rows; what it leaves open is in the layout file, or nowhere."""

    steps: int | None = None
    features: int | None = None
    dtype: str | None = None
    kind: Kind | None = None

    def layout(self, found: LayoutFile | None, dtype: str = USUAL_DTYPE) -> Layout | None:
        """None where nothing says what a row is; `dtype` where nothing says of which type."""
        steps = self.steps or (found.steps if found else None)
        features = self.features or (found.features if found else None)
        if steps is None or features is None:
            return None
        stored = self.dtype or (found.dtype if found else dtype)
        return Layout(steps=steps, features=features, dtype=stored, kind=self.kind)


@dataclass(frozen=True, slots=True)
class Inspected:
    """What was seen, what is wrong, and the shards where nothing is."""

    seen: ArrayInspection
    findings: tuple[Finding, ...]
    layout: Layout | None = None
    shards: Shards | None = None
    """None where something is wrong, or nothing is declared."""


def inspect_arrays(
    data: Path,
    declared: Declared,
    *,
    chosen: str | None = None,
    examples: int = 1,
    verify: bool = False,
    anew: bool = False,
    progress: Progress = lambda _: None,
) -> Inspected:
    """Nothing is written. `verify` reads every row, for its values or against its checksum.

    `anew`: the folder's layout file is about to be written again, and no longer counts.
    """
    files = read_headers(data)
    found = read_layout_file(files.folder)
    layout = declared.layout(found)
    if layout is None:
        return _undeclared(data, files, examples, verify, progress)
    layout = settled(files.folder, None if anew else found, layout)
    form = Form(found.form) if found else Form.PLAIN
    if form is not Form.PLAIN:
        return _packed(data, files, layout, examples, verify, progress)
    labels = labelled(files.headers)
    rows = [header for header in files.headers if header not in labels]
    verdicts = [judge(header, layout, chosen) for header in rows if header.rows]
    wrong = [*files.faults, *labels_among_features(labels, data)]
    for header in rows:
        wrong += check_header(header, layout, form, data)
    wrong += findings(verdicts, layout, data)
    shards, more = _shards(data, layout, wrong, anew)
    wrong += more
    whole = shards is not None and verify
    if shards is not None and verify and shards.checksums is None:
        wrong += row_faults(shards, progress)
    else:
        changed = list(flipped(shards, progress)) if shards and verify else []
        wrong += changed
        wrong += _value_faults(verdicts, {finding.place.file for finding in changed})
    seen = ArrayInspection(
        source=str(data),
        declared=str(layout),
        rows=_rows(verdicts),
        bytes=_bytes(files.headers),
        files=len({one.name for one in files.headers}),
        shards=(
            *(seen_as(one) for one in verdicts),
            *(_labels(header, beside) for header, beside in labels.items()),
            *(_empty(one) for one in files.headers if not one.rows),
        ),
        notes=(*_kinds(verdicts), *_notes(files, shards, verify), *_read(whole)),
        pictures=_pictures(verdicts, examples),
    )
    return Inspected(seen, tuple(wrong), layout, None if wrong else shards)


def _value_faults(verdicts: Sequence[Verdict], told: set[str]) -> list[Finding]:
    """Of files that were read rightly, and of which nothing is told that explains them."""
    good = [one for one in verdicts if one.reading and one.header.name not in told]
    return [fault for one in good for fault in one.faults]


def _shards(
    data: Path, layout: Layout, wrong: Sequence[Finding], anew: bool
) -> tuple[Shards | None, tuple[Finding, ...]]:
    if wrong:
        return None, ()
    try:
        return read_shards(data, layout, anew=anew), ()
    except BadInput as bad:  # what only the layout file shows: files that came, went or changed
        return None, bad.findings


def _undeclared(
    data: Path, files: Files, examples: int, verify: bool, progress: Progress
) -> Inspected:
    seen: list[ShardSeen] = []
    pictures: list[Picture] = []
    labels = labelled(files.headers)
    wrong = [*files.faults, *labels_among_features(labels, data)]
    for header in files.headers:
        if header in labels:
            seen.append(_labels(header, labels[header]))
            continue
        rows = stored_sample(header)
        if rows is None:
            wrong.append(no_rows(header))
            seen.append(_empty(header))
            continue
        found = probe(rows)
        seen.append(seen_plain(header, found))
        wrong += _stored_faults(header, rows, found, verify, progress)
        if len(pictures) < examples and len(header.shape) > 1:
            pictures.append(picture(f"{header.name}, row 0, as it is stored", rows[0]))
    return Inspected(
        ArrayInspection(
            source=str(data),
            declared=None,
            rows=None,
            bytes=_bytes(files.headers),
            files=len({one.name for one in files.headers}),
            shards=tuple(seen),
            notes=tuple(_notes(files, None, False)),
            pictures=tuple(pictures),
        ),
        (*wrong, *unequal(files.headers), *_of_other_dtype(files.headers, data)),
    )


def _stored_faults(
    header: Header, rows: Values, found: Probe, verify: bool, progress: Progress
) -> Iterator[Finding]:
    """Of every row, where axes and order are those of rows; of a sample otherwise."""
    if not verify or len(header.shape) != 3 or header.fortran or header.swapped_bytes:
        yield from check_rows(header.name, range(len(rows)), rows, found, None)
        return
    _, steps, features = header.shape
    layout = Layout(steps=steps, features=features, dtype=header.dtype.name)
    shard = as_shard(header, layout)
    yield from row_faults(Shards(header.path.parent, layout, (shard,)), progress)


def _of_other_dtype(headers: Sequence[Header], data: Path) -> Iterator[Finding]:
    """Training takes rows of the usual type, unless another one is declared."""
    most = usual(headers)
    if most is None or len(most.shape) != 3 or most.dtype.name == USUAL_DTYPE:
        return
    name = most.dtype.name
    sizes = f"--steps {most.shape[1]} --features {most.shape[2]}"
    yield OTHER_DTYPE.finding(
        Place(most.name),
        f"`{most.name}` holds {name}, and rows are {USUAL_DTYPE} unless another type is declared.",
        why="Values are not converted while reading, so training would refuse them.",
        fixes=(
            Fix(f"Declare it:  {sizes_as_flags(most)}"),
            Fix(
                f"Or rewrite them, without loss of values:  surefit inspect"
                f" {quote(str(data))} {sizes} --mend-to OUT"
            ),
        ),
    )


def unequal(headers: Sequence[Header]) -> Iterator[Finding]:
    """Shards that are not like most of the others, where nothing says which are right."""
    labels = labelled(headers)
    headers = [header for header in headers if header not in labels]
    kinds = Counter((one.shape[1:], one.dtype.str) for one in headers if one.rows)
    (shape, dtype), times = kinds.most_common(1)[0] if kinds else (((), ""), 0)
    for one in headers:
        if one.rows and (one.shape[1:], one.dtype.str) != (shape, dtype):
            usual = shown((*shape,)).replace("[", "[rows, ", 1)
            yield OTHER_SHAPE.finding(
                Place(one.name),
                f"`{one.name}` is {shown(one.shape)} {one.dtype.name}, and {times} of"
                f" {sum(kinds.values())} files are {usual} {np.dtype(dtype).name}.",
                fixes=(Fix("Declare what rows are, with `--steps` and `--features`."),),
            )


def _packed(
    data: Path, files: Files, layout: Layout, examples: int, verify: bool, progress: Progress
) -> Inspected:
    shards = read_shards(data, layout)
    probes = check_sample(shards)
    wrong = tuple(flipped(shards, progress)) if verify else ()
    word = "ids" if shards.form is Form.IDS else "bits"
    seen = tuple(
        replace(_with_values(_bare(one, "as declared"), found), note=f"packed as {word}")
        for one, found in zip(files.headers, probes, strict=True)
    )
    _, rows = sample(shards.shards[0], examples)
    shown = [picture(f"{seen[0].name}, row {at}", row) for at, row in enumerate(rows[:examples])]
    return Inspected(
        ArrayInspection(
            source=str(data),
            declared=str(layout),
            rows=shards.rows,
            bytes=_bytes(files.headers),
            files=len({one.name for one in files.headers}),
            shards=seen,
            notes=tuple(_notes(files, shards, verify)),
            pictures=tuple(shown),
        ),
        wrong,
        layout,
        None if wrong else shards,
    )


def _rows(verdicts: Sequence[Verdict]) -> int | None:
    known = [one.reading.rows for one in verdicts if one.reading]
    return sum(known) if len(known) == len(verdicts) else None


def _bytes(headers: Sequence[Header]) -> int:
    return sum({header.name: header.size for header in headers}.values())


def _bare(header: Header, scenario: str | None) -> ShardSeen:
    part = "" if header.part is None else f", batch {header.part}"
    order = "Fortran order" if header.fortran else "big-endian" if header.swapped_bytes else ""
    whole = f"must be read whole: {header.whole}" if header.whole else ""
    return ShardSeen(
        name=f"{header.name}{part}",
        shape=header.shape,
        dtype=header.dtype.name,
        bytes=header.size,
        scenario=scenario,
        note="; ".join(one for one in (order, whole) if one),
    )


def _empty(header: Header) -> ShardSeen:
    return replace(_bare(header, None), note="no row")


def _labels(header: Header, features: Header) -> ShardSeen:
    return replace(_bare(header, "labels"), note=f"one number for each row of {features.name}")


def _with_values(seen: ShardSeen, found: Probe) -> ShardSeen:
    return replace(
        seen,
        kind=str(found.kind) if found.finite else "not finite",
        looked_at=found.rows,
        low=found.low,
        high=found.high,
        nonzero=found.nonzero,
        sums_to_one=found.sums_to_one,
        shortest=found.shortest,
        longest=found.longest,
    )


def seen_plain(header: Header, found: Probe | None) -> ShardSeen:
    """Beside nothing that was declared."""
    bare = _bare(header, None)
    if found is None:
        return bare
    with_values = _with_values(bare, found)
    return replace(with_values, kind="one number a row") if is_flat(header) else with_values


def seen_as(verdict: Verdict) -> ShardSeen:
    bare = _bare(verdict.header, str(verdict.scenario))
    return _with_values(bare, verdict.probe) if verdict.probe else bare


def _pictures(verdicts: Sequence[Verdict], examples: int) -> tuple[Picture, ...]:
    return tuple(
        picture_of(one, at)
        for one in verdicts[:1]
        for at in range(min(examples, 0 if one.sample is None else len(one.sample)))
    )


def picture_of(verdict: Verdict, at: int) -> Picture:
    assert verdict.sample is not None
    row = verdict.positions[at] if verdict.positions else at
    how = verdict.reading or (verdict.open[0] if verdict.open else None)
    words = "as it is stored"
    if how:
        words = "as declared" if how.word == "declared" else f"read as `{how.word}`"
    return picture(f"{verdict.header.name}, row {row}, {words}", verdict.sample[at])


def _kinds(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Where files are of several kinds, which is seldom meant."""
    found: dict[str, list[str]] = {}
    for one in verdicts:
        if one.reading and one.probe and one.probe.finite:
            found.setdefault(str(one.probe.kind), []).append(one.header.name)
    if len(found) > 1:
        told = (f"{kind} in {len(names)} ({names[0]})" for kind, names in found.items())
        yield f"files are of several kinds: {', '.join(told)}"


def _read(whole: bool) -> list[str]:
    return [] if whole else ["only a sample of the rows was read"]


def _notes(files: Files, shards: Shards | None, verified: bool) -> list[str]:
    others = [name for name in files.passed_over if name != LAYOUT_FILE]
    notes = [f"passed over: {', '.join(others)}"] if others else []
    if shards and shards.checksums is None:
        notes.append(INVISIBLE)
    elif shards and shards.checksums:
        notes.append("checksums hold for every row" if verified else "checksums were not verified")
    return notes
