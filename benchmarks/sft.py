"""How fast surefit fine-tunes, and in how much memory, against its peers on the same rows.

    python -m benchmarks.sft --set-up          environments of LLaMA-Factory and Axolotl, once
    python -m benchmarks.sft [--rows 200] [--rounds 3] [--only 'qwen3/*'] [--results FILE]

Every set-up is a process of its own with one thread. They take turns in an order that is shuffled
in every round; the tables have medians over the rounds. CPU time is that of the whole process from
the beginning of its first step to the end of its last, so that making batches and writing logs
count; memory is the kernel's peak of the resident size above its value before the first step (with
surefit: before its preflight). What is kept in a file of results is not measured again.
"""

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from benchmarks.peers import tables
from benchmarks.peers.environments import AXOLOTL, LLAMAFACTORY, PEERS, make_environment
from benchmarks.peers.job import BATCH_SIZE, LORA_ALPHA, LORA_R, MAX_TOKENS, Job
from benchmarks.peers.workload import make_qwen3, make_rows, make_smollm2

ROOT = Path(__file__).parents[1]
WORK = ROOT / "runs" / "benchmark-sft"
"""Models and rows, made once."""

MODULES = {
    "surefit": "train_surefit",
    "surefit-packing": "train_surefit",
    "surefit-all": "train_surefit",
    "surefit-auto": "train_surefit",
    "trainer": "train_trainer",
    "trainer-all": "train_trainer",
    "trl": "train_trl",
    "trl-packed": "train_trl",
    "trl-bf16": "train_trl",
    "llamafactory-packed": "train_llamafactory",
    "axolotl-packed": "train_axolotl",
    "same-batches": "same_batches",
    "collation": "collation",
}
PYTHONS = {"llamafactory-packed": LLAMAFACTORY.python, "axolotl-packed": AXOLOTL.python}
SPEED = tuple(name for name in MODULES if name not in ("same-batches", "collation"))
ONCE = ("qwen3/trl", "qwen3/same-batches", "qwen3/collation")
"""Measured in the first round alone: slow, or the same every time, or with rounds of its own."""


@dataclass(frozen=True, slots=True)
class Model:
    """What is trained, and by whom."""

    name: str
    title: str
    pad_id: int | None
    set_ups: tuple[str, ...]

    def folder(self) -> Path:
        make = {"qwen3": make_qwen3, "smollm2": make_smollm2}[self.name]
        return make(WORK / self.name)


QWEN3 = Model(
    "qwen3",
    "Qwen3 architecture, 4 layers, hidden 256, vocabulary 151,936, tied head, random weights",
    0,
    (*SPEED, "same-batches", "collation"),
)
SMOLLM2 = Model(
    "smollm2",
    "SmolLM2-135M-Instruct, 30 layers, hidden 576, vocabulary 49,152",
    None,  # its padding is EOS
    ("surefit", "surefit-packing", "surefit-auto", "trainer", "trl", "trl-packed", "trl-bf16"),
)
MODELS = (QWEN3, SMOLLM2)


@dataclass(frozen=True, slots=True)
class Measurement:
    """One process to run."""

    model: Model
    set_up: str
    rows: int
    round: int

    @property
    def name(self) -> str:
        return f"{self.model.name}/{self.set_up}"

    @property
    def key(self) -> str:
        return f"{self.name}, {self.rows} rows, round {self.round}"


def planned(rows: Mapping[str, int], rounds: int, only: Sequence[str]) -> Iterator[Measurement]:
    """Round by round, the set-ups of all models shuffled anew in each."""
    chance = random.Random(0)
    names = [(model, set_up) for model in MODELS for set_up in model.set_ups]
    for number in range(1, rounds + 1):
        for model, set_up in chance.sample(names, len(names)):
            one = Measurement(model, set_up, rows[model.name], number)
            chosen = not only or any(fnmatch(one.name, pattern) for pattern in only)
            if chosen and (number == 1 or (one.name not in ONCE and model is QWEN3)):
                yield one


