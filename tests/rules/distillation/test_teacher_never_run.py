"""Teachers that were loaded and left out of training, in scripts of many forms, and others that
were left out on purpose or are no teachers."""

from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from running import forked_run
from teaching_scripts import script

RULE = "teacher-never-run"

LOOP = """
import argparse
BEFORE
teacher = net(32).eval()
student = net(8)
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
for step in range(4):
    given = student(x)
    ce = F.cross_entropy(given, y)
TERM
    loss = 0.9 * ce + 0.1 * kd
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def loop(before: str, term: str) -> str:
    """`before`: lines ahead of the loop; `term`: those that give `kd`."""
    return LOOP.replace("BEFORE", before).replace("TERM", indent(term, "    "))


def flag(*words: str) -> str:
    return (
        "parser = argparse.ArgumentParser()\n"
        f"parser.add_argument({', '.join(words)})\n"
        "args = parser.parse_args()"
    )


def asked_if(condition: str, zero: str = "0.0") -> str:
    return (
        f"kd = {zero}\n"
        f"if {condition}:\n"
        "    with torch.no_grad():\n"
        "        wanted = teacher(x)\n"
        "    kd = divergence(given, wanted)"
    )


CLASS = """
class Distillation:
    def __init__(self, teacher, student, online=False):
        self.teacher, self.student, self.online = teacher, student, online
        self.optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)

    def soft(self, given):
        if not self.online:
            return torch.zeros(())
        with torch.no_grad():
            wanted = self.teacher(x)
        return divergence(given, wanted)

    def step(self):
        given = self.student(x)
        loss = 0.5 * F.cross_entropy(given, y) + 0.5 * self.soft(given)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

big = net(32).eval()
run = Distillation(big, net(8))
for _ in range(4):
    run.step()
"""
CHOICE = "kd = divergence(given, teacher(x).detach()) if ALPHA > 0 else torch.zeros(1).sum()"
NOWHERE = "kd = torch.tensor(0.0)  # comes later"

BAD = {
    "a constant": loop("USE_TEACHER = False", asked_if("USE_TEACHER")),
    "a flag that cannot be switched off": loop(
        flag("'--offload'", "action='store_true'", "default=True"),
        asked_if("not args.offload", "torch.zeros(())"),
    ),
    "a flag that was not given": loop(
        flag("'--distil'", "action='store_true'"), asked_if("args.distil")
    ),
    "a weight of zero": loop("ALPHA = 0.0", CHOICE),
    "a method that gives zero": CLASS,
    "nowhere in the source": loop("", NOWHERE),
    "evaluated before": loop("USE_TEACHER = False", asked_if("USE_TEACHER", "ce * 0")).replace(
        "student = net(8)", "print(teacher(x).argmax(-1).eq(y).float().mean())\nstudent = net(8)"
    ),
}

AVERAGE = """
student = net(8)
average = copy.deepcopy(student).eval()
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
for _ in range(4):
    penalty = 0.0
    loss = F.cross_entropy(student(x), y) + penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for old, new in zip(average.parameters(), student.parameters()):
        old.data.lerp_(new.data, 0.1)
"""
WITHOUT_A_TERM = """
USE_TEACHER = False
teacher = net(32).eval()
student = net(8)
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
for _ in range(4):
    given = student(x)
    loss = F.cross_entropy(given, y)
    if USE_TEACHER:
        loss = 0.5 * loss + 0.5 * divergence(given, teacher(x).detach())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
FOR_LATER = """
judge = net(32).eval()
student = net(8)
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
penalty = 0.0
for _ in range(4):
    loss = F.cross_entropy(student(x), y) + penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
if loss.item() < 0:
    print(judge(x))
"""

IN_A_FORWARD = """
class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net(8)

    def forward(self, rows, teacher=None):
        given = self.net(rows)
        kd = torch.zeros(())
        if teacher is not None:
            kd = divergence(given, teacher(rows).detach())
        return F.cross_entropy(given, y) + kd

teacher = net(32).eval()
student = Student()
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
for _ in range(4):
    loss = student(x, teacher)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

GOOD = {
    "run in the forward of another": (IN_A_FORWARD, ()),
    "run": (loop("USE_TEACHER = True", asked_if("USE_TEACHER")), ()),
    "chosen on the command line": (
        loop(flag("'--alpha'", "type=float", "default=0.1"), asked_if("args.alpha > 0")),
        ("--alpha", "0"),
    ),
    "begins later": (loop("", asked_if("step >= 10")), ()),
    "a moving average": (AVERAGE, ()),
    "no term without it": (WITHOUT_A_TERM, ()),
    "a judge for later": (FOR_LATER, ()),
    "run by its forward": (
        loop("ready = [True]", asked_if("ready[0]").replace("teacher(x)", "teacher.forward(x)")),
        (),
    ),
    "run at some steps": (loop("", asked_if("step % 2")), ()),
}


def told(body: str, folder: Path, *words: str) -> list[dict[str, Any]]:
    (folder / "train.py").write_text(script(body), encoding="utf-8")
    ran = forked_run(["train.py", *words], folder, ["--no-proof"])
    assert ran.document["not_observed"] == [], ran.err
    assert ran.document["ended"]["exception"] is None, ran.err
    found: list[dict[str, Any]] = ran.document["findings"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("form", BAD)
def test_a_teacher_that_is_left_out_is_named(form: str, tmp_path: Path) -> None:
    (finding,) = told(BAD[form], tmp_path)
    assert finding["rule"] == RULE
    assert "run in none of 4 steps" in finding["headline"]


@pytest.mark.slow
@pytest.mark.parametrize("form", GOOD)
def test_what_is_meant_so_gets_no_word(form: str, tmp_path: Path) -> None:
    body, words = GOOD[form]
    assert told(body, tmp_path, *words) == []
