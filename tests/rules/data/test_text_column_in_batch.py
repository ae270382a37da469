"""Text among the rows of a batch, on hand-made recordings: who kept it, and how it goes."""

from dataclasses import replace
from textwrap import dedent

import pytest

from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.inputs import RowsReachModel
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import CollatorSeen, Crash, Frame, Process, Script, Value
from surefit.doctor.recording import Recording
from surefit.rules.data.text_column_in_batch import RULE
from surefit.source.edits import patched

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


def found(
    text: str, collator: CollatorSeen | None = COLLATOR, frame: Frame | None = None
) -> list[Finding]:
    own = frame or Frame(Place("train.py", 4), "<module>", own=True, line="trainer.train()")
    said = "ValueError: too many dimensions 'str'"
    crash = Crash("1-1", 1.0, Process(1), "ValueError", said, (own,), collator=collator)
    return list(RULE.look(Recording([Script("train.py", text), crash])))


def mended(text: str, finding: Finding) -> str:
    (fix,) = finding.fixes
    assert fix.edit is not None
    return patched(fix.edit, text)


def test_the_map_that_left_it_is_named() -> None:
    (finding,) = found(MAPPED)
    assert finding.place == Place("train.py", 1, 1)
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
    (fix,) = finding.fixes
    assert fix.must == All((RowsReachModel((2, None), 99, 12, "input_ids"),))


def test_text_that_is_read_later_is_left_out_where_rows_are_handed_over() -> None:
    text = MAPPED + 'print(rows["text"][0])\n'
    (finding,) = found(text)
    assert 'train_dataset=rows.remove_columns(["text"]),' in mended(text, finding)


@pytest.mark.parametrize(
    ("row", "new"),
    [
        ('return {"text": text, "input_ids": ids}', 'return {"input_ids": ids}'),
        ('item = {"input_ids": ids}\n        item["text"] = text\n        return item', "ids}\n"),
    ],
)
def test_a_dataset_of_the_users_own_gives_it_back_no_more(row: str, new: str) -> None:
    text = f"class Rows(Dataset):\n    def __getitem__(self, index):\n        {row}\n"
    (finding,) = found(text)
    assert "`Rows.__getitem__`" in finding.fixes[0].text
    assert new in mended(text, finding)
    assert "text" not in mended(text, finding)


def test_a_list_of_strings_has_no_device() -> None:
    text = 'class Rows(Dataset):\n    def __getitem__(self, index):\n        return {"title": t}\n'
    titles = Value("v", "list", 7, length=1, members={"0": Value("0", "str", scalar="a")})
    batch = Value("batch", "dict", members={"title": replace(titles, text="title")})
    frame = Frame(Place("train.py", 9), "<module>", True, expression="v.to", values=(titles, batch))
    (finding,) = found(text, None, frame)
    assert finding.headline == (
        "The text column `title` is still in every row, and `v.to` is for tensors."
    )
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
    crash = Crash(
        "1-1",
        1.0,
        Process(1),
        "ValueError",
        "ValueError: no padding token",
        (collates, tokenizes),
        collator=replace(COLLATOR, own=True),
    )
    assert list(RULE.look(Recording([Script("train.py", MAPPED), crash]))) == []
    stacks = replace(tokenizes, line="return torch.tensor(value)")
    crash = replace(crash, frames=(collates, stacks))
    assert len(list(RULE.look(Recording([Script("train.py", MAPPED), crash])))) == 1
