"""How a run that was harmed differs at its end from one that was left alone."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

MEASURED = {
    "pace",
    "peak_memory",
    "seconds",
    "seconds_per_epoch",
    "supervised_tokens_per_second",
    "tokens_per_second",
}
"""What a machine needed: it differs between two unbroken runs, too."""

ROUNDED = 2e-3
"""Relative, of sums in another order: the losses of other numbers of processes."""


def losses_of(whole: Path, other: Path) -> list[str]:
    """What of the unbroken run the other has not, to the bit; empty if nothing was lost."""
    return [
        *_metrics(whole, other),
        *_report(whole, other),
        *_files(whole, other),
        *_leftovers(other),
    ]


def nearly(whole: Path, other: Path) -> list[str]:
    """The same for another number of processes: counts exactly, losses within rounding."""
    ours, theirs = records(whole), records(other)
    if [sorted(record) for record in ours] != [sorted(record) for record in theirs]:
        return [f"metrics.jsonl: {len(theirs)} lines for {len(ours)}"]
    lost = [
        f"metrics.jsonl line {number}: {name} {first.get(name)} for {second.get(name)}"
        for number, (second, first) in enumerate(zip(ours, theirs, strict=True), start=1)
        for name in ("step", "epoch", "supervised_tokens", "loss", "validation_loss")
        if _apart(first.get(name), second.get(name))
    ]
    return [*lost[:1], *_leftovers(other)]


def records(run: Path) -> list[dict[str, Any]]:
    """Of the metrics file, without what was measured of the machine."""
    file = run / "metrics.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [_without_measured(json.loads(line)) for line in lines]


def steps_of(run: Path) -> int:
    """The last whole line's; a killed run can have left half of one."""
    file = run / "metrics.jsonl"
    lines = file.read_bytes().split(b"\n")[:-1] if file.exists() else []
    return max((int(json.loads(line)["step"]) for line in lines), default=0)


def saved_step(run: Path) -> int:
    names = sorted(path.name for path in run.glob("checkpoints/step-*"))
    return int(names[-1].removeprefix("step-")) if names else 0


def _without_measured(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in MEASURED}


def _apart(first: Any, second: Any) -> bool:
    if isinstance(first, float) and isinstance(second, float):
        return abs(first - second) > ROUNDED * max(abs(first), abs(second))
    return bool(first != second)


def _metrics(whole: Path, other: Path) -> Iterator[str]:
    ours, theirs = records(whole), records(other)
    if ours != theirs:
        pairs = enumerate(zip(ours, theirs, strict=False), start=1)
        line = next((number for number, (a, b) in pairs if a != b), min(len(ours), len(theirs)) + 1)
        yield f"metrics.jsonl from line {line}"


def _report(whole: Path, other: Path) -> Iterator[str]:
    if not (other / "report.json").exists():
        yield "report.json"
        return
    ours, theirs = (_without_measured(_read(run)) for run in (whole, other))
    names = sorted(
        name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)
    )
    if names:
        yield f"report.json: {', '.join(names)}"


def _read(run: Path) -> dict[str, Any]:
    """With paths as they are below the run's folder."""
    text = (run / "report.json").read_text(encoding="utf-8")
    report: dict[str, Any] = json.loads(text.replace(str(run), "RUN"))
    return report


def _files(whole: Path, other: Path) -> Iterator[str]:
    for name in ("adapter", "model", "predictions"):
        files = {path.relative_to(run) for run in (whole, other) for path in run.glob(f"{name}/*")}
        for file in sorted(files):
            if not _same(whole / file, other / file):
                yield str(file)


def _same(ours: Path, theirs: Path) -> bool:
    if not (ours.exists() and theirs.exists()):
        return False
    if ours.suffix != ".safetensors":
        return ours.suffix != ".jsonl" or ours.read_bytes() == theirs.read_bytes()
    first, second = load_file(ours), load_file(theirs)
    return first.keys() == second.keys() and all(
        first[name].tobytes() == second[name].tobytes() for name in first
    )


def _leftovers(run: Path) -> Iterator[str]:
    halves = [path for path in run.rglob(".*") if path.name.endswith((".part", ".shards"))]
    for path in [*halves, *run.glob("best")]:
        yield f"left behind: {path.relative_to(run)}"
