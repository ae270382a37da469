"""Arrays that were made for whole batches, on hand-made recordings."""

from failed_operations import crash
from recorded_crashes import look
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Frame, Question, Value
from surefit.rules.evaluation.room_for_whole_batches import RULE
from surefit.source.edits import patched

TEXT = """\
import numpy as np
kept = np.zeros((len(loader) * 8, 3))
for i, x in enumerate(loader):
    out = model(x)
    kept[i * 8 : (i + 1) * 8] = out.numpy()
"""


def found(rows: int, shape: tuple[int, ...] = (24, 3), text: str = TEXT) -> list[Finding]:
    values = (
        Value("kept", "ndarray", 1, shape=shape, dtype="float64"),
        Value("out", "Tensor", 2, shape=(rows, 3), dtype="float32"),
        Value("i", "int", 3, scalar=2),
    )
    line = text.splitlines()[4].strip()
    frame = Frame(Place("train.py", 5), "<module>", True, line, values=values)
    loader = {"made": "train.py", "line": 1, "size": 8, "yielded": 3, "rows": 16 + rows}
    said = Answer(Question("loaders", "1-1"), {"loaders": [loader]})
    chain = (("kept", values[0]), ("np.zeros((len(loader) * 8, 3))", values[0]))
    return look(RULE, text, crash(frame), said, chains={(0, "kept"): chain})


def test_as_long_as_the_set() -> None:
    (finding,) = found(5)
    assert finding.place == Place("train.py", 2, 2)
    assert (
        finding.headline
        == "`kept` is created for whole batches of 8, and the last batch has 5 rows."
    )
    assert finding.fixes[0].edit is not None
    assert "np.zeros((len(loader.dataset), 3))" in patched(finding.fixes[0].edit, TEXT)


def test_one_that_is_too_short() -> None:
    (finding,) = found(5, (16, 3))
    assert "no room left" in finding.headline


def test_an_axis_for_the_batches() -> None:
    text = TEXT.replace("i * 8 : (i + 1) * 8", "i")
    (finding,) = found(5, (3, 8, 3), text)
    assert finding.fixes[0].edit is None
    assert "np.concatenate" in finding.fixes[0].text


def test_silence() -> None:
    assert found(8) == []
    assert found(5, (21, 3)) == []
