"""Datasets that are alive and have a column of a name."""

from collections.abc import Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.alive import alive
from surefit.observe.inside.autopsy.questions import Said
from surefit.observe.inside.autopsy.values import attributes

MOST = 20


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:  # noqa: ARG001
    found = []
    for one in alive("datasets.arrow_dataset", "Dataset"):
        arrow = attributes(one).get("_data")
        if arrow is not None and about["column"] in arrow.column_names:
            shown = attributes(one).get("_format_columns")
            hidden = type(shown) is list and about["column"] not in shown
            found.append({"rows": int(arrow.num_rows), "hidden": hidden})
    return {"datasets": found[:MOST]}
