"""Logits that were filled up, in several ways, and fills that take no mass."""

from pathlib import Path
from typing import Any

import pytest

from running import forked_run
from teaching_scripts import script

RULE = "logits-padded-with-zeros"

BODY = """
def words(table):
    return nn.Sequential(nn.Embedding(table, 8), nn.Linear(8, table))

class Divergence(nn.Module):
    def forward(self, given, wanted):
        return F.kl_div(given, wanted, reduction="batchmean")

teacher, student = words(TEACHER).eval(), words(STUDENT)
criterion = Divergence()
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
for _ in range(4):
    text = torch.randint(0, 60, (4, 6))
    given = student(text)
    with torch.no_grad():
        wanted = teacher(text)
    FITTED
    loss = criterion(given, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def fitted(*lines: str, teacher: int = 64, student: int = 60) -> str:
    text = BODY.replace("TEACHER", str(teacher)).replace("STUDENT", str(student))
    return text.replace("FITTED", "\n    ".join(lines))


LOGS = "given, wanted = given.log_softmax(-1), wanted.softmax(-1)"
NO_MASS = "given = F.pad(given, (0, 4), value=-1e4).log_softmax(-1)"

BAD = {
    "pad": fitted("given = F.pad(given, (0, 4))", LOGS),
    "cat": fitted("given = torch.cat([given, given.new_zeros(4, 6, 4)], -1)", LOGS),
    "a buffer": fitted(
        "filled = torch.zeros_like(wanted)", "filled[..., :60] = given", "given = filled", LOGS
    ),
    "of the teacher": fitted(
        "wanted = F.pad(wanted, (0, 4), value=0.0)", LOGS, teacher=60, student=64
    ),
}
GOOD = {
    "cut": fitted("wanted = wanted[..., :60]", LOGS),
    "of no mass": fitted(NO_MASS, "wanted = wanted.softmax(-1)"),
    "behind the softmax": fitted(
        "wanted = F.pad(wanted.softmax(-1), (0, 4))",
        "given = given.log_softmax(-1)",
        teacher=60,
        student=64,
    ),
    "one width": fitted(LOGS, teacher=60),
    "rows of zeros": fitted(
        "wanted = torch.cat([wanted[..., :56], torch.zeros(4, 6, 8)], -1)", LOGS, student=64
    ),
}


def told(body: str, folder: Path) -> list[dict[str, Any]]:
    (folder / "train.py").write_text(script(body), encoding="utf-8")
    ran = forked_run(["train.py"], folder, ["--no-proof"])
    assert ran.document["not_observed"] == [], ran.err
    assert ran.document["ended"]["exception"] is None, ran.err
    found: list[dict[str, Any]] = ran.document["findings"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("form", BAD)
def test_columns_that_were_added_are_counted(form: str, tmp_path: Path) -> None:
    (finding,) = told(BAD[form], tmp_path)
    assert finding["rule"] == RULE
    assert "4 columns" in finding["headline"]
    assert f"`{'teacher' if 'teacher' in form else 'student'}`" in finding["headline"]


@pytest.mark.slow
@pytest.mark.parametrize("form", GOOD)
def test_what_takes_no_mass_gets_no_word(form: str, tmp_path: Path) -> None:
    assert told(GOOD[form], tmp_path) == []
