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
    *parts: dict[str, Any],
    frames: tuple[Frame, ...] = (LOOP, ASKED, PICKLED),
    text: str = TEXT,
) -> list[Finding]:
    crash = Crash("1-1", 1.0, Process(1), "AttributeError", "AttributeError: no", frames)
    seen = Recording([Script("train.py", text), crash])
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


def test_names_of_the_function_around_it_are_given_to_it() -> None:
    text = TEXT.replace("f(rows)", "f(rows, tokenizer)")
    (finding,) = found({**LAMBDA, "needs": ["tokenizer"]}, text=text)
    edit = finding.fixes[0].edit
    assert edit is not None
    after = patched(edit, text)
    assert "from functools import partial" in after
    assert "def collate_fn(tokenizer, rows):\n    return f(rows, tokenizer)\n" in after
    assert "collate_fn=partial(collate_fn, tokenizer))" in after


def test_functions_deep_in_a_dataset_are_all_moved() -> None:
    inside = "    def scale(x):\n        return 2 * x\n    loader ="
    text = TEXT.replace("    loader =", inside)
    inner = {**LAMBDA, "part": "dataset", "attribute": "transform.steps[0]", "line": 5}
    inner = {**inner, "name": "main.<locals>.scale"}
    (finding,) = found(inner, {**LAMBDA, "line": 7}, text=text)
    assert "`dataset.transform.steps[0]`, a function inside a function" in finding.headline
    edit = finding.fixes[0].edit
    assert edit is not None
    after = patched(edit, text)
    assert "\ndef scale(x):\n    return 2 * x\n" in after
    assert "collate_fn=collate_fn)" in after
    assert "    def scale" not in after


def test_an_open_file_is_named_where_it_is_opened() -> None:
    part = {**LAMBDA, "part": "dataset", "attribute": "file", "kind": "TextIOWrapper", "line": 0}
    (finding,) = found(part)
    assert finding.place == Place("train.py", 3)
    assert finding.fixes[0].edit is None


def test_other_failures_of_a_loader_are_passed_over() -> None:
    assert found() == []
    assert found(LAMBDA, frames=(LOOP, ASKED)) == []
