"""What a distillation loss, and a whole step, cost in CPU time and memory, against their peers.

    python -m benchmarks.distill --set-up           Liger's environment, once
    python -m benchmarks.distill [--rounds 3] [--only NAME ...] [--results FILE]
    python -m benchmarks.distill --results FILE --print

Every measurement is a process of its own with one thread. Of a loss: hidden states of both models
are there, the loss goes forward and back to the student's hidden states and the weight of its head.
Of a step: both models are there, the teacher goes forward, the student forward and back, and the
optimizer moves its weights. They take turns in an order that is shuffled in every round; the tables
have medians over the rounds. Memory is the kernel's peak of the resident size above its value
before. What is kept in a file of results is not measured again.
"""

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.distilling import step_workload as steps
from benchmarks.distilling.contenders import CONTENDERS, LIGER
from benchmarks.distilling.steps import STEPS
from benchmarks.distilling.workload import (
    ALPHA,
    BATCH,
    TEACHER_WIDTH,
    TEMPERATURE,
    TOKENS,
    VOCABULARY,
    WIDTH,
)
from benchmarks.loading.environments import make

ROOT = Path(__file__).parents[1]
SHARES = {1.0: "All places supervised", 0.5: "Half of the places supervised"}
HEAD = """\
| loss | contains | CPU-s | of naive | of the limit | peak MB | of naive | mean loss |
| --- | --- | --- | --- | --- | --- | --- | --- |"""
STEP_HEAD = """\
| step | loss | CPU-s a step | tokens / CPU-s | of TRL | peak MB | of TRL | KL, first batch |
| --- | --- | --- | --- | --- | --- | --- | --- |"""


@dataclass(frozen=True, slots=True)
class Aim:
    """At most so much of the naive loss, there and back."""

    title: str
    name: str
    share: float
    what: str
    most: float


AIMS = (
    Aim("CPU time", "surefit", 1.0, "cpu", 0.85),
    Aim("CPU time, half masked", "surefit", 0.5, "cpu", 0.45),
    Aim("CPU time, top 64 of the teacher kept", "surefit-top-64", 1.0, "cpu", 0.5),
    Aim("peak memory", "surefit", 1.0, "memory", 0.13),
)


@dataclass(frozen=True, slots=True)
class Measurement:
    """One process to run."""

    name: str
    share: float
    round: int

    @property
    def key(self) -> str:
        return f"{self.name}, {self.share:g} supervised, round {self.round}"


