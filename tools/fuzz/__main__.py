"""Makes hostile files, has them read, and prints a table: `python -m tools.fuzz --files 10000`."""

import argparse
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from random import Random
from threading import Lock, Thread

from tools.patience import in_spite_of_others

from .readers import READERS, Attempt, Reader, attempt

COLUMNS = (
    *("files", "findings", "accepted", "tracebacks", "died", "hangs", "memory", "executed", "loud"),
)
GOOD = ("files", "findings", "accepted")


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What a call may take."""

    seconds: float
    """Where nothing else runs."""

    memory_mib: int
    """Above what the process had before it."""

    address_mib: int
    """Where the system refuses more; a call that comes near it has long been noted."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one file."""

    attempt: Attempt
    seed: str
    faults: tuple[str, ...]
    code: int
    said: str
    seconds: float
    memory: int


class Worker:
    """A process for calls, begun again where it died or hung."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.process: subprocess.Popen[str] | None = None

    def call(self, folder: Path, arguments: Sequence[str]) -> tuple[str, dict[str, object]]:
        """What became of it, and what the process saw."""
        process = self.process or self.begin()
        assert process.stdin
        process.stdin.write(json.dumps([str(folder), list(arguments)]) + "\n")
        process.stdin.flush()
        line = self.answer(process, in_spite_of_others(self.bounds.seconds))
        if line:
            return "ended", json.loads(line)
        ended = "hangs" if process.poll() is None else "died"
        self.end()
        return ended, {}

    def begin(self) -> subprocess.Popen[str]:
        home = tempfile.gettempdir()
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        environment |= {"HF_HUB_OFFLINE": "1", "HF_HOME": f"{home}/surefit-fuzz-cache"}
        environment |= {"PYTHONPATH": str(Path(__file__).parents[2])}
        environment |= {"MALLOC_ARENA_MAX": "2", "RAYON_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tools.fuzz.worker", str(self.bounds.address_mib)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        if self.answer(self.process, in_spite_of_others(600)) != "ready\n":
            raise RuntimeError("a process for calls did not start")
        return self.process

    def answer(self, process: subprocess.Popen[str], seconds: float) -> str:
        """A line; nothing if none came in time."""
        assert process.stdout
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        return process.stdout.readline() if ready else ""

    def end(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


def plan(files: int, only: Sequence[str]) -> list[tuple[Reader, int]]:
    """Readers in turn, each with the number of its file."""
    readers = [reader for reader in READERS if not only or reader.name in only]
    return [(readers[n % len(readers)], n // len(readers)) for n in range(files)]


def outcome_of(worker: Worker, reader: Reader, number: int, seed: int, place: Path) -> Outcome:
    """Makes a file in a folder of its own, has it read, and removes it."""
    own_seed = f"{seed}/{reader.name}/{number}"
    folder = place / "here"
    folder.mkdir(parents=True)
    try:
        tried = attempt(reader, Random(own_seed), folder, number)
        worker.process = worker.process or worker.begin()
        begun = time.monotonic()
        ended, saw = worker.call(folder, tried.arguments)
        seconds = time.monotonic() - begun
        memory = int(str(saw.get("memory", 0))) >> 20
        faults = [ended] if ended != "ended" else []
        faults += ["tracebacks"] if saw.get("escaped") else []
        faults += ["memory"] if memory > worker.bounds.memory_mib else []
        faults += ["executed"] if list(place.rglob("executed")) else []
        faults += ["loud"] if saw.get("loud") else []
        return Outcome(
            attempt=tried,
            seed=own_seed,
            faults=tuple(faults),
            code=int(str(saw.get("code", -1))),
            said=str(saw.get("said", "")),
            seconds=seconds,
            memory=memory,
        )
    finally:
        shutil.rmtree(place, onerror=let_in)


def let_in(_remove: object, path: str, _error: object) -> None:
    """What may not be looked into may not be removed either."""
    Path(path).parent.chmod(0o700)
    Path(path).unlink()


def outcomes(
    todo: Sequence[tuple[Reader, int]], seed: int, bounds: Bounds, workers: int, until: float
) -> Iterator[Outcome]:
    """As they come, from so many processes."""
    rest = list(reversed(todo))
    ended: list[Outcome | BaseException] = []
    lock = Lock()

    def work(name: int, folder: Path) -> None:
        worker = Worker(bounds)
        try:
            while rest:
                with lock:
                    if not rest or time.monotonic() > until:
                        break
                    reader, number = rest.pop()
                ended.append(
                    outcome_of(
                        worker, reader, number, seed, folder / f"{name}-{reader.name}-{number}"
                    )
                )
        except BaseException as error:  # noqa: BLE001 - it is raised where outcomes are read
            ended.append(error)
        finally:
            worker.end()

    with tempfile.TemporaryDirectory(prefix="surefit-fuzz-") as folder:
        threads = [Thread(target=work, args=(name, Path(folder))) for name in range(workers)]
        for thread in threads:
            thread.start()
        try:
            while ended or any(thread.is_alive() for thread in threads):
                while ended:
                    result = ended.pop(0)
                    if isinstance(result, BaseException):
                        raise result
                    yield result
                time.sleep(0.05)
        finally:
            rest.clear()
            for thread in threads:
                thread.join()


def table(counts: dict[str, Counter[str]]) -> str:
    """A line for each reader, and one for all."""
    whole: Counter[str] = Counter()
    for count in counts.values():
        whole.update(count)
    lines = ["| reader | " + " | ".join(COLUMNS) + " |", "| --- |" + " ---: |" * len(COLUMNS)]
    for name, count in (*counts.items(), ("all", whole)):
        lines.append(f"| {name} | " + " | ".join(f"{count[column]:,}" for column in COLUMNS) + " |")
    return "\n".join(lines)


def count(counts: dict[str, Counter[str]], outcome: Outcome) -> None:
    here = counts.setdefault(outcome.attempt.reader, Counter())
    here["files"] += 1
    if not outcome.faults:
        here["accepted" if outcome.code == 0 else "findings"] += 1
    for fault in outcome.faults:
        here[fault] += 1


def described(outcome: Outcome) -> str:
    lines = outcome.said.strip().splitlines()
    return (
        f"{', '.join(outcome.faults)}: {outcome.seed}: {outcome.attempt.label}:"
        f" {outcome.attempt.arguments!a}: {outcome.seconds:.1f} s, {outcome.memory} MiB\n"
        + "\n".join(f"    {ascii(line)[1:-1][:300]}" for line in lines[-12:])
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--short", action="store_true", help="a few files for each reader")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=inf, help="after which no file is begun")
    parser.add_argument("--seconds", type=float, default=30.0, help="for one file")
    parser.add_argument("--memory", type=int, default=2048, help="MiB for one file")
    parser.add_argument("--readers", nargs="*", default=())
    parser.add_argument("--again", help="one file by its seed, as it is told: 0/JSON/7")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    bounds = Bounds(
        seconds=options.seconds, memory_mib=options.memory, address_mib=2 * options.memory
    )
    todo = plan(len(READERS) * 4 if options.short else options.files, options.readers)
    seed = options.seed
    if options.again:
        begin, name, number = options.again.split("/")
        seed, todo = (
            int(begin),
            [(reader, int(number)) for reader in READERS if reader.name == name],
        )
    counts: dict[str, Counter[str]] = {reader.name: Counter() for reader, _ in todo}
    begun = time.monotonic()
    slowest = (0.0, "")
    most = 0
    until = begun + 60 * options.minutes
    with suppress(KeyboardInterrupt):  # the table is of what was read until then
        for outcome in outcomes(todo, seed, bounds, options.workers, until):
            count(counts, outcome)
            slowest = max(slowest, (outcome.seconds, f"{outcome.seed}: {outcome.attempt.label}"))
            most = max(most, outcome.memory)
            if outcome.faults or options.verbose or options.again:
                print(described(outcome), flush=True)
    print(table(counts))
    took = f"{time.monotonic() - begun:.0f} s"
    print(
        f"\nseed {seed}; {took}; a file may take {bounds.seconds:.0f} s, {bounds.memory_mib} MiB;"
    )
    print(f"slowest: {slowest[0]:.1f} s ({slowest[1]}); most memory: {most} MiB")
    faults = [name for name in COLUMNS if name not in GOOD]
    return int(any(count[name] for count in counts.values() for name in faults))


if __name__ == "__main__":
    raise SystemExit(main())
