"""Loops over loaders that gave nothing, on hand-made recordings."""

import pytest

from failed_operations import crash
from recorded_crashes import look
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Frame, Question
from surefit.rules.evaluation.loader_without_batches import RULE
from surefit.source.edits import patched

TEXT = """\
from torch.utils.data import DataLoader
loader = DataLoader(rows, batch_size=8, drop_last=True)
kept = []
for x, y in loader:
    loss = model(x)
    kept.append(loss)
"""


def found(last: str, rows: int | None = 5, drops: bool = True, text: str = TEXT) -> list[Finding]:
    text += last + "\n"
    frame = Frame(Place("train.py", text.count("\n")), "<module>", True, last)
    loader = {"made": "train.py", "line": 2, "size": 8, "yielded": 0, "rows": rows, "drops": drops}
    said = Answer(Question("empty-loaders", "1-1"), {"loaders": [loader]})
    return look(RULE, text, crash(frame), said)


@pytest.mark.parametrize(
    "last", ["every = torch.cat(kept)", "print(loss.item())", "mean = total / len(loader)"]
)
def test_the_incomplete_batch_is_kept(last: str) -> None:
    (finding,) = found(last)
    assert finding.place == Place("train.py", 2)
    assert "5 rows" in finding.headline
    assert finding.fixes[0].edit is not None
    assert finding.fixes[0].must is not None
    assert "DataLoader(rows, batch_size=8)\n" in patched(finding.fixes[0].edit, TEXT + last + "\n")


def test_a_set_whose_length_is_code_of_the_users() -> None:
    (finding,) = found("print(loss)", rows=None)
    assert "fewer rows than a batch" in finding.headline


def test_silence() -> None:
    assert found("print(other)") == []
    assert found("print(loss)", rows=20, drops=False) == []
    frame = Frame(Place("train.py", 7), "<module>", True, "print(loss)")
    told = Answer(Question("empty-loaders", "1-1"), {"loaders": []})
    assert look(RULE, TEXT + "print(loss)\n", crash(frame), told) == []


def test_a_dictionary_that_says_it() -> None:
    made = "DataLoader(rows, batch_size=8, drop_last=True)"
    text = TEXT.replace(made, "DataLoader(rows, **dict(batch_size=8, drop_last=True))")
    (finding,) = found("print(loss)", text=text)
    assert finding.fixes[0].edit is not None
    after = patched(finding.fixes[0].edit, text + "print(loss)\n")
    assert '**{**dict(batch_size=8, drop_last=True), "drop_last": False})' in after
