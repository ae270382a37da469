"""Rows that are batches of one, on hand-made recordings: where, how mended, what is passed over."""

from collections.abc import Sequence
from textwrap import dedent

import recorded_rows
from lineages import Step
from recorded_rows import mended
from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.inputs import RowsReachModel
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    CollatorSeen,
    Frame,
    InputsSeen,
    Process,
    RootSeen,
    Steps,
    Value,
)
from surefit.lineage.producers import ROWS, Way
from surefit.rules.data.extra_axis_in_rows import RULE

ROWS_TEXT = dedent(
    """\
    class Rows(Dataset):
        def __getitem__(self, index):
            encoded = self.tokenizer(self.texts[index], return_tensors="pt")
            return {"input_ids": encoded["input_ids"]}

    for batch in DataLoader(Rows(), batch_size=4):
        model(**batch)
    """
)
TENSORS = 'self.tokenizer(self.texts[index], return_tensors="pt")'
SHAPE = (4, 1, 40)
BATCH = Value("input_ids", "Tensor", 2, shape=SHAPE, dtype="int64")
ROW = Value("row", "Tensor", 3, shape=(1, 40), dtype="int64")
ENCODED = Value("encoded", "BatchEncoding", 4, length=1, members={"input_ids": ROW})
A_TEXT = Value("text", "str", 5, scalar="a text", length=6)
CHAIN: list[Step] = [
    ('encoded["input_ids"]', ROW),
    (TENSORS, ENCODED),
    ("self.texts[index]", A_TEXT, Way.ARGUMENT, "0"),
]
FORWARD = Frame(Place("torch/nn/modules/module.py", 9), "Bert.forward", own=False, values=(BATCH,))


def in_model(
    text: str, chain: Sequence[Step], totals: dict[str, int], *below: Frame
) -> list[Finding]:
    call = InputsSeen(0, True, {"input_ids": SHAPE}, totals)
    roots = (RootSeen("Bert", None, 1, 10, 1),)
    steps = Steps(Process(1), 0, 0.0, 0, {}, (), roots=roots, inputs=(call,))
    chains: recorded_rows.Chains = {(1, "input_ids"): chain} if below else {}
    own = recorded_rows.loop(7, "model(**batch)")
    return recorded_rows.found(RULE, text, None, own, *below, chains=chains, more=(steps,))


def test_the_column_of_a_row_is_squeezed() -> None:
    (finding,) = in_model(ROWS_TEXT, CHAIN, {"input_ids": 900}, FORWARD)
    assert finding.place.line == 3
    assert "a batch of one: `input_ids` of a batch is (4, 1, 40), not (4, 40)." in finding.headline
    assert 'encoded["input_ids"].squeeze(0)}' in mended(ROWS_TEXT, finding)
    assert finding.fixes[0].must == All((RowsReachModel((4, 40), 900, None, "input_ids"),))


def test_a_batch_that_failed_outside_of_the_model_is_passed_over() -> None:
    assert in_model(ROWS_TEXT, CHAIN, {"input_ids": 900}) == []


def test_the_channel_of_a_picture_is_no_extra_axis() -> None:
    text = ROWS_TEXT.replace(TENSORS, "picture.unsqueeze(0)")
    chain: list[Step] = [
        ('encoded["input_ids"]', ROW),
        ("picture.unsqueeze(0)", ROW),
        ("picture", Value("picture", "Tensor", 6, shape=(40,), dtype="float32")),
    ]
    assert in_model(text, chain, {}, FORWARD) == []
    assert len(in_model(text, chain, {"input_ids": 900}, FORWARD)) == 1


MAPPED = dedent(
    """\
    def encode(row):
        return tokenizer([row["text"]], truncation=True)
    rows = rows.map(encode)
    trainer.train()
    """
)
COLLATOR = CollatorSeen(
    "DataCollatorWithPadding",
    None,
    own=False,
    rows=2,
    kinds={"input_ids": ("list",)},
    lengths={"input_ids": (1, 1)},
    shared=0,
    pads=("input_ids",),
    shapes={"input_ids": ((1, 9), (1, 17))},
    totals={"input_ids": 77},
)


def test_a_list_of_one_text_loses_its_list() -> None:
    inside = Value("ids", "list", 3, length=1, lengths=(9,))
    encoded = Value("enc", "BatchEncoding", 4, length=1, members={"input_ids": inside})
    listed = Value("texts", "list", 6, length=1, members={"0": A_TEXT})
    chain: list[Step] = [
        ('tokenizer([row["text"]], truncation=True)', encoded),
        ('[row["text"]]', listed, Way.ARGUMENT, "0"),
        ('row["text"]', A_TEXT, Way.ITEM, "0"),
    ]
    chains: recorded_rows.Chains = {(ROWS, "input_ids"): chain}
    (finding,) = recorded_rows.found(RULE, MAPPED, COLLATOR, recorded_rows.loop(4), chains=chains)
    assert 'tokenizer(row["text"], truncation=True)' in mended(MAPPED, finding)
    assert finding.fixes[0].must == All((RowsReachModel((2, 17), 77, 26, "input_ids"),))
    assert recorded_rows.found(RULE, MAPPED, COLLATOR, recorded_rows.loop(4)) == []
