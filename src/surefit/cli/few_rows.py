"""What `surefit check` says of batches that it cut to their first rows."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from surefit.doctor.cells import Cells
from surefit.doctor.findings import Fact, Place
from surefit.render.json_document import Json, place_as_json

if TYPE_CHECKING:
    from surefit.doctor.observations import Shrunk
    from surefit.preflight import Preflight

OF_THE_WHOLE_BATCH = (
    "full batches (cut: {}): their remaining rows, their memory, hard-coded batch sizes, the last"
    " batch; `--rows 0` keeps all rows"
)


def on(made: "Preflight") -> str:
    """`, on 4 rows of 32`, where the run that is told of was."""
    return f", on {parts_of(made.ran.cut)}" if made.on_cut_batches else ""


def not_checked(made: "Preflight") -> list[str]:
    return [OF_THE_WHOLE_BATCH.format(sizes(made.ran.cut))] if made.on_cut_batches else []


def facts(made: "Preflight") -> list[Fact]:
    return [Fact("batches", sizes(made.ran.cut))] if made.on_cut_batches else []


def sizes(cut: Sequence["Shrunk"]) -> str:
    """`32 -> 4 rows`, each size once."""
    return ", ".join(dict.fromkeys(f"{one.rows} -> {one.kept} rows" for one in cut))


def parts_of(cut: Sequence["Shrunk"]) -> str:
    """`4 rows of 32`."""
    return ", ".join(dict.fromkeys(f"{one.kept} rows of {one.rows}" for one in cut))


def lines(made: "Preflight") -> Iterator[str]:
    """What was not cut, and why; what the two runs did not have in common."""
    yield from dict.fromkeys(map(taken_whole, made.small.left_alone))
    differs = only_with_few_rows(made)
    if differs is not None:
        yield differs


def taken_whole(one: "Shrunk") -> str:
    where = f" of {one.place}" if one.place else ""
    return f"Batches{where} are not cut: {one.why_not}"


def only_with_few_rows(made: "Preflight") -> str | None:
    """What the run on a few rows met, and the one with whole batches did not."""
    few, own = made.small, made.ran
    if not made.was_repeated:
        return None
    if few.crash is not None:
        frame = few.crash.own_frame
        where = f" at {frame.place}" if frame else ""
        what = f"it stopped{where} ({few.crash.said.partition(chr(10))[0]})"
        differs = own.crash is None
    elif not few.reached_a_step:
        code = f" with code {few.code}" if few.code else ""
        what = f"it ended{code} before its first optimizer step"
        differs = own.reached_a_step
    else:
        told = {one.rule for one in made.examined.findings}
        gone = [one for one in made.found_in_small if one.rule not in told]
        what = " and ".join(f"`{one.rule}` was found at {one.place}" for one in gone)
        differs = bool(gone)
    if not differs:
        return None
    return f"With {parts_of(few.cut)} {what}, but not with full batches"


def part(made: "Preflight", cells: Cells | None) -> Json:
    """For the JSON document."""

    def where(place: Place | None) -> Json:
        if place is None or cells is None:
            return None if place is None else place_as_json(place)
        return place_as_json(cells.place(place))

    differs = only_with_few_rows(made)
    few = made.small
    return {
        "shrunk": [
            {"place": where(one.place), "rows": one.rows, "kept": one.kept} for one in few.cut
        ],
        "left_alone": [
            {"place": where(one.place), "rows": one.rows, "why": one.why_not}
            for one in few.left_alone
        ],
        "told_of": "shrunk" if made.on_cut_batches else "own",
        "differs": differs if differs is None or cells is None else cells.text(differs),
    }
