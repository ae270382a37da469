"""How fast surefit loads feature arrays, in how much memory, against its peers and the limit.

    python -m benchmarks.loader --set-up            environments of litdata and mosaicml, once
    python -m benchmarks.loader [--only NAME ...] [--rounds 1] [--results FILE]

2.1 GB of float32 rows are made in a temporary folder and removed at the end; each peer's own form
of them, too. Every contender is a process of its own with one thread for its arithmetic. The limit
is a sequential read of the page-cached files, a batch at a time into one buffer; the limit of a
shuffled epoch reads the same rows in a random order, 256 reads to a system call, and does nothing
else. Both run before and after every contender's epoch; ratios are to the mean of the two. What is
kept in a file of results is not measured again.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.loading.contenders import CONTENDERS, Contender
from benchmarks.loading.environments import ENVIRONMENTS, make
from benchmarks.loading.workload import BATCH, ROW_BYTES, ROWS

ROOT = Path(__file__).parents[1]
HEAD = """\
| loader | rows per CPU-s | of the limit, bare | with a consumer | of the shuffled limit, bare \
| with a consumer | memory added | design effect |
| --- | --- | --- | --- | --- | --- | --- | --- |"""


def python_of(contender: Contender) -> Path:
    return contender.environment.python if contender.environment else Path(sys.executable)


def environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "src"))),
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(folder / "cache"),
        "TMPDIR": str(folder),
    }


def prepare(contender: Contender, folder: Path) -> None:
    """Makes the data that it wants, unless somebody wanted them before."""
    for kind in ("npy", contender.data):
        if not (folder / kind).exists():
            python = str(python_of(contender) if kind == contender.data else sys.executable)
            call = [python, "-m", "benchmarks.loading.workload", kind, str(folder)]
            subprocess.run(call, check=True, cwd=folder, env=environment(folder), stdout=2)


def measure(name: str, folder: Path) -> dict[str, Any] | None:
    contender = CONTENDERS[name]
    if not python_of(contender).exists():
        print(f"{name}: run `python -m benchmarks.loader --set-up` first", file=sys.stderr)
        return None
    prepare(contender, folder)
    answer = folder / f"{name}.json"
    call = [str(python_of(contender)), "-m", "benchmarks.loading.measure", name, str(folder)]
    with subprocess.Popen(
        [*call, str(answer)], cwd=folder, env=environment(folder), stdout=sys.stderr
    ) as child:
        peak = Peak(child.pid)
        code = child.wait()
    if code:
        print(f"{name} failed with {code}", file=sys.stderr)
        return None
    found: dict[str, Any] = json.loads(answer.read_text())
    return {**found, "added": peak.bytes - found["before"]}


class Peak:
    """The most private and shared memory of a process and its children, watched from outside."""

    def __init__(self, process: int) -> None:
        self.bytes = 0
        self._process = process
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        import psutil

        try:
            parent = psutil.Process(self._process)
            while True:
                every = [parent, *parent.children(recursive=True)]
                self.bytes = max(self.bytes, sum(map(private, every)))
                time.sleep(0.05)
        except psutil.Error:
            return


def private(process: Any) -> int:
    try:
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    except OSError:
        return 0
    names = ("RssAnon:", "RssShmem:")
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(names))


def ratio(answers: list[dict[str, Any]], kind: str, limits: str) -> float:
    """The median over the rounds."""
    every = [one[kind] for one in answers]
    return float(statistics.median(one["rows"] / statistics.mean(one[limits]) for one in every))


def line(answers: list[dict[str, Any]]) -> str:
    last = answers[-1]
    rate = statistics.median(one["bare"]["rows"] for one in answers)
    added = max(one["added"] for one in answers) / 1e9
    effect = last.get("design effect")
    told = "" if effect is None else f"{effect:.2f}"
    lost = "" if last.get("once", True) is not False else " (rows lost or twice)"
    return (
        f"| {last['title']}{lost} | {rate:,.0f} | {ratio(answers, 'bare', 'limits'):.2f} |"
        f" {ratio(answers, 'consumed', 'limits'):.2f} |"
        f" {ratio(answers, 'bare', 'shuffled limits'):.2f} |"
        f" {ratio(answers, 'consumed', 'shuffled limits'):.2f} | +{added:.2f} GB | {told} |"
    )


def print_table(results: dict[str, list[dict[str, Any]]]) -> None:
    print(f"\n{HEAD}")
    versions: dict[str, str] = {}
    limits: dict[str, list[float]] = {"limits": [], "shuffled limits": []}
    for name in CONTENDERS:
        if results.get(name):
            print(line(results[name]))
            versions |= results[name][-1]["versions"]
            for kind, found in limits.items():
                found += [rate for one in results[name] for rate in one["bare"][kind]]
    if not limits["limits"]:
        return
    print(
        f"\nThe limit: {told(limits['limits'])}. Of a shuffled epoch: "
        f"{told(limits['shuffled limits'])}. {ROWS:,} rows of {ROW_BYTES:,} bytes,"
        f" batch {BATCH}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end,"
        f" {platform.system()} {platform.release()}. "
        + ", ".join(f"{name} {number}" for name, number in versions.items())
        + "."
    )


def told(rates: list[float]) -> str:
    middle = statistics.median(rates)
    return (
        f"{middle:,.0f} rows per CPU-s ({middle * ROW_BYTES / 1e9:.1f} GB), from {min(rates):,.0f} "
        f"to {max(rates):,.0f} over {len(rates)} runs"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--set-up", action="store_true", help="make the peers' environments")
    parser.add_argument("--only", nargs="*", default=[], choices=list(CONTENDERS))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--results", type=Path, help="a file to keep, and go on from")
    asked = parser.parse_args()
    if asked.set_up:
        for one in ENVIRONMENTS:
            make(one)
        return
    results: dict[str, list[dict[str, Any]]] = {}
    if asked.results and asked.results.exists():
        for text in asked.results.read_text().splitlines():
            kept = json.loads(text)
            results.setdefault(kept["name"], []).append(kept["answer"])
    names = asked.only or list(CONTENDERS)
    with tempfile.TemporaryDirectory(prefix="surefit-loader-") as folder:
        for name in names:
            while len(results.get(name, [])) < asked.rounds:
                began = time.monotonic()
                answer = measure(name, Path(folder))
                if answer is None:
                    break
                results.setdefault(name, []).append(answer)
                if asked.results:
                    asked.results.parent.mkdir(parents=True, exist_ok=True)
                    with asked.results.open("a") as file:
                        file.write(json.dumps({"name": name, "answer": answer}) + "\n")
                print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    print_table({name: results.get(name, []) for name in CONTENDERS})


if __name__ == "__main__":
    main()
