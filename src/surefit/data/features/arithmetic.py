"""What the sizes of an array say, and what they rule out, each with its sum."""

from collections.abc import Iterator, Sequence
from math import prod

from surefit.doctor.findings import Fact

from .headers import Header
from .layout import Layout
from .ways import ONE_ANSWER, Candidate, Scenario


def sizes(header: Header, layout: Layout, candidates: Sequence[Candidate]) -> Iterator[Fact]:
    steps, features = layout.shape
    yield Fact("declared", str(layout))
    order = ", Fortran order" if header.fortran else ""
    yield Fact("in the file", f"{list(header.shape)} {header.dtype.name}{order}")
    if candidates and header.shape[1:] != layout.shape:
        rows = candidates[0].reading.rows
        product = " x ".join(map(str, header.shape))
        yield Fact("arithmetic", f"{product} = {rows:,} x {steps} x {features}")
    if not candidates and len(header.shape) > 1:
        row = prod(header.shape[1:]) * header.dtype.itemsize
        times = row / layout.row_bytes
        yield Fact("one row", f"{row:,} bytes, {times:.3g} times the {layout.row_bytes:,} declared")


def ruled_out_by_sizes(
    shape: tuple[int, ...], layout: Layout, candidates: Sequence[Candidate]
) -> Iterator[Fact]:
    """What the sizes alone exclude, each with its sum."""
    if any(one.scenario in ONE_ANSWER for one in candidates):
        return
    steps, features = layout.shape
    possible_ = {one.scenario for one in candidates}
    whole, row = prod(shape), layout.row_values
    if not possible_ & {Scenario.FLATTENED, Scenario.TURNED}:
        yield Fact("flattened", f"the last axis would be {steps} x {features} = {row}")
    if not possible_ & {Scenario.SWAPPED, Scenario.RESHAPED, Scenario.ROWS_NOT_FIRST}:
        absent = [str(size) for size in (steps, features) if size not in shape]
        if absent:
            yield Fact("swapped axes", f"no axis is {' or '.join(absent)}")
    if not candidates and whole % row:
        product = " x ".join(map(str, shape))
        yield Fact("wrong reshape", f"{product} = {whole:,}: no multiple of {row}")
    if len(shape) == 2 and shape[1] == features and shape[0] % steps:
        yield Fact("rows and steps in one axis", f"{shape[0]:,} is no multiple of {steps} steps")
    if len(shape) == 3 and shape[1] != steps and shape[2] != features:
        said = f"axis 1 would be {steps} and is {shape[1]}"
        yield Fact("other width", said)
