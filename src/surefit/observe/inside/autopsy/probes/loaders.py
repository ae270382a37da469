"""Loaders in the middle of an epoch: how many rows a batch has, how many came; the newest first."""

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from surefit.doctor.observations import Json
from surefit.observe.inside.autopsy.array_files import shown
from surefit.observe.inside.autopsy.questions import Said
from surefit.observe.inside.epochs import Epoch, newest_first

READS_AHEAD = "accelerate.data_loader"


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:  # noqa: ARG001
    """A loader of `accelerate` reads one batch ahead: it has ended while its last one is used."""
    epochs = newest_first()
    ahead = epochs[:1] if READS_AHEAD in sys.modules else []
    return {"loaders": [said(one) for one in epochs if not one.ended or one in ahead]}


def said(epoch: Epoch) -> dict[str, Json]:
    return {
        "made": shown(epoch.place.file) if epoch.place else None,
        "line": epoch.place.line if epoch.place else None,
        "size": epoch.size,
        "yielded": epoch.yielded,
        "rows": epoch.rows,
        "workers": epoch.workers,
        "streams": epoch.streams,
        "shuffles": epoch.shuffles,
        "drops": epoch.drops,
    }
