"""Making a batch, and nothing else: surefit's collator, transformers', and a bare copy."""

import json
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from .job import BATCH_SIZE, read_job
from .train_trainer import tokenized

ROUNDS = 15
REPEATS = 20
"""Times that a round makes all batches."""


def seconds(make: Callable[[Any], Any], batches: Sequence[Any]) -> float:
    """CPU time of one batch."""
    began = time.process_time()
    for _ in range(REPEATS):
        for batch in batches:
            make(batch)
    return (time.process_time() - began) / REPEATS / len(batches)


def main() -> None:
    job = read_job()
    import numpy as np
    from transformers import AutoTokenizer, DataCollatorForSeq2Seq

    from surefit.data.batches import PadRows

    tokenizer: Any = AutoTokenizer.from_pretrained(job.model)
    rows = sorted(tokenized(job, tokenizer).to_list(), key=lambda row: len(row["input_ids"]))
    lists = [rows[at : at + BATCH_SIZE] for at in range(0, len(rows), BATCH_SIZE)]
    kept = ("input_ids", "labels")
    arrays = [
        [{name: np.asarray(row[name], dtype=np.int64) for name in kept} for row in batch]
        for batch in lists
    ]
    surefit, theirs = PadRows(tokenizer), DataCollatorForSeq2Seq(tokenizer)
    done = [[values.numpy() for values in surefit(batch).values()] for batch in lists]
    ways: dict[str, tuple[Callable[[Any], Any], Sequence[Any]]] = {
        "bare copy": (lambda batch: [values.copy() for values in batch], done),
        "surefit, arrays": (surefit, arrays),
        "surefit, lists": (surefit, lists),
        "DataCollatorForSeq2Seq": (theirs, lists),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, (make, batches) in ways.items():
            taken[name].append(seconds(make, batches))
    answer = {name: statistics.median(values) for name, values in taken.items()}
    job.answer.write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
