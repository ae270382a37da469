"""Run folders as recipes leave them, written by hand: no training, no torch."""

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from math import exp, sin
from pathlib import Path
from typing import Any

import msgspec

from surefit.doctor.findings import Fact, Finding, Fix, Place, Proof, Severity
from surefit.render.json_document import Ended, document
from surefit.render.page.contents import DataShown, Histogram, RowShown, TokenSpan
from surefit.render.page.left_behind import RunEnvironment

SETTINGS = {"recipe": "sft", "data": "rows.jsonl", "model": "embedded", "learning_rate": 0.001}

HOSTILE = (
    "<script>window.hit=1</script>",
    "</script><script>window.hit=1</script>",
    "</script /><img src=x onerror=window.hit=1>",
    '"><img src=x onerror="window.hit=1">',
    "'-window.hit=1-'",
    "{{ 7 * 7 }}{% raw %}",
    "<!--<script>",
    "\x1b[31mred\x07\x00",
    "\u202egnp.exe",
    "\u2028line\u2029",
    "\ud800 alone",
)
"""Texts that a page must show and not obey; no file of JSON can hold the last."""

PATCH = "--- a/train.py\n+++ b/train.py\n@@ -3,2 +3,2 @@\n same\n-old = 1 < 2\n+new = 1 > 2 & 3\n"


def steps(count: int) -> list[dict[str, Any]]:
    return [
        {
            "step": step,
            "epoch": 1 + 2 * step // (count + 1),
            "loss": 4 * exp(-step / count * 5) + 0.2 + 0.1 * sin(step),
            "learning_rate": 0.001 * (1 - step / (count + 1)),
            "gradient_norm": 1.5 + sin(step),
            "supervised_tokens": 30,
            "tokens_per_second": 2000 + 50 * sin(step),
        }
        for step in range(1, count + 1)
    ]


def scores(count: int) -> list[dict[str, Any]]:
    """Before training and after each of two epochs."""
    return [
        {"step": step, "epoch": epoch, "f1": f1, "exact_match": f1, "rows": 3, "validation_loss": v}
        for step, epoch, f1, v in (
            (0, 0, 0.0, 4.0),
            (count // 2, 1, 0.4, 1.0),
            (count, 2, 0.75, 0.5),
        )
    ]


def predictions(answers: Sequence[tuple[str, float]]) -> list[dict[str, Any]]:
    return [
        {
            "row": number,
            "place": f"rows.jsonl:{number}",
            "input": f"Question {number}?",
            "target": f"target {number}",
            "answer": answer,
            "f1": score,
            "exact_match": score == 1,
        }
        for number, (answer, score) in enumerate(answers, start=1)
    ]


BEFORE = predictions([("wrong", 0.0), ("no idea", 0.0), ("target 3", 1.0), ("dog", 0.0)])
AFTER = predictions([("target 1", 1.0), ("target", 0.67), ("cat", 0.0), ("dog", 0.0)])

REPORT = {
    "folder": "runs/sft-1",
    "trained": "runs/sft-1/adapter",
    "epochs": 2,
    "steps": 200,
    "loss": 0.21,
    "seconds": 72.0,
    "training_rows": 400,
    "held_out_rows": 4,
    "best_epoch": 2,
    "f1_before": 0.25,
    "f1": 0.4175,
    "exact_match": 0.25,
}

DATA = DataShown(
    facts=(Fact("source", "rows.jsonl"), Fact("training rows", "400, 9,000 tokens")),
    lengths=(Histogram("training rows", (10, 20, 30), (300, 100)),),
    supervised_share=0.125,
    padding_share=0.03,
    rows=(
        RowShown(
            "rows.jsonl:1", (TokenSpan("Question", False), TokenSpan(" yes<eos>", True)), "2 tokens"
        ),
    ),
    fingerprints=(Fact("rows", "a423de689c8263de"),),
)


def finding(text: str = "`labels` are text.", severity: Severity = Severity.ERROR) -> Finding:
    return Finding(
        "labels-are-text",
        "SF203",
        severity,
        Place("train.py", 4),
        text,
        facts=(Fact("`labels`", text),),
        ruled_out=(Fact("shared rows", text),),
        why=text,
        fixes=(Fix(text, patch=PATCH, proof=Proof("held", text)), Fix(text, choice=True)),
        python_said=f"ValueError: {text}",
    )


def write_lines(file: Path, records: Iterable[Mapping[str, Any]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))


def write_run(
    folder: Path,
    *,
    records: Sequence[Mapping[str, Any]] | None = None,
    settings: Mapping[str, Any] = SETTINGS,
    answers: Mapping[int, Sequence[Mapping[str, Any]]] | None = None,
    report: Mapping[str, Any] | None = None,
    ended: tuple[int, Sequence[Finding]] | None = None,
    exception: str | None = None,
    data: DataShown | None = DATA,
    pid: int | None = None,
) -> Path:
    """A run that goes on, unless there is a report or an end; `pid` is that of this process."""
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text(json.dumps(settings))
    write_lines(folder / "metrics.jsonl", steps(200) + scores(200) if records is None else records)
    for epoch, rows in (answers or {}).items():
        write_lines(folder / "predictions" / f"epoch-{epoch}.jsonl", rows)
    if report is not None:
        (folder / "report.json").write_text(json.dumps(report))
    if ended is not None:
        code, findings = ended
        (folder / "findings.json").write_bytes(document("sft", Ended(code, exception), findings))
    if data is not None:
        (folder / "data.json").write_bytes(msgspec.json.encode(data))
    environment = RunEnvironment(
        command="surefit sft",
        began="2026-01-02T03:04:05+00:00",
        host=platform.node(),
        pid=os.getpid() if pid is None else pid,
        versions=(Fact("torch", "2.13.0"),),
    )
    (folder / "environment.json").write_bytes(msgspec.json.encode(environment))
    return folder


def healthy_run(folder: Path, **more: Any) -> Path:
    """Done, with answers before and after."""
    values: dict[str, Any] = {"answers": {0: BEFORE, 2: AFTER}, "report": REPORT, "ended": (0, ())}
    return write_run(folder, **{**values, **more})
