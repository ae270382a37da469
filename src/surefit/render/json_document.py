"""Findings as one JSON document, the same for every command."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import UNSET, Struct, UnsetType

from surefit import __version__
from surefit.doctor import findings as found
from surefit.writing import put

from .visible import in_json

SCHEMA = 2

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


class Place(Struct):
    """File and lines; the row where a file has rows instead of lines; the cell of a notebook; from
    which column up to which, where that is known."""

    file: str
    line: int | None
    end_line: int | None
    row: int | UnsetType = UNSET
    cell: int | UnsetType = UNSET
    column: int | UnsetType = UNSET
    end_column: int | UnsetType = UNSET


class Fact(Struct):
    """One measured thing."""

    name: str
    value: str


class Proof(Struct):
    """How a fix was tried, or why it was not."""

    status: str
    said: str


class Fix(Struct):
    """A change, with a unified diff where it is one of code."""

    text: str
    patch: str | None
    choice: bool
    proof: Proof | None


class Finding(Struct):
    """One fault at one place."""

    rule: str
    code: str
    severity: str
    place: Place
    headline: str
    facts: list[Fact]
    ruled_out: list[str]
    why: str
    fixes: list[Fix]
    python_said: str
    ranks: list[int] | UnsetType = UNSET


class Ended(Struct):
    """How the command ended: its exit code, and the exception if one ended it."""

    code: int
    exception: str | None = None


class Document(Struct):
    """All that `--json` writes, but for what single commands add."""

    surefit: str
    schema: int
    command: str
    script: str | None
    ended: Ended
    findings: list[Finding]
    not_observed: list[str]


def document(
    command: str,
    ended: Ended,
    findings: Sequence[found.Finding],
    *,
    script: str | None = None,
    not_observed: Sequence[str] = (),
    parts: Mapping[str, Json] | None = None,
) -> bytes:
    """The document, indented; `parts` stand beside `findings` under their own names."""
    made = Document(
        __version__,
        SCHEMA,
        command,
        script,
        ended,
        [as_struct(finding) for finding in findings],
        list(not_observed),
    )
    whole = {**msgspec.to_builtins(made), **(parts or {})}
    written = msgspec.json.format(msgspec.json.encode(encodable(whole)), indent=2)
    return in_json(written.decode()).encode() + b"\n"


def as_struct(finding: found.Finding) -> Finding:
    return Finding(
        finding.rule,
        finding.code,
        finding.severity.value,
        place_as_struct(finding.place),
        finding.headline,
        [Fact(fact.name, fact.value) for fact in finding.facts],
        [f"{fact.name}: {fact.value}" for fact in finding.ruled_out],
        finding.why,
        [fix_as_struct(fix) for fix in finding.fixes],
        finding.python_said,
        list(finding.ranks) or UNSET,
    )


def place_as_struct(place: found.Place) -> Place:
    rest = (place.row, place.cell, place.column, place.end_column)
    numbers = (UNSET if number is None else number for number in rest)
    file = place.file if place.index is None else str(place)
    return Place(file, place.line, place.end_line, *numbers)


def place_as_json(place: found.Place) -> Json:
    """A place as findings have it, for what single commands add."""
    made: Json = msgspec.to_builtins(place_as_struct(place))
    return made


def fix_as_struct(fix: found.Fix) -> Fix:
    proof = Proof(fix.proof.status, fix.proof.said) if fix.proof else None
    return Fix(text=fix.text, patch=fix.patch, choice=fix.choice, proof=proof)


def encodable(value: Json) -> Json:
    """The same with unpaired surrogates, as in names of odd files, written out."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {str(encodable(key)): encodable(inside) for key, inside in value.items()}
    if isinstance(value, Sequence):
        return [encodable(inside) for inside in value]
    return value


def write(path: Path, content: bytes) -> None:
    """Whole or not at all; what is no file (a pipe, a device) is written to as it is."""
    if path.exists() and not path.is_file():
        path.write_bytes(content)
    else:
        put(path, content)