def measure(one: Measurement) -> dict[str, Any] | None:
    """What the process answered; None if it failed, after saying why."""
    python = PYTHONS.get(one.set_up, Path(sys.executable))
    if not python.exists():
        print(f"{one.key}: run `python -m benchmarks.sft --set-up` first", file=sys.stderr)
        return None
    model = one.model.folder()
    rows = make_rows(WORK / f"rows-{one.rows}.jsonl", one.rows, QWEN3.folder())
    with tempfile.TemporaryDirectory(prefix="surefit-") as folder:
        job = Job(one.set_up, str(model), one.model.pad_id, str(rows), folder)
        command = [str(python), "-m", f"benchmarks.peers.{MODULES[one.set_up]}", str(job.write())]
        log = Path(folder) / "log.txt"
        with log.open("wb") as written:
            ended = subprocess.run(
                command, cwd=folder, env=alone(folder), stdout=written, stderr=written, check=False
            )
        if ended.returncode == 0 and job.answer.exists():
            found: dict[str, Any] = json.loads(job.answer.read_text(encoding="utf-8"))
            return found
        said = log.read_text(encoding="utf-8", errors="replace")[-3000:]
        print(f"{one.key} failed with {ended.returncode}:\n{said}", file=sys.stderr, flush=True)
        return None


def alone(folder: str) -> dict[str, str]:
    """One thread, no network, no cache of an earlier process."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "src"))),
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "RAYON_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HOME": f"{folder}/cache",
        "HF_HUB_OFFLINE": "1",
        "AXOLOTL_DO_NOT_TRACK": "1",
    }


class Results:
    """Answers by what was measured, kept in a file of JSON Lines if there is one."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.answers: dict[str, Any] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                record = json.loads(line)
                self.answers[record["measured"]] = record["answer"]

    def add(self, one: Measurement, answer: dict[str, Any]) -> None:
        self.answers[one.key] = answer
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"measured": one.key, "answer": answer}) + "\n")

    def of(self, name: str, rows: int) -> list[Any]:
        """All rounds."""
        start = f"{name}, {rows} rows, "
        return [answer for key, answer in self.answers.items() if key.startswith(start)]


def run(plan: Sequence[Measurement], results: Results, again: bool) -> None:
    for number, one in enumerate(plan, start=1):
        if one.key in results.answers and not again:
            continue
        began = time.monotonic()
        answer = measure(one)
        if answer is not None:
            results.add(one, answer)
        print(
            f"{number}/{len(plan)} {one.key}: {time.monotonic() - began:.0f} s, "
            f"load {os.getloadavg()[0]:.1f}",
            file=sys.stderr,
            flush=True,
        )


def found_of(model: Model, results: Results, rows: int) -> dict[str, list[Any]]:
    """Answers by set-up, of those that train for speed."""
    answers = {one: results.of(f"{model.name}/{one}", rows) for one in model.set_ups}
    return {one: found for one, found in answers.items() if found and one in SPEED}


def print_tables(results: Results, rows: Mapping[str, int]) -> None:
    seen: list[Any] = []
    for model in MODELS:
        found = found_of(model, results, rows[model.name])
        if not found:
            continue
        lines = {set_up: tables.line_of(set_up, answers) for set_up, answers in found.items()}
        seen += [answer for answers in found.values() for answer in answers]
        print(f"\n{model.title}; {rows[model.name]} rows:\n\n{tables.HEAD}")
        print("\n".join(map(str, lines.values())))
        print(f"\n{tables.CPU_ONLY}\n\n{tables.ratios(lines, aimed=model is QWEN3)}")
    for answer in results.of("qwen3/same-batches", rows["qwen3"])[:1]:
        print(f"\n{tables.same_batches(answer)}")
    for answer in results.of("qwen3/collation", rows["qwen3"])[:1]:
        print(f"\n{tables.collation(answer)}")
    print(
        f"\nLoRA r={LORA_R}, alpha={LORA_ALPHA} on all linear layers, batch {BATCH_SIZE} unless "
        f"said, at most {MAX_TOKENS} tokens, fp32, AdamW, no gradient checkpointing, one thread a "
        f"process; {os.cpu_count()} cores, Python {platform.python_version()}. Versions:"
    )
    print("\n".join(f"- {one}" for one in tables.versions(seen)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--set-up", action="store_true", help="make the peers' environments")
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--real-rows", type=int, default=32, help="rows for the real model")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], help="such as 'qwen3/trl*' 'smollm2/*'")
    parser.add_argument("--results", type=Path, help="a file to keep, and go on from")
    parser.add_argument("--again", action="store_true", help="measure what the file holds, too")
    parser.add_argument("--print", action="store_true", help="the tables of a file, nothing else")
    asked = parser.parse_args()
    if asked.set_up:
        for peer in PEERS:
            make_environment(peer)
        return
    rows = {"qwen3": asked.rows, "smollm2": asked.real_rows}
    results = Results(asked.results)
    if not asked.print:
        run(list(planned(rows, asked.rounds, asked.only)), results, asked.again)
    print_tables(results, rows)


if __name__ == "__main__":
    main()
