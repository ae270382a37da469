"""A second run tells where the values of a crash came from, and of a line that does not fail."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import forked
from surefit.doctor.observations import Answer, Crash
from surefit.doctor.recording import Recording, read
from surefit.lineage import asking, properties
from surefit.lineage.asking import lineage_about, lineage_of
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import LINEAGE, ProducerKind
from surefit.observe.inside import boot
from surefit.observe.inside.lineage import libraries
from surefit.observe.inside.stories import stories

BOOT = Path(next(iter(boot.__path__)))
SCRIPT = """
import argparse, json
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--classes", type=int, default=4)
parser.add_argument("--hidden-size", type=int,
                    default=16)
parser.add_argument("--healthy", action="store_true")
args = parser.parse_args()
settings = json.loads('{"data": {"rows": 24}}')


class Reviews(Dataset):
    def __init__(self, rows):
        self.texts = [[(row * 7 + i) % 50 for i in range(6)] for row in range(rows)]
        self.stars = [row % 5 + 1 for row in range(rows)]

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, index):
        return {"ids": self.texts[index], "labels": self.stars[index]}


def collate(rows):
    ids = torch.tensor([row["ids"] for row in rows])
    return {"ids": ids, "labels": torch.tensor([row["labels"] for row in rows])}


class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.table = nn.Embedding(50, size)
        self.head = nn.Linear(size, args.classes)

    def forward(self, ids):
        return self.head(self.table(ids).mean(1))


rows = settings["data"]["rows"]
model = Model(args.hidden_size)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(Reviews(rows), 8, num_workers=2, persistent_workers=True, collate_fn=collate)
for batch in loader:
    logits = model(batch["ids"])
    targets = batch["labels"]
    if not args.healthy:
        loss = nn.functional.cross_entropy(logits, targets)
    else:
        loss = nn.functional.cross_entropy(logits, targets % args.classes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def told(
    folder: Path,
    question: dict[str, Any],
    expected: dict[str, Any],
    more: tuple[str, ...] = (),
    source: str = SCRIPT,
    **environment_: str,
) -> Recording:
    script = folder / "train.py"
    script.write_text(source)
    spool = folder / "spool"
    spool.mkdir()
    asked = {"until_step": None, "questions": [{"question": question, **expected}]}
    environment = {
        **os.environ,
        "SUREFIT_SPOOL": str(spool),
        "PYTHONPATH": str(BOOT),
        stories.STORY: json.dumps(asked),
        **environment_,
    }
    with forked.captured():
        command = [sys.executable, str(script), "--hidden-size", "12", *more]
        forked.started(command, cwd=folder, env=environment).wait()
    lines = [line for file in spool.glob("*.jsonl") for line in file.read_text().splitlines()]
    return read(lines, folder)


def line_of(text: str) -> int:
    return next(at for at, line in enumerate(SCRIPT.splitlines(), 1) if text in line)


def of(recording: Recording, text: str) -> Lineage:
    crash = next(recording.all(Crash))
    number = max(at for at, frame in enumerate(crash.frames) if frame.own)
    # The answer is about the first run's crash; here both are one.
    answer = next(recording.all(Answer))
    recording.observations.append(
        Answer(type(answer.question)(LINEAGE, crash.id, {}), answer.said, answer.why_not)
    )
    lineage = lineage_of(recording, crash, (number, text))
    assert lineage is not None, text
    return lineage


@pytest.mark.slow
def test_values_of_a_crash_lead_to_expressions_and_settings(tmp_path: Path) -> None:
    line = line_of("cross_entropy(logits, targets)")
    expected = {"kind": "IndexError", "raised": ["<module>", "train.py", line]}
    question = {"kind": LINEAGE, "crash": "1-1", "about": {}}
    recording = told(tmp_path, question, expected)

    targets = of(recording, "targets")
    born = targets.birth(properties.holds_at_least(5))
    assert born is not None
    assert born.text == "row % 5 + 1"
    role = targets.role()
    assert role is not None
    assert role.text == 'torch.tensor([row["labels"] for row in rows])'
    assert "self.texts[index]" not in [one.text for one in targets.all]

    logits = of(recording, "logits")
    made = of(recording, "model").constructor()
    assert made is not None
    assert made.call.text == "Model(args.hidden_size)"
    width = next(one for one in logits.all if one.text == "args.hidden_size")
    setting = Lineage(logits.graph, (width.inputs[0],)).written()
    assert setting is not None
    assert (setting.kind, setting.name) == (ProducerKind.SETTING, "--hidden-size")
    assert setting.place.line == line_of('"--hidden-size"')
    assert setting.value.scalar == 12

    rows = of(recording, "rows").written()
    assert rows is not None
    assert (rows.kind, rows.name) == (ProducerKind.SETTING, "rows")


@pytest.mark.slow
def test_an_expression_of_a_run_that_does_not_fail(tmp_path: Path) -> None:
    line = line_of("targets % args.classes")
    about = {"file": "train.py", "line": line, "text": "targets % args.classes", "step": 1}
    question = {"kind": LINEAGE, "crash": "", "about": about}
    recording = told(tmp_path, question, {}, ("--healthy",))
    lineage = lineage_about(recording, about)
    assert lineage is not None
    assert lineage.all[0].step == 1
    texts = [one.text for one in lineage.producers]
    assert texts[0] == "targets % args.classes"
    assert "row % 5 + 1" in texts
    assert 'parser.add_argument("--classes", type=int, default=4)' in texts
    assert not any("self.texts" in text for text in texts)


IN_A_WORKER = """
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = [[row, 3] for row in range(rows)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index] + [7]
        scale = get_worker_info().num_workers
        return torch.tensor(row) @ torch.ones(scale)


if __name__ == "__main__":
    for batch in DataLoader(Rows(4), num_workers=2):
        pass
"""
SWALLOWED = """
import torch
layer = torch.nn.Linear(4, 2)
width = 2 + 1
for step in range(3):
    try:
        x = torch.ones(5, width)
        layer(x)
    except RuntimeError:
        pass
"""


@pytest.mark.slow
def test_a_worker_tells_its_own_lineage(tmp_path: Path) -> None:
    expected = {"kind": "RuntimeError", "raised": ["Rows.__getitem__", "train.py", 16]}
    question = {"kind": LINEAGE, "crash": "1-1", "about": {}}
    with_workers = {libraries.WITH_WORKERS: "1"}
    recording = told(tmp_path, question, expected, (), IN_A_WORKER, **with_workers)
    answer = next(recording.all(Answer))
    assert answer.said is not None, answer.why_not
    graph = asking.read(answer.said)
    root = next(one for one in graph.roots if one.text == "row" and one.line == 16)
    texts = [one.text for one in asking.lineage_from(graph, root).producers]
    assert texts[0] == "self.rows[index] + [7]"
    assert "[row, 3]" in texts


@pytest.mark.slow
def test_of_an_exception_that_is_swallowed(tmp_path: Path) -> None:
    expected = {"kind": "RuntimeError", "swallowed": True, "raised": ["<module>", "train.py", 8]}
    question = {"kind": LINEAGE, "crash": "1-1", "about": {}}
    recording = told(tmp_path, question, expected, (), SWALLOWED)
    given = of(recording, "x")
    assert [one.text for one in given.producers][:3] == ["torch.ones(5, width)", "5", "2 + 1"]
    handed = given.handed_over()
    assert handed is not None
    assert handed.text == "torch.ones(5, width)"
