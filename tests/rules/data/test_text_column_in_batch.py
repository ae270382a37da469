"""Text among the rows of a batch, on hand-made recordings: who kept it, and how it goes."""

from dataclasses import replace
from textwrap import dedent

import pytest

import recorded_rows
from recorded_rows import mended
from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.inputs import RowsReachModel
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import CollatorSeen, Frame, Value
from surefit.lineage.producers import DATASET, ROWS
from surefit.rules.data.text_column_in_batch import RULE

MAPPED = dedent(
    """\
    rows = rows.map(lambda row: tokenizer(row["text"], truncation=True), batched=True)
    args = TrainingArguments(remove_unused_columns=False)
    trainer = Trainer(model, args, train_dataset=rows, data_collator=collate)
    trainer.train()
    """
)
COLLATOR = CollatorSeen(
    "DataCollatorWithPadding",
    None,
    own=False,
    rows=2,
    kinds={"text": ("str",), "input_ids": ("list",)},
    lengths={"text": (30, 20), "input_ids": (7, 5)},
    shared=0,
    pads=("input_ids", "attention_mask"),
    shapes={"input_ids": ((7,), (5,))},
    totals={"input_ids": 99},
    texts=("text",),
)


COLUMNS = {name: Value(name, "Column", length=9) for name in ("text", "input_ids")}
TABLE = Value("rows", "Dataset", 4, length=9, members=COLUMNS)
MAP = 'rows.map(lambda row: tokenizer(row["text"], truncation=True), batched=True)'
TRAIN = recorded_rows.loop(4)


def found(
    text: str,
    collator: CollatorSeen | None = COLLATOR,
    *frames: Frame,
    chains: recorded_rows.Chains | None = None,
) -> list[Finding]:
    return recorded_rows.found(RULE, text, collator, *(frames or (TRAIN,)), chains=chains)


def test_the_map_that_left_it_is_named() -> None:
    (finding,) = found(MAPPED, chains={(DATASET, ""): [(MAP, TABLE)]})
    assert finding.place.line == 1
    assert finding.headline == (
        "The text column `text` is still in every row, and `DataCollatorWithPadding` makes a tensor"
        " of every column."
    )
    assert [(fact.name, fact.value) for fact in finding.facts] == [
        ("`text`", "str in each of 2 rows"),
        ("the other columns", "input_ids"),
        ("it is kept by", "`remove_unused_columns=False`, train.py:2"),
    ]
    assert 'batched=True, remove_columns=["text"])' in mended(MAPPED, finding)
    assert 'train_dataset=rows.remove_columns(["text"]),' in mended(MAPPED, finding, 1)
    assert finding.fixes[0].must == All((RowsReachModel((2, None), 99, 12),))


@pytest.mark.parametrize(
    ("row", "new"),
    [
        ('return {"text": title, "input_ids": ids}', 'return {"input_ids": ids}'),
        ('item = {"input_ids": ids}\n        item["text"] = title\n        return item', "ids}\n"),
    ],
)
def test_a_dataset_of_the_users_own_returns_it_no_more(row: str, new: str) -> None:
    text = f"class Rows(Dataset):\n    def __getitem__(self, index):\n        {row}\n"
    title = Value("title", "str", 3, scalar="a")
    (finding,) = found(text, COLLATOR, chains={(ROWS, "text"): [("title", title)]})
    assert new in mended(text, finding)
    assert "title" not in mended(text, finding)


def test_a_list_of_strings_has_no_device() -> None:
    text = dedent(
        """\
        class Rows(Dataset):
            def __getitem__(self, index):
                return {"title": name, "x": torch.tensor(x)}
        batch = {k: v.to(device) for k, v in batch.items()}
        """
    )
    titles = Value("v", "list", 7, length=1, members={"0": Value("0", "str", scalar="a")})
    x = Value("x", "Tensor", 8, shape=(4, 3), dtype="float32")
    batch = Value("batch", "dict", 9, members={"title": replace(titles, text="title"), "x": x})
    frame = Frame(Place("train.py", 4), "<module>", True, expression="v.to", values=(titles, batch))
    row = Value("row", "Tensor", 6, shape=(3,), dtype="float32")
    chains: recorded_rows.Chains = {(0, 'batch["x"]'): [("torch.tensor(x)", row)]}
    (finding,) = found(text, None, frame, chains=chains)
    assert finding.headline == (
        "The text column `title` is still in every row, and `v.to` is for tensors."
    )
    assert 'return {"x": torch.tensor(x)}' in mended(text, finding)
    numbers = replace(titles, members={"0": Value("0", "int", scalar=1)})
    assert found(text, None, replace(frame, values=(numbers, batch))) == []


@pytest.mark.parametrize(
    "collator",
    [
        replace(COLLATOR, texts=()),
        replace(COLLATOR, texts=("labels",)),
        replace(COLLATOR, kind="default_collate"),
        replace(COLLATOR, own=True),
    ],
    ids=["no text", "labels are text", "strings stay strings", "another line of your own"],
)
def test_look_alikes_are_passed_over(collator: CollatorSeen) -> None:
    assert found(MAPPED, collator) == []


def test_a_collator_that_tokenizes_is_given_text_rightly() -> None:
    collates = Frame(
        Place("train.py", 3),
        "Collator.__call__",
        own=True,
        line='enc = tokenizer([row["text"] for row in rows], padding=True)',
        expression='tokenizer([row["text"] for row in rows], padding=True)',
    )
    tokenizes = Frame(Place("transformers/tokenization_utils_base.py", 9), "pads", own=False)
    own = replace(COLLATOR, own=True)
    assert found(MAPPED, own, collates, tokenizes) == []
    stacks = replace(tokenizes, line="return torch.tensor(value)")
    assert len(found(MAPPED, own, collates, stacks)) == 1
