"""The large inputs: what is made, what surefit is asked, and what must come of it."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.million_rows import make_rows

GIB = 1 << 30
ROWS, SCRIPTS, ENTRIES, LOG_GIB = 1_000_000, 5_000, 360_000, 1
"""Entries of a log: 10 hours of ten a second."""
ARRAY_GIB, DATA_GIB, FILES = 20, 50, 100_000
PRINTED, STEPS = 1_000_000_000, 40_000
FEWEST_STEPS_PER_SECOND = 2_000

CRASHES = """
import torch
logits = torch.nn.Linear(4, 3)(torch.randn(8, 4))
labels = torch.randint(0, 3, (8,)).float()
loss = torch.nn.functional.cross_entropy(logits, labels)
loss.backward()
print("trained", float(loss))
"""
QUICK = """
import time, torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
rows = torch.randn(64, 4)
targets = rows.sum(1, keepdim=True) + 0.1 * torch.randn(64, 1)
began = time.process_time()
for step in range({steps}):
    loss = torch.nn.functional.mse_loss(model(rows), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
seconds = time.process_time() - began
open("speed.txt", "w").write(str({steps} / seconds))
"""
ENTRY = (
    "{{'loss': {loss:.4f}, 'grad_norm': {norm:.3f}, 'learning_rate': 1e-4, 'epoch': {epoch:.3f}}}\n"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """Of what came of a call."""

    saw: str
    wrong: str = ""


Judge = Callable[[int, str], Verdict]
"""By the exit code and what was said."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A call of surefit, and its bounds."""

    what: str
    folder: Path
    words: list[str]
    seconds: float
    mebibytes: int
    judge: Judge
    loud: bool = False
    """What it prints is not looked at."""

    @property
    def bounds(self) -> str:
        return f"{self.seconds:.0f} s, {self.mebibytes:,} MiB"


Scenario = Callable[[Path, float], Asked]


def says(text: str, saw: str, code: int = 0) -> Judge:
    def judge(ended: int, said: str) -> Verdict:
        is_right = ended == code and text in plainly(said)
        return Verdict(saw=saw, wrong="" if is_right else failed(ended, said))

    return judge


def leaves(file: Path, saw: str) -> Judge:
    def judge(ended: int, said: str) -> Verdict:
        return Verdict(saw=saw, wrong="" if file.exists() else failed(ended, said))

    return judge


def failed(code: int, said: str) -> str:
    return f"exit code {code}: {plainly(said)[-300:]}"


def plainly(said: str) -> str:
    return " ".join(said.split())


def rows(folder: Path, scale: float) -> Asked:
    count = int(ROWS * scale)
    make_rows(folder / "rows.jsonl", count)
    words = ["sft", "--data=rows.jsonl", "--max-steps=2", "--out=run", "--max-new-tokens=4"]
    held_out = max(8, int(64 * scale)) / count
    return Asked(
        f"`surefit sft`, {count:,} rows of about 145 tokens, 2 steps",
        folder,
        [*words, f"--held-out={held_out}"],
        1_200,
        4_096,
        leaves(folder / "run" / "report.json", "read, searched for duplicates, tokenised, trained"),
    )


def arrays(folder: Path, scale: float) -> Asked:
    """Shards of zeros that take no room on the disk, and one of real rows in each tenth."""
    (folder / "arrays").mkdir()
    per_shard = max(64, int(GIB * scale) // (32 * 64 * 4))
    for number in range(ARRAY_GIB):
        shard = np.lib.format.open_memmap(
            folder / "arrays" / f"part-{number:02d}.npy", "w+", np.float32, (per_shard, 32, 64)
        )
        shard[:2] = np.random.default_rng(number).standard_normal((2, 32, 64))
        shard.flush()
    size = per_shard * 32 * 64 * 4 / GIB
    model = ["--hidden-size=16", "--layers=1", "--heads=2", "--steps=32", "--features=64"]
    training = ["--max-steps=20", "--batch-size=64", "--max-memory-gb=1", "--held-out=0.0001"]
    return Asked(
        f"`surefit pretrain`, {ARRAY_GIB} sparse files of {size:.2g} GiB, `--max-memory-gb=1`",
        folder,
        ["pretrain", "--data=arrays", "--out=run", *model, *training],
        600,
        3_072,
        leaves(folder / "run" / "report.json", "trained in the budget"),
    )


def lint(folder: Path, scale: float) -> Asked:
    """Healthy scripts, the same ones many times over."""
    sources = sorted((Path(__file__).parents[2] / "tests" / "clean").glob("*.py"))
    count = int(SCRIPTS * scale)
    for number in range(count):
        there = folder / "project" / f"part{number % 50}" / f"script{number}.py"
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_bytes(sources[number % len(sources)].read_bytes())
    return Asked(
        f"`surefit lint`, {count:,} scripts",
        folder,
        ["lint", "project"],
        600,
        1_024,
        says(f"{count:,} files read: nothing found", "all read, in a process for each core"),
    )


def log(folder: Path, scale: float) -> Asked:
    write_log(folder / "train.log", int(ENTRIES * scale))
    return Asked(
        f"`surefit explain`, a log of 10 hours, {int(ENTRIES * scale):,} entries",
        folder,
        ["explain", "train.log"],
        30,
        1_024,
        says("Nothing wrong is visible in it.", "its last 20 MB read"),
    )


def write_log(file: Path, entries: int) -> None:
    with file.open("w") as opened:
        opened.writelines(map(entry, range(entries)))


def entry(step: int) -> str:
    loss, norm = 2 / (1 + step / 9_000) + step % 7 / 1_000, 0.4 + step % 11 / 100
    return ENTRY.format(loss=loss, norm=norm, epoch=step / 30_000)


def huge_log(folder: Path, scale: float) -> Asked:
    write_log(folder / "train.log", int(LOG_GIB * scale * GIB) // len(entry(0)))
    return Asked(
        f"`surefit explain`, a log of {LOG_GIB * scale:.2g} GiB",
        folder,
        ["explain", "train.log"],
        30,
        1_024,
        says("Nothing wrong is visible in it.", "its last 20 MB read"),
    )


def project(folder: Path, *, files: int, bytes_: int) -> Asked:
    data = folder / "project" / "data"
    data.mkdir(parents=True)
    (folder / "project" / "train.py").write_text(CRASHES)
    for number in range(files):
        part = data / f"part{number // 1_000}"
        part.mkdir(exist_ok=True)
        (part / f"row{number}.json").write_text("{}")
    if bytes_:
        (data / "rows.bin").touch()
        os.truncate(data / "rows.bin", bytes_)
    size = f"{files:,} files" if files else f"{bytes_ / GIB:.2g} GiB"
    return Asked(
        f"`surefit run` of a script that crashes, beside {size} of data",
        folder / "project",
        ["run", "train.py"],
        120,
        2_048,
        says("proof tried on a copy: ", "its fault found, a fix tried; data linked, not copied", 1),
    )


def files(folder: Path, scale: float) -> Asked:
    return project(folder, files=max(10_001, int(FILES * scale)), bytes_=0)


def data(folder: Path, scale: float) -> Asked:
    return project(folder, files=0, bytes_=max(GIB, int(DATA_GIB * scale * GIB)))


def printing(folder: Path, scale: float) -> Asked:
    lines = int(PRINTED * scale) // 100
    script = f"line = 'x' * 99\nfor _ in range({lines}):\n    print(line)\nprint('the end')\n"
    (folder / "talks.py").write_text(script)
    return Asked(
        f"`surefit run` of a script that prints {lines / 10_000_000:.2g} GB",
        folder,
        ["run", "talks.py"],
        60,
        512,
        says("", "passed on"),
        loud=True,
    )


def steps(folder: Path, scale: float) -> Asked:
    count = int(STEPS * scale)
    (folder / "train.py").write_text(QUICK.format(steps=count))
    subprocess.run([sys.executable, "train.py"], cwd=folder, check=True)
    alone = float((folder / "speed.txt").read_text())

    def judge(code: int, said: str) -> Verdict:
        watched = float((folder / "speed.txt").read_text())
        is_right = code == 0 and watched >= FEWEST_STEPS_PER_SECOND
        return Verdict(saw=f"{watched:,.0f} a second", wrong="" if is_right else failed(code, said))

    return Asked(
        f"`surefit run` of {count:,} steps, {alone:,.0f} a second without surefit",
        folder,
        ["run", "train.py"],
        120,
        2_048,
        judge,
    )


SCENARIOS: dict[str, Scenario] = {
    "rows": rows,
    "arrays": arrays,
    "lint": lint,
    "log": log,
    "huge-log": huge_log,
    "files": files,
    "data": data,
    "printing": printing,
    "steps": steps,
}
