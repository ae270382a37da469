"""What a million rows cost before the first step: rows, seconds and peak memory, stage by stage.

    python benchmarks/million_rows.py [--rows 1000000] [--limit 2000]

The rows are made first: sentences of the embedded rows, of about 145 tokens, one in 200 of them a
copy or nearly a copy of an earlier one. A child process then reads, searches, splits, tokenizes,
orders and packs them and lays out an epoch's batches, with torch and transformers loaded as in a
run. Peak memory is what Linux calls VmHWM, mapped files included; it is set back before each stage.
With `--limit` the child is not allowed more than so many megabytes of data of its own.
"""

import argparse
import itertools
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

STEP_ROWS = 64
PACK_TOKENS = 2048
TWINS = 200
"""One row in so many has a twin."""

Result = TypeVar("Result")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--limit", type=int, help="megabytes of data that the child may hold")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        if asked.limit:
            resource.setrlimit(resource.RLIMIT_DATA, (asked.limit * 10**6,) * 2)
        measure(asked.measure)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.jsonl"
        make_rows(file, asked.rows)
        print(f"{asked.rows:,} rows, {file.stat().st_size / 1e6:,.0f} MB of JSON Lines\n")
        limit = ["--limit", str(asked.limit)] if asked.limit else []
        child = [sys.executable, __file__, "--measure", str(file), *limit]
        sys.exit(subprocess.run(child, check=False).returncode)


def make_rows(file: Path, count: int) -> None:
    chance = random.Random(0)
    with file.open("w") as opened:
        for row in itertools.islice(_rows(chance), count):
            opened.write(json.dumps(row) + "\n")


def _rows(chance: random.Random) -> Iterator[dict[str, str]]:
    from surefit.embedded import ROWS

    lines = [json.loads(line)["input"] for line in ROWS.read_text().splitlines()]
    sentences = [part for line in lines for part in line.replace("\n", " ").split(". ")]
    earlier: list[dict[str, str]] = []
    while True:
        said = chance.choices(sentences, k=max(2, round(chance.lognormvariate(2.0, 0.4))))
        text = f"{'. '.join(said)}. Case {chance.randrange(10**9)}. Is it so?"
        row = {"input": text, "target": _target(text, chance)}
        yield row
        earlier = [*earlier[-999:], row]
        if chance.randrange(TWINS) == 0:
            yield _twin(chance.choice(earlier), chance)


def _target(text: str, chance: random.Random) -> str:
    """Half of the answers are shared by many rows."""
    if chance.random() < 0.5:
        return chance.choice(["yes", "no", "it is not said"])
    return chance.choice(text.split())


def _twin(row: dict[str, str], chance: random.Random) -> dict[str, str]:
    text = row["input"]
    changed = chance.choice([text, text.upper(), f"{text} ", text.replace("Case", "Note")])
    return row | {"input": changed}


def measure(file: Path) -> None:
    import torch
    import transformers

    from surefit.data.batches import PadRows
    from surefit.data.order import epoch_batches, padding_waste
    from surefit.data.packing import PackRows, packed_share
    from surefit.data.peak_memory import peak_memory
    from surefit.data.rows import read_rows
    from surefit.data.sources import count_rows
    from surefit.data.split import split
    from surefit.data.templates import PLAIN, PlainTemplate
    from surefit.data.tokens import RowTokenizer, tokenize
    from surefit.data.working_folder import working_folder
    from surefit.models.load import find_model, load_tokenizer

    tokenizer = load_tokenizer(find_model("embedded"))
    peaks: list[int] = []

    def stage(name: str, work: Callable[[], Result], rows: int = 0) -> Result:
        _reset_peak()
        began, cpu = time.monotonic(), time.process_time()
        result = work()
        peaks.append(peak_memory())
        seconds, cpu = time.monotonic() - began, time.process_time() - cpu
        of = f"{rows:,}" if rows else ""
        print(
            f"| {name} | {of} | {seconds:,.1f} | {cpu:,.1f} | {peaks[-1] / 1e6:,.0f} |", flush=True
        )
        return result

    print(f"torch {torch.__version__}, transformers {transformers.__version__}")
    print("| stage | rows | seconds | CPU seconds | peak memory, MB |")
    print("| --- | --- | --- | --- | --- |")
    stage("torch, transformers and a tokenizer loaded", lambda: None)
    with working_folder() as folder:
        count = count_rows(str(file)) or 0
        read = stage("read", lambda: read_rows(str(file), store=folder / "rows.arrow"), count)
        parts = stage("duplicates, split", lambda: split(read.rows, 0.1, 0), count)
        to_tokens = RowTokenizer(tokenizer, PlainTemplate(PLAIN), 512)
        train = stage(
            "tokenize",
            lambda: tokenize(parts.train, to_tokens, store=folder / "train.arrow"),
            len(parts.train),
        )
        stage("fingerprint", train.fingerprint, len(train))
        lengths = train.lengths.tolist()
        order = stage("order", lambda: epoch_batches(lengths, STEP_ROWS, 0, 0), len(train))

        def pack() -> list[list[list[int]]]:
            return [packed_share([batch], lengths, 0, 1, PACK_TOKENS) for batch in order]

        packed = stage("pack", pack, len(train))
        pad_rows, pack_rows = PadRows(tokenizer), PackRows()

        def padded_epoch() -> None:
            for batch in order:
                pad_rows(train.features(batch))

        def packed_epoch() -> None:
            for step in packed:
                for part in step:
                    pack_rows(train.features(part))

        stage("an epoch of padded batches", padded_epoch, len(train))
        stage("an epoch of packed batches", packed_epoch, len(train))
        tokens = sum(lengths)
        sequences = sum(map(len, packed))
    print(
        f"\n{count:,} rows, {len(parts.groups):,} groups of duplicates, {tokens:,} tokens, median "
        f"{sorted(lengths)[len(lengths) // 2]}, padding {padding_waste(lengths, order):.1%}, "
        f"packed {tokens / (sequences * PACK_TOKENS):.1%} full; peak memory of all stages "
        f"{max(peaks) / 1e6:,.0f} MB"
    )


def _reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


if __name__ == "__main__":
    main()
