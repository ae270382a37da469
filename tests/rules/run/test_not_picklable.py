"""Parts of loaders that cannot be sent, on hand-made recordings."""

from typing import Any

from surefit.doctor.conditions.rows import RowsArrive
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Crash, Frame, Process, Script, Value
from surefit.doctor.recording import Recording
from surefit.laws.crashes import violations_in
from surefit.rules.run.not_picklable import RULE
from surefit.source.edits import patched

TEXT = """\
class Rows:
    def __init__(self):
        self.file = open("rows.txt")
def main():
    loader = DataLoader(Rows(), batch_size=4, collate_fn=lambda rows: f(rows))
    for batch in loader:
        step(batch)
"""
LOOP = Frame(
    Place("train.py", 6),
    "main",
    own=True,
    line="for batch in loader:",
    values=(Value("loader", "DataLoader", 9, made_at=Place("train.py", 5)),),
)
ASKED = Frame(Place("torch/utils/data/dataloader.py", 725), "__iter__", own=False)
PICKLED = Frame(Place("python3.11/multiprocessing/reduction.py", 60), "dump", own=False)
LAMBDA = {
    "part": "collate_fn",
    "attribute": "",
    "kind": "function",
    "name": "main.<locals>.<lambda>",
    "file": "train.py",
    "line": 5,
    "needs": [],
}


def look(recording: Recording) -> list[Finding]:
    broken: list[str] = []
    findings = list(RULE.look(recording, violations_in(recording, broken)))
    assert broken == []
    return findings


def found(
    *parts: dict[str, Any], frames: tuple[Frame, ...] = (LOOP, ASKED, PICKLED)
) -> list[Finding]:
    crash = Crash("1-1", 1.0, Process(1), "AttributeError", "AttributeError: no", frames)
    seen = Recording([Script("train.py", TEXT), crash])
    look(seen)
    seen.observations += [
        Answer(one, {"parts": list(parts)} if one.kind == "unpicklable" else None)
        for one in seen.open_questions
    ]
    return look(seen)


def test_a_lambda_becomes_a_function_of_the_module() -> None:
    (finding,) = found(LAMBDA)
    assert finding.place == Place("train.py", 5)
    assert "`collate_fn`, a lambda, cannot be pickled" in finding.headline
    fix = finding.fixes[0]
    assert fix.must == RowsArrive(rows=4, place=Place("train.py", 7), names=("batch",))
    assert fix.edit is not None
    after = patched(fix.edit, TEXT)
    assert "def collate_fn(rows):\n    return f(rows)\n" in after
    assert "collate_fn=collate_fn)" in after


def test_names_of_the_function_around_it_stay_with_it() -> None:
    (finding,) = found({**LAMBDA, "needs": ["tokenizer"]})
    assert finding.fixes[0].edit is None


def test_an_open_file_is_named_where_it_is_opened() -> None:
    part = {**LAMBDA, "part": "dataset", "attribute": "file", "kind": "TextIOWrapper", "line": 0}
    (finding,) = found(part)
    assert finding.place == Place("train.py", 3)
    assert finding.fixes[0].edit is None


def test_other_failures_of_a_loader_are_passed_over() -> None:
    assert found() == []
    assert found(LAMBDA, frames=(LOOP, ASKED)) == []
