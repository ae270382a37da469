"""Makes large inputs, has surefit work on each, and prints what it took: `python -m tools.load`.

    python -m tools.load [--only rows lint ...] [--scale 1.0]

Seconds are of the processor, of all processes together, so that other work on the machine does not
count; memory is of the largest process. Exits with 1 if a bound is passed or an answer is wrong.
Needs 12 GB of disk for a while; sparse files take none. `--scale 0.01` is a trial of the tool.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from .scenarios import SCENARIOS, Asked, Scenario, Verdict

MIB = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Took:
    """What one call was seen to take, and what was wrong about it."""

    asked: Asked
    processor: float
    clock: float
    memory: int
    """In bytes, of the largest process."""
    verdict: Verdict
    passed: str
    """Bounds, empty if none."""

    @property
    def wrong(self) -> str:
        return "; ".join(word for word in (self.passed, self.verdict.wrong) if word)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.load",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", choices=tuple(SCENARIOS), default=tuple(SCENARIOS))
    parser.add_argument("--scale", type=float, default=1.0, help="of all sizes")
    asked = parser.parse_args()
    results = []
    for name in asked.only:
        with tempfile.TemporaryDirectory(prefix="load-") as folder:
            result = measured(SCENARIOS[name], Path(folder).resolve(), asked.scale)
        results.append(result)
        print(line(result), flush=True)
    print(f"\n{table(results)}")
    return int(any(result.wrong for result in results))


def measured(scenario: Scenario, folder: Path, scale: float) -> Took:
    asked = scenario(folder, scale)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "surefit", *asked.words]
    log = folder / "said.txt"
    began = time.monotonic()
    with log.open("wb") as said:
        process = subprocess.Popen(
            command,
            cwd=asked.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if asked.loud else said,
            stderr=said,
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    processor, memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
    bounds = [
        f"{processor:.0f} s for {asked.seconds:.0f}" if processor > asked.seconds else "",
        f"{memory // MIB:,} MiB for {asked.mebibytes:,}" if memory > asked.mebibytes * MIB else "",
    ]
    return Took(
        asked=asked,
        processor=processor,
        clock=time.monotonic() - began,
        memory=memory,
        verdict=asked.judge(process.returncode, log.read_text(errors="replace")),
        passed="; ".join(filter(None, bounds)),
    )


def line(took: Took) -> str:
    clock = f"{took.clock:.0f} s by the clock"
    return f"{cells(took)} ({clock}) {took.wrong}".rstrip()


def cells(took: Took) -> str:
    sizes = f"{took.processor:,.1f} s | {took.memory / 1e6:,.0f} MB | {took.asked.bounds}"
    return f"| {took.asked.what} | {sizes} | {took.verdict.saw} |"


def table(results: list[Took]) -> str:
    head = (
        "| what | processor | memory | bound | what was seen |",
        "| --- | ---: | ---: | ---: | --- |",
    )
    return "\n".join([*head, *(cells(took) + took.wrong for took in results)])


if __name__ == "__main__":
    sys.exit(main())
