"""Rows that are batches of one, on hand-made recordings: where, how mended, what is passed over."""

from textwrap import dedent

import pytest

from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.inputs import RowsReachModel
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    CollatorSeen,
    Crash,
    Frame,
    InputsSeen,
    Process,
    RootSeen,
    Script,
    Steps,
)
from surefit.doctor.recording import Recording
from surefit.rules.data.extra_axis_in_rows import RULE
from surefit.source.edits import patched

ROWS = """\
class Rows(Dataset):
    def __getitem__(self, index):
        encoded = self.tokenizer(self.texts[index], return_tensors="pt")
        return {returned}

for batch in DataLoader(Rows(), batch_size=4):
    model(**batch)
"""
CALLED = Frame(Place("torch/nn/modules/module.py", 1789), "Module._call_impl", own=False)
SQUEEZED = "{name: one.squeeze(0) for name, one in "
SHAPES = {"input_ids": (4, 1, 40), "attention_mask": (4, 1, 40), "labels": (4,)}
TOTALS = {"input_ids": 900, "attention_mask": 120, "labels": 2}


def crash(collator: CollatorSeen | None = None, *below: Frame) -> Crash:
    own = Frame(Place("train.py", 7), "<module>", own=True, line="model(**batch)")
    said = "ValueError: too many values to unpack (expected 2)"
    return Crash("1-1", 1.0, Process(1), "ValueError", said, (own, *below), collator=collator)


def found(
    text: str,
    shapes: dict[str, tuple[int, ...]] = SHAPES,
    totals: dict[str, int] = TOTALS,
    at: Crash | None = None,
) -> list[Finding]:
    call = InputsSeen(0, True, shapes, totals)
    roots = (RootSeen("Bert", None, 1, 10, 1),)
    steps = Steps(Process(1), 0, 0.0, 0, {}, (), roots=roots, inputs=(call,))
    failed = at or crash(None, CALLED)
    return list(RULE.look(Recording([Script("train.py", text), steps, failed])))


def mended(text: str, finding: Finding) -> str:
    (fix,) = finding.fixes
    assert fix.edit is not None
    return patched(fix.edit, text)


def test_columns_of_a_dictionary_are_squeezed_one_by_one() -> None:
    returned = '{"input_ids": encoded["input_ids"], "attention_mask": encoded.attention_mask}'
    text = ROWS.replace("{returned}", returned)
    (finding,) = found(text)
    assert finding.place == Place("train.py", 3, 3)
    assert finding.headline == (
        "`Rows.__getitem__` gives every row an extra axis: `input_ids` comes to (4, 1, 40), not to"
        " (4, 40)."
    )
    new = mended(text, finding)
    assert 'encoded["input_ids"].squeeze(0), ' in new
    assert "encoded.attention_mask.squeeze(0)}" in new
    (fix,) = finding.fixes
    assert fix.must == All(
        (
            RowsReachModel((4, 40), 900, None, "input_ids"),
            RowsReachModel((4, 40), 120, None, "attention_mask"),
        )
    )


@pytest.mark.parametrize(
    ("returned", "new"),
    [
        ("encoded", SQUEEZED + 'self.tokenizer(self.texts[index], return_tensors="pt").items()}'),
        ("{key: encoded[key] for key in KEYS}", "{key: encoded[key].squeeze(0) for key in KEYS}"),
        ("{key: value for key, value in encoded.items()}", "{key: value.squeeze(0) for key"),
    ],
)
def test_a_whole_row_is_squeezed(returned: str, new: str) -> None:
    text = ROWS.replace("{returned}", returned)
    (finding,) = found(text)
    assert new in mended(text, finding)


def test_of_rows_without_names_the_column_that_keeps_its_axis_is_meant() -> None:
    returned = 'encoded["input_ids"].squeeze(0), encoded["attention_mask"], 1'
    text = ROWS.replace("{returned}", returned)
    (finding,) = found(text, {"input_ids": (4, 40), "attention_mask": (4, 1, 40)})
    assert finding.place == Place("train.py", 4, 4)
    assert 'encoded["attention_mask"].squeeze(0), 1' in mended(text, finding)


def test_what_is_mapped_row_by_row_needs_no_tensors() -> None:
    text = dedent(
        """\
        def encode(row):
            return tokenizer(row["text"], return_tensors="pt")
        rows = rows.map(encode)
        """
    )
    (finding,) = found(text)
    assert 'return tokenizer(row["text"])' in mended(text, finding)


def test_a_list_of_one_text_is_taken_away() -> None:
    text = 'rows = rows.map(lambda row: tokenizer([row["text"]], truncation=True))\n'
    (finding,) = found(text)
    assert 'tokenizer(row["text"], truncation=True)' in mended(text, finding)


def test_rows_at_a_collator_show_it_too() -> None:
    text = ROWS.replace("{returned}", '{"input_ids": encoded["input_ids"]}')
    shapes = ((1, 9), (1, 17))
    collator = CollatorSeen(
        "DataCollatorWithPadding",
        None,
        own=False,
        rows=2,
        kinds={"input_ids": ("Tensor",)},
        lengths={"input_ids": (1, 1)},
        shared=0,
        pads=("input_ids",),
        shapes={"input_ids": shapes},
        totals={"input_ids": 77},
    )
    (finding,) = found(text, at=crash(collator))
    (fix,) = finding.fixes
    assert fix.must == All((RowsReachModel((2, 17), 77, 26, "input_ids"),))


SILENT = {
    "a mapped batch": 'rows.map(lambda b: tokenizer(b, return_tensors="pt"), batched=True)',
    "a channel axis": ROWS.replace("{returned}", "picture.unsqueeze(0)"),
    "no axis is made": ROWS.replace(', return_tensors="pt"', "").replace("{returned}", "encoded"),
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_look_alikes_are_passed_over(text: str) -> None:
    picture: dict[str, tuple[int, ...]] = {"0": (4, 1, 28, 28)}
    assert (
        found(text, picture if "picture" in text else SHAPES, {} if "picture" in text else TOTALS)
        == []
    )


def test_a_model_that_got_what_it_takes_failed_for_another_reason() -> None:
    text = ROWS.replace("{returned}", "encoded")
    assert found(text, {"input_ids": (4, 40)}) == []
    assert found(text, at=crash()) == []  # outside of any model


APPENDED = dedent(
    """\
    def encode(row):
        outer = []
        inner = [tags[one] for one in row["tags"]]
        outer.append(inner)
        return {"labels": outer}

    rows = rows.map(encode)
    """
)


def test_a_list_that_is_given_one_list_is_an_axis() -> None:
    shapes: dict[str, tuple[int, ...]] = {"labels": (4, 1, 40)}
    (finding,) = found(APPENDED, shapes)
    assert finding.place == Place("train.py", 5, 5)
    assert 'return {"labels": inner}' in mended(APPENDED, finding)
    looped = APPENDED.replace(
        "    outer.append(inner)", "    for one in row:\n        outer.append(inner)"
    )
    assert found(looped, shapes) == []
    twice = APPENDED.replace("    return", "    outer.append(inner)\n    return")
    assert found(twice, shapes) == []
