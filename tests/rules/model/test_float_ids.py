"""Ids that became floats before they were looked up."""

from textwrap import dedent

import pytest

from failed_operations import crash, operation, span_of, story, weight
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Frame, Layer, Question, Script, Value
from surefit.doctor.recording import Recording
from surefit.rules.model.float_ids import RULE
from surefit.source.edits import patched

EMBEDDING = Layer("Embedding", "words", "Net", Place("train.py", 1))
LOOP = dedent(
    """\
    for x, y in loader:
        out = model(x)
    """
)
NUMBERS = {"whole": True, "values": [0.0, 3.0]}


def values(frame: int, text: str, said: dict[str, object] | None = None) -> Answer:
    return Answer(Question("labels", "1-1", {"frame": frame, "text": text}), said or NUMBERS)


def looked_up(text: str, *answers: Answer, dtype: str = "float32") -> list[Finding]:
    x = Value("x", "Tensor", 1, shape=(4, 7), dtype=dtype, device="cpu", least=0, greatest=3)
    table = Value("weight", "Parameter", 2, shape=(9, 5), dtype="float32")
    given = Value("input", "Tensor", 1, shape=(4, 7), dtype=dtype, device="cpu", least=0)
    line = text.count("\n")
    frames = (
        Frame(Place("train.py", line), "<module>", True, "out = model(x)", "model(x)", values=(x,)),
        Frame(
            Place("torch/nn/functional.py", 9),
            "embedding",
            False,
            values=(given, table),
            layer=EMBEDDING,
        ),
    )
    seen = Recording([Script("train.py", text), crash(*frames), *answers])
    return list(RULE.look(seen))


@pytest.mark.parametrize(
    ("row", "mended"),
    [
        ("torch.Tensor(ids)", "torch.LongTensor(ids)"),
        ("torch.tensor(ids, dtype=torch.float)", "torch.tensor(ids, dtype=torch.long)"),
        ("torch.from_numpy(ids.astype('float32'))", 'torch.from_numpy(ids.astype("int64"))'),
        ("torch.tensor(ids).float()", "torch.tensor(ids).long()"),
    ],
)
def test_the_dataset_that_makes_floats(row: str, mended: str) -> None:
    text = dedent(
        f"""\
        import torch
        class Rows:
            def __getitem__(self, i):
                return {row}, 1
        """
    )
    (finding,) = looked_up(text + LOOP, values(1, "input"))
    assert finding.place == Place("train.py", 4)
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert mended in patched(fix.edit, text + LOOP)
    assert fix.must is not None


def test_a_batch_of_zeros_to_be_filled() -> None:
    text = "import torch\nx = torch.zeros(4, 7)\n" + LOOP
    told = story(
        operation(9, "embedding", (), (5, 3), line=4),
        operation(5, "__setitem__", (4, 7), (2, 1), line=3),
        weight(3, EMBEDDING, (9, 5)),
        operation(2, "zeros", (4, 7), line=2),
        operation(1, "tensor", (7,), line=3, dtype="int64"),
    )
    (finding,) = looked_up(text, values(1, "input"), told)
    assert finding.place == Place("train.py", 2)
    assert finding.fixes[0].edit is not None
    assert "zeros(4, 7, dtype=torch.long)" in patched(finding.fixes[0].edit, text)


def test_numbers_with_a_fraction_are_not_cast() -> None:
    fractions = {"whole": False, "values": [0.25, 1.0]}
    (finding,) = looked_up("import torch\nx = ids / 4\n" + LOOP, values(1, "input", fractions))
    assert "0.25" in finding.headline
    assert finding.fixes[0].edit is None


def test_an_index_that_was_divided() -> None:
    text = "parent = flat / width\nbest = beams[parent]\n"
    divided = Value("parent", "Tensor", 1, shape=(4,), dtype="float32", device="cpu", least=0.5)
    span = span_of(text, 2, "beams[parent]")
    frame = Frame(
        Place("train.py", 2), "<module>", True, "", "beams[parent]", span, values=(divided,)
    )
    said = values(0, "parent", {"whole": False, "values": [0.5]})
    (finding,) = RULE.look(Recording([Script("train.py", text), crash(frame), said]))
    assert finding.fixes[0].edit is not None
    assert "flat // width" in patched(finding.fixes[0].edit, text)


def test_silence() -> None:
    assert looked_up(LOOP, values(1, "input"), dtype="int64") == []
    assert looked_up(LOOP) == []


def test_a_column_of_a_table_is_cast_where_it_is_cut() -> None:
    text = "city = places(x[:, 0])\n"
    table = Value("x", "Tensor", 1, shape=(4, 7), dtype="float32", device="cpu")
    column = Value("x[:, 0]", "Tensor", 2, shape=(4,), dtype="float32", device="cpu", least=0)
    given = Value("input", "Tensor", 3, shape=(4,), dtype="float32", device="cpu", least=0)
    frames = (
        Frame(Place("train.py", 1), "<module>", True, text.strip(), None, None, (table, column)),
        Frame(Place("torch/nn/functional.py", 9), "embedding", False, values=(given,)),
    )
    seen = Recording([Script("train.py", text), crash(*frames), values(1, "input")])
    (finding,) = RULE.look(seen)
    assert finding.place == Place("train.py", 1)
    assert finding.fixes[0].edit is not None
    assert patched(finding.fixes[0].edit, text) == "city = places(x[:, 0].long())\n"
