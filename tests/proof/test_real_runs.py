"""The whole way with real runs: watched, patched, watched again, judged."""

import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from forked import forking
from surefit.doctor.conditions.condition import All, Condition
from surefit.doctor.conditions.labels import LabelsReachModel
from surefit.doctor.conditions.parameters import Moves
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Finding, Fix, Place, Proof, Severity
from surefit.doctor.progress import first_crash
from surefit.observe.script import Launch, watch
from surefit.proof.sandbox import snapshot
from surefit.proof.trial import prove
from surefit.source.patches import Edit, Replace
from surefit.source.spans import Span

pytestmark = pytest.mark.slow

CRASHING = """
import pathlib
import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.head = nn.Linear(8, 20)

    def forward(self, ids, labels):
        logits = self.head(self.embed(ids))
        return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    ids = torch.randint(0, 20, (4, 7 if step < 3 else 9))
    labels = ids.clone()
    labels[:, :2] = -100
    if step == 3:
        ids[:, 1:].view(-1)
    optimizer.zero_grad()
    net(ids, labels=labels).backward()
    optimizer.step()
    torch.save(net.state_dict(), "state.pt")
    pathlib.Path("log.txt").open("a").write(f"{step}\\n")
"""

SILENT = """
import torch
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
model = nn.ModuleDict({"body": body, "head": nn.Linear(8, 2)})
optimizer = torch.optim.SGD(model["body"].parameters(), lr=0.1)
for step in range(20):
    x = torch.randn(16, 4)
    loss = nn.functional.cross_entropy(model["head"](model["body"](x)), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@dataclass
class Tried:
    """A script, an edit of it, and what came of trying that."""

    folder: Path
    text: str
    seconds: float = 120.0
    really: bool = False
    """From nothing, not in a fork of a Python with torch in it."""

    def replacing(self, old: str, new: str, must: Condition) -> Proof:
        """The proof of replacing one piece of the text, which stands in it once."""
        (self.folder / "train.py").write_text(self.text)
        assert self.text.count(old) == 1
        start = self.text.index(old)
        line = self.text.count("\n", 0, start) + 1
        column = start - self.text.rfind("\n", 0, start) - 1
        span = Span(line, column, line, column + len(old))
        with nullcontext() if self.really else forking():
            return self.proof(Edit("train.py", (Replace(span, new),)), must)

    def proof(self, edit: Edit, must: Condition) -> Proof:
        launch = Launch((sys.executable, "train.py"), self.folder, "train.py")
        before = snapshot(self.folder)
        seen = watch(launch).recording
        crash = first_crash(seen)
        finding = Finding(
            "some-rule",
            "SF1",
            Severity.ERROR,
            Place("train.py", edit.changes[0].span.line),
            "It.",
            fixes=(Fix("Change it.", edit, must),),
            about=crash.id if crash else "",
        )
        (proved,) = prove([finding], seen, launch, before, seconds=self.seconds)
        proof = proved.fixes[0].proof
        assert proof is not None
        return proof


@pytest.fixture
def folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Path:
    assert capfd
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def test_a_crash_is_mended(folder: Path) -> None:
    (folder / "log.txt").write_text("an earlier run\n")
    tried = Tried(folder, CRASHING, really=True)
    proof = tried.replacing(".view(-1)", ".reshape(-1)", LabelsReachModel(28, 4))
    assert proof == Proof(
        "held",
        "tried on a copy: 2 steps past the fault; 3 losses before the fault are equal to the bit; "
        "28 labels of 4 rows reach the model, all that there are",
    )
    assert (folder / "log.txt").read_text() == "an earlier run\n0\n1\n2\n"
    assert sorted(path.name for path in folder.iterdir()) == ["log.txt", "state.pt", "train.py"]


def test_a_cure_that_loses_rows_fails(folder: Path) -> None:
    cure = "ids, labels = ids[:2], labels[:2]"
    proof = Tried(folder, CRASHING).replacing("ids[:, 1:].view(-1)", cure, LabelsReachModel(28, 4))
    assert proof == Proof(
        "failed",
        "tried on a copy, and it did not hold: 14 labels of 2 rows reach the model, and 4 rows hold"
        " 28 labels",
    )


def test_a_cure_that_only_moves_the_error_fails(folder: Path) -> None:
    proof = Tried(folder, CRASHING).replacing(
        "ids[:, 1:].view(-1)", "ids.tolist().view(-1)", LabelsReachModel(28, 4)
    )
    assert proof.status == "failed"
    assert proof.said.startswith(
        "tried on a copy, and it did not hold: it stops at train.py:27 with AttributeError: 'list'"
    )


def test_another_run_proves_nothing(folder: Path) -> None:
    other = CRASHING.replace("torch.manual_seed(0)", "torch.seed()")
    proof = Tried(folder, other).replacing(".view(-1)", ".reshape(-1)", LabelsReachModel(28, 4))
    assert proof.status == "not-tried"
    assert proof.said.startswith("tried on a copy, which proves nothing: its loss at step 0 is ")


def test_parameters_are_handed_to_the_optimizer(folder: Path) -> None:
    must = All((Moves(("head.weight", "head.bias")), Moves(("body.0.weight",))))
    proof = Tried(folder, SILENT).replacing(
        'model["body"].parameters()', "model.parameters()", must
    )
    assert proof.status == "held", proof.said
    assert proof.said.startswith("tried on a copy: 20 steps; ")
    assert "an optimizer holds `head.weight` and `head.bias`" in proof.said
    assert proof.said.endswith("; without the fix no optimizer holds `head.weight` and `head.bias`")


LATE = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.ModuleDict({"body": nn.Linear(4, 8), "head": nn.Linear(8, 3)})


def train(optimizer, classes):
    for step in range(20):
        x = torch.randn(16, 4)
        loss = nn.functional.cross_entropy(
            model["head"](model["body"](x).tanh()), (x[:, 0] > 0).long() % classes
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


train(torch.optim.SGD(model.parameters(), lr=0.1), 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model["head"] = nn.Linear(8, 2)
train(optimizer, 2)
"""


