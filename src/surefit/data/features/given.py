"""Rows as users are given them: float values, or ids, of whatever form is read."""

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from surefit.doctor.findings import Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import WrongCall

from .buffers import Values
from .decode import IDS_OUT_OF_RANGE, expand_bits, expand_ids
from .layout import Kind
from .shards import Form, Shard

NOT_ONE_HOT = refusal(
    "SF051", "ids-of-rows-that-are-not-one-hot", "Only one-hot rows can be given as ids."
)

AT_ONCE = 64
"""Rows that are expanded together, so that what is made in between stays small."""


@dataclass(frozen=True, slots=True)
class Given:
    """How rows are made of what is stored."""

    form: Form
    stored_dtype: str
    shape: tuple[int, ...]
    """Of a row that is read: steps and features."""

    ids: bool = False

    @property
    def as_stored(self) -> bool:
        """Nothing has to be made: rows are given where they were read to."""
        return self.form in (Form.PLAIN, Form.DECODED) and self.dtype == self.stored_dtype

    @property
    def dtype(self) -> str:
        return "int64" if self.ids else "float32"

    @property
    def given_shape(self) -> tuple[int, ...]:
        return self.shape[:1] if self.ids else self.shape

    @property
    def row_bytes(self) -> int:
        return prod(self.given_shape) * np.dtype(self.dtype).itemsize

    def make(self, stored: NDArray[np.uint8], out: Values) -> None:
        """`stored` are bytes of rows, `out` is `[rows, *given_shape]`."""
        for begin in range(0, len(stored), AT_ONCE):
            try:
                self._make(stored[begin : begin + AT_ONCE], out[begin : begin + AT_ONCE])
            except WrongRow as wrong:
                raise WrongRow(begin + wrong.index, wrong.finding) from None

    def _make(self, stored: NDArray[np.uint8], out: Values) -> None:
        if self.form is Form.BITS:
            expand_bits(stored, out)
            return
        values = stored.reshape(-1).view(self.stored_dtype).reshape(len(stored), -1)
        if self.form is Form.IDS:
            self._refuse_out_of_range(values)
            if self.ids:
                np.copyto(out, values, casting="unsafe")
            else:
                expand_ids(values, out)
        elif self.ids:
            _ids_of(values.reshape(-1, *self.shape), out)
        else:
            np.copyto(out, values.reshape(out.shape), casting="unsafe")

    def _refuse_out_of_range(self, ids: Values) -> None:
        features = self.shape[-1]
        if ids.size and not (ids.min() >= 0 and ids.max() < features):
            row, step = np.argwhere((ids < 0) | (ids >= features))[0].tolist()
            named = f"step {step} names feature {ids[row, step]}"
            raise WrongRow(
                row,
                IDS_OUT_OF_RANGE.finding(
                    Place("packed rows"),
                    f"{named}; the layout has {features}, from 0 to {features - 1}.",
                    fixes=(Fix("Pack the folder again, from the rows that it was made of."),),
                ),
            )


class WrongRow(Exception):  # noqa: N818 - it reads as what it is
    """A row of a batch, by its place there, that is not what it was declared to be."""

    def __init__(self, index: int, finding: Finding) -> None:
        self.index, self.finding = index, finding
        super().__init__(finding.headline)


def given_of(shard: Shard, kind: Kind | None, ids: bool) -> Given:
    """Refuses ids of rows that are not declared to be one-hot."""
    if ids and kind is not Kind.ONE_HOT:
        found = f"these are {kind}" if kind else "no kind is declared"
        raise WrongCall(not_one_hot(f"`ids=True` needs one-hot rows, and {found}."))
    return Given(shard.form, shard.stored_dtype or shard.dtype, shard.shape, ids)


def not_one_hot(headline: str) -> Finding:
    return NOT_ONE_HOT.finding(
        Place("ids"),
        headline,
        fixes=(
            Fix("If the rows are one-hot, declare it: `kind='one-hot'`."),
            Fix("If they are not, take them as they are: `ids=False`."),
        ),
    )


def _ids_of(rows: Values, out: Values) -> None:
    """Where each step has its 1, if it has one and nothing else."""
    np.argmax(rows, axis=-1, out=out)
    there = np.take_along_axis(rows, out[..., None], axis=-1)[..., 0]
    if (there == 1).all() and np.count_nonzero(rows) == out.size:
        return
    wrong = (there != 1) | (np.count_nonzero(rows, axis=-1) != 1)
    row, step = np.argwhere(wrong)[0].tolist()
    raise WrongRow(row, not_one_hot(f"it is declared to be one-hot, and step {step} is not."))
