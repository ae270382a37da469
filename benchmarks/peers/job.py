"""What a process is asked to train: the same for every tool, read from a file."""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

PROMPT = "{input}\nAnswer:"
"""The text around an input; the target follows after a space and ends with EOS."""

BATCH_SIZE = 4
MAX_TOKENS = 512
LEARNING_RATE = 2e-4
LORA_R = 16
LORA_ALPHA = 32
SEED = 0


@dataclass(frozen=True, slots=True)
class Job:
    """One set-up on one model and one file of rows."""

    set_up: str
    model: str
    """A folder."""
    pad_id: int | None
    """What no real token is; None where padding has the id of EOS and only masks tell it."""
    rows: str
    """A file of JSON Lines with `input` and `target`."""
    folder: str
    """An empty one to work in; the answer is written there."""

    @property
    def answer(self) -> Path:
        return Path(self.folder) / "answer.json"

    def write(self) -> Path:
        path = Path(self.folder) / "job.json"
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")
        return path


def read_job() -> Job:
    """The job that this process was started with."""
    return Job(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
