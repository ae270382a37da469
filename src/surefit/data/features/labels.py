"""Arrays that hold one number for each row of the features beside them, as labels do."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from surefit.doctor.findings import Fact, Finding, Fix, Place

from .checks import OTHER_SHAPE, shown
from .headers import Header


def labelled(headers: Iterable[Header]) -> dict[Header, Header]:
    """Labels -> the features that have as many rows; empty where no array has several axes."""
    every = list(headers)
    features = {header.rows: header for header in reversed(every) if not is_flat(header)}
    return {
        header: features[header.rows]
        for header in every
        if is_flat(header) and header.rows in features
    }


def usual(headers: Iterable[Header]) -> Header | None:
    """The first array of the shape and type that most have; of three axes, if any has three."""
    alike: dict[tuple[object, ...], list[Header]] = {}
    for header in headers:
        if header.rows and not is_flat(header):
            alike.setdefault((header.shape[1:], header.dtype.str), []).append(header)
    most = max(alike.values(), key=lambda some: (len(some[0].shape) == 3, len(some)), default=None)
    return most[0] if most else None


def is_flat(header: Header) -> bool:
    """A row of it is one number, which no features are."""
    return header.rows > 0 and header.values == header.rows


def labels_among_features(found: Mapping[Header, Header], data: Path) -> Iterator[Finding]:
    """`found` as `labelled` gives it; `data` is as the user named it."""
    for labels, features in found.items():
        yield OTHER_SHAPE.finding(
            Place(labels.name),
            f"`{labels.name}` holds one number for each of the {features.rows:,} rows of"
            f" `{features.name}`, as labels do.",
            facts=(
                Fact("it is", f"{shown(labels.shape)} {labels.dtype.name}"),
                Fact("beside it", f"{shown(features.shape)} {features.dtype.name}"),
            ),
            why="Every array of the folder is read as features; pretraining has no use for labels.",
            fixes=(
                Fix("Keep labels in another folder than features."),
                Fix(f"Or name only the file of features:  {data / features.name}"),
            ),
        )
