"""Ids that became floats before they were looked up."""

from textwrap import dedent

import pytest

from failed_operations import crash, span_of
from lineages import Step
from recorded_findings import Chains, answer, found, mended
from surefit.doctor.conditions.tables import IdsFit
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Frame, Layer, Value
from surefit.lineage.producers import Way
from surefit.rules.model.float_ids import RULE

EMBEDDING = Layer("Embedding", "words", "Net", Place("train.py", 1))
LOOP = dedent(
    """\
    for x, y in loader:
        out = model(x)
    """
)
BATCH = Value("x", "Tensor", 1, shape=(4, 7), dtype="float32", least=0, greatest=3)


def numbers(frame: int, text: str, *values: float) -> Answer:
    held = values or (0.0, 3.0)
    said = {
        "elements": 28,
        "total": 30.0,
        "whole": all(value == round(value) for value in held),
        "different": len(held),
        "values": list(held),
        "counts": [1] * len(held),
    }
    return answer("labels", said, frame=frame, text=text)


def looked_up(
    text: str, *answers: Answer, chain: tuple[Step, ...] = (), dtype: str = "float32"
) -> list[Finding]:
    x = Value("x", "Tensor", 1, shape=(4, 7), dtype=dtype, least=0, greatest=3)
    table = Value("weight", "Parameter", 2, shape=(9, 5), dtype="float32")
    given = Value("input", "Tensor", 1, shape=(4, 7), dtype=dtype, least=0)
    line = text.count("\n")
    span = span_of(text, line, "model(x)")
    frames = (
        Frame(Place("train.py", line), "<module>", True, "out = model(x)", "model(x)", span, (x,)),
        Frame(
            Place("torch/nn/functional.py", 9),
            "embedding",
            False,
            values=(given, table),
            layer=EMBEDDING,
        ),
    )
    chains: Chains = {(1, "input"): [("x", x, Way.ARGUMENT, "0"), *chain]}
    return found(RULE, text, crash(*frames), *answers, chains=chains)


@pytest.mark.parametrize(
    ("row", "patch"),
    [
        ("torch.Tensor(ids)", "torch.LongTensor(ids)"),
        ("torch.tensor(ids, dtype=torch.float)", "torch.tensor(ids, dtype=torch.int64)"),
        ("torch.tensor(ids).float()", "torch.tensor(ids).long()"),
        ("torch.zeros(4, 7)", "torch.zeros(4, 7).long()"),
    ],
)
def test_integers_where_they_became_floats(row: str, patch: str) -> None:
    text = f"import torch\nx = {row}\n{LOOP}"
    integers = Value("ids", "list", length=7, kinds={"int": 7})
    chain: tuple[Step, ...] = ((row, BATCH),)
    if "ids" in row:
        chain += (("ids", integers, Way.ARGUMENT, "0"),)
    (finding,) = looked_up(text, numbers(1, "input"), chain=chain)
    assert finding.place.line == 2
    assert patch in mended(finding, text)
    assert [fix.must for fix in finding.fixes] == [IdsFit(width=0, rows=9, becomes=9)]


def test_fractions_are_not_cast() -> None:
    text = "import torch\nx = ids / 4\n" + LOOP
    (finding,) = looked_up(text, numbers(1, "input", 0.25, 1.0), chain=(("ids / 4", BATCH),))
    assert "0.25" in finding.headline
    assert [fix.edit for fix in finding.fixes] == [None]


def test_an_index_that_was_divided() -> None:
    text = "parent = flat / width\nbest = beams[parent]\n"
    divided = Value("parent", "Tensor", 1, shape=(4,), dtype="float32", least=0.5)
    span = span_of(text, 2, "beams[parent]")
    frame = Frame(
        Place("train.py", 2), "<module>", True, "", "beams[parent]", span, values=(divided,)
    )
    chains: Chains = {(0, "parent"): [("flat / width", divided)]}
    (finding,) = found(RULE, text, crash(frame), numbers(0, "parent", 0.5), chains=chains)
    assert finding.place.line == 1
    assert "flat // width" in mended(finding, text)


def test_a_column_of_a_table_is_cast_where_it_is_cut() -> None:
    text = f"import torch\nx = rows[:, 0]\n{LOOP}"
    table = Value("rows", "Tensor", shape=(4, 3), dtype="float32")
    chain: tuple[Step, ...] = (("rows[:, 0]", BATCH), ("rows", table, Way.OPERAND, "object"))
    (finding,) = looked_up(text, numbers(1, "input"), chain=chain)
    assert finding.place.line == 2
    assert "x = rows[:, 0].long()\n" in mended(finding, text)


def test_silence() -> None:
    assert looked_up(LOOP, numbers(1, "input"), dtype="int64") == []
