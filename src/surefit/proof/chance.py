"""A second run with the chances of the first: hashes, and random streams that nobody seeded."""

import json
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from surefit.doctor.observations import Chance
from surefit.doctor.recording import Recording
from surefit.observe.inside.chance import AGAIN
from surefit.observe.script import Launch

HASHES = "PYTHONHASHSEED"
"""Without it the order of a set of strings is another in every run."""


def that_can_be_repeated(launch: Launch) -> Launch:
    """The same launch with a seed for hashes, drawn as Python would draw it."""
    if HASHES in os.environ:
        return launch
    seed = str(secrets.randbelow(1 << 32))
    return replace(launch, environment={**launch.environment, HASHES: seed})


@contextmanager
def again(launch: Launch, first: Recording) -> Iterator[Launch]:
    """The launch for a run that begins as the first one did."""
    states = {one.stream: one.state for one in first.all(Chance)}
    with tempfile.TemporaryDirectory(prefix="surefit-") as folder:
        file = Path(folder) / "chance.json"
        file.write_text(json.dumps(states))
        yield replace(launch, environment={**launch.environment, AGAIN: str(file)})