def test_a_fault_of_a_second_stage_is_not_proved_in_the_first(folder: Path) -> None:
    """There the head moves, with and without the fix: it is another."""
    must = Moves(("head.weight",), steps=6)
    proof = Tried(folder, LATE).replacing("train(optimizer, 2)", MENDED, must)
    assert proof.status == "held", proof.said
    assert proof.said.startswith("tried on a copy: 26 steps; an optimizer holds `head.weight`: ")
    assert proof.said.endswith("; without the fix no optimizer holds `head.weight`")


MENDED = "train(torch.optim.SGD(model.parameters(), lr=0.1), 2)"


def test_parameters_that_stay_outside(folder: Path) -> None:
    must = Moves(("head.weight",))
    proof = Tried(folder, SILENT).replacing("lr=0.1", "lr=0.2", must)
    assert proof == Proof(
        "failed", "tried on a copy, and it did not hold: no optimizer holds `head.weight`"
    )


COLUMN = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_of = nn.CrossEntropyLoss()
for step in range(6):
    x = torch.randn(16 if step < 3 else 7, 4)
    labels = torch.randint(0, 3, (len(x), 1) if step > 1 else (len(x),))
    loss = loss_of(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_values_at_a_patched_line_are_seen_and_judged(tmp_path: Path) -> None:
    tried = Tried(tmp_path, COLUMN)
    place = Place("train.py", COLUMN[: COLUMN.index("loss = loss_of")].count("\n") + 1)
    right = ValuesAt(place, (Wanted("labels.squeeze(-1)", (16,), "int64", least=0, greatest=2),))
    proof = tried.replacing("(x), labels)", "(x), labels.squeeze(-1))", right)
    assert proof.status == "held", proof.said
    assert "`labels.squeeze(-1)` is (16,), int64, from 0 to 2 at train.py:12" in proof.said
    wrong = ValuesAt(place, (Wanted("labels.squeeze(-1)", (8,)),))
    proof = tried.replacing("(x), labels)", "(x), labels.squeeze(-1))", wrong)
    assert proof.status == "failed", proof.said
    assert "`labels.squeeze(-1)` has the shape (16,)" in proof.said
    unread = ValuesAt(place, (Wanted("labels.sum(0)", (1,)),))
    proof = tried.replacing("(x), labels)", "(x), labels.squeeze(-1))", unread)
    assert proof.status == "not-tried", proof.said