class Results:
    """Answers by what was measured, kept in a file of JSON Lines if there is one."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.answers: dict[str, Any] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                record = json.loads(line)
                self.answers[record["measured"]] = record["answer"]

    def add(self, one: Measurement, answer: Any) -> None:
        self.answers[one.key] = answer
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"measured": one.key, "answer": answer}) + "\n")

    def of(self, name: str, share: float) -> list[Any]:
        """All rounds."""
        start = f"{name}, {share:g} supervised, "
        return [answer for key, answer in self.answers.items() if key.startswith(start)]

    def median(self, name: str, share: float, what: str) -> float | None:
        found = [one[what] for one in self.of(name, share)]
        return float(statistics.median(found)) if found else None


def planned(rounds: int, only: Sequence[str]) -> Iterator[Measurement]:
    """Round by round, shuffled anew in each."""
    chance = random.Random(0)
    every = [(name, share) for name in (*CONTENDERS, *STEPS) for share in SHARES]
    for number in range(1, rounds + 1):
        for name, share in chance.sample(every, len(every)):
            if (not only or name in only) and (name, share) != ("gathered", 1.0):
                yield Measurement(name, share, number)


def measure(one: Measurement) -> Any:
    """What the process answered; None if it failed, after saying so."""
    environment = None if one.name in STEPS else CONTENDERS[one.name].environment
    python = environment.python if environment else Path(sys.executable)
    if not python.exists():
        print(f"{one.key}: run `python -m benchmarks.distill --set-up` first", file=sys.stderr)
        return None
    with tempfile.TemporaryDirectory(prefix="surefit-") as folder:
        answer = Path(folder) / "answer.json"
        module = f"benchmarks.distilling.{'measure_steps' if one.name in STEPS else 'measure'}"
        call = [str(python), "-m", module, one.name, str(one.share)]
        ended = subprocess.run(
            [*call, str(answer)],
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "src"))),
                "OMP_NUM_THREADS": "1",
                "MKL_NUM_THREADS": "1",
                "HF_HUB_OFFLINE": "1",
                "HF_HOME": f"{folder}/cache",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode == 0:
            return json.loads(answer.read_text(encoding="utf-8"))
        print(f"{one.key} failed with {ended.returncode}:\n{ended.stderr[-3000:]}", file=sys.stderr)
        return None


def run(plan: Sequence[Measurement], results: Results) -> None:
    for number, one in enumerate(plan, start=1):
        if one.key in results.answers:
            continue
        began = time.monotonic()
        answer = measure(one)
        if answer is not None:
            results.add(one, answer)
        print(
            f"{number}/{len(plan)} {one.key}: {time.monotonic() - began:.0f} s",
            file=sys.stderr,
            flush=True,
        )


def print_losses(results: Results) -> None:
    for share, title in SHARES.items():
        print(f"\n{title}:\n\n{HEAD}")
        for name in CONTENDERS:
            if results.of(name, share):
                print(line(results, name, share))
    print("\n| of naive | measured | aim | reached |\n| --- | --- | --- | --- |")
    for aim in AIMS:
        found = ratio(results, aim.name, aim.share, aim.what, "naive")
        if found is not None:
            reached = "yes" if found <= aim.most else "no"
            print(f"| {aim.title} | {found:.2f} | ≤ {aim.most} | {reached} |")
    print(
        f"\n{BATCH} × {TOKENS} places, vocabulary {VOCABULARY:,}, hidden {WIDTH} (student) and "
        f"{TEACHER_WIDTH} (teacher), fp32, temperature {TEMPERATURE:g}, alpha {ALPHA:g}, one "
        f"thread; {conditions(results, CONTENDERS)}."
    )


def line(results: Results, name: str, share: float) -> str:
    contender = CONTENDERS[name]
    answers = results.of(name, share)
    seconds, memory = (results.median(name, share, what) for what in ("cpu", "memory"))
    loss = answers[-1]["loss"]
    cells = [
        contender.title,
        contender.contains,
        f"{seconds:.1f}",
        told(ratio(results, name, share, "cpu", "naive")),
        told(ratio(results, name, share, "cpu", "limit")),
        f"{memory:,.0f}",
        told(ratio(results, name, share, "memory", "naive")),
        "" if loss is None else f"{loss:.5f}",
    ]
    return f"| {' | '.join(cells)} |"


def ratio(results: Results, name: str, share: float, what: str, to: str) -> float | None:
    one, other = (results.median(each, share, what) for each in (name, to))
    return None if one is None or other is None else one / other


def told(number: float | None) -> str:
    return "" if number is None else f"{number:.2f}"


def print_steps(results: Results) -> None:
    for share, title in SHARES.items():
        print(f"\n{title}:\n\n{STEP_HEAD}")
        for name in STEPS:
            if results.of(name, share):
                print(step_line(results, name, share))
    print(
        f"\nGPT-2 of {steps.TEACHER_LAYERS} layers (teacher) and {steps.STUDENT_LAYERS} (student), "
        f"hidden {steps.WIDTH}, vocabulary {steps.VOCABULARY:,}, random weights, {steps.ROWS} × "
        f"{steps.TOKENS} tokens, fp32, temperature {steps.TEMPERATURE:g}, alpha {steps.ALPHA:g}, "
        f"AdamW, one thread; {steps.COUNTED} steps after {steps.NOT_COUNTED} that is not counted; "
        f"{conditions(results, STEPS)}."
    )


def step_line(results: Results, name: str, share: float) -> str:
    seconds, memory = (results.median(name, share, what) for what in ("cpu", "memory"))
    assert seconds is not None
    slower = ratio(results, name, share, "cpu", "step-trl-gkd")
    cells = [
        STEPS[name].title,
        STEPS[name].contains,
        f"{seconds / steps.COUNTED:.1f}",
        f"{steps.COUNTED * steps.ROWS * steps.TOKENS / seconds:.0f}",
        told(None if slower is None else 1 / slower),
        f"{memory:,.0f}",
        told(ratio(results, name, share, "memory", "step-trl-gkd")),
        f"{results.of(name, share)[-1]['divergences'][0]:.5f}",
    ]
    return f"| {' | '.join(cells)} |"


def conditions(results: Results, names: Iterable[str]) -> str:
    """Under which these were measured."""
    found = [answers for name in names for share in SHARES if (answers := results.of(name, share))]
    answers = [one for rounds in found for one in rounds]
    loads = [one["load"] for one in answers]
    versions = {name: number for one in answers for name, number in one["versions"].items()}
    return (
        f"up to {max(map(len, found))} rounds; {os.cpu_count()} cores, loads of "
        f"{min(loads):.1f} to {max(loads):.1f}, Python {platform.python_version()}, "
        + ", ".join(f"{name} {number}" for name, number in versions.items())
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--set-up", action="store_true", help="make the peer's environment")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], choices=[*CONTENDERS, *STEPS])
    parser.add_argument("--results", type=Path, help="a file to keep, and go on from")
    parser.add_argument("--print", action="store_true", help="the tables of a file, nothing else")
    asked = parser.parse_args()
    if asked.set_up:
        make(LIGER)
        return
    results = Results(asked.results)
    if not asked.print:
        run(list(planned(asked.rounds, asked.only)), results)
    for names, print_table in ((CONTENDERS, print_losses), (STEPS, print_steps)):
        if any(results.of(name, share) for name in names for share in SHARES):
            print_table(results)


if __name__ == "__main__":
    main()
