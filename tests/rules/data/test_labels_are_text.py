"""Names of classes in place of numbers, on hand-made recordings."""

from dataclasses import replace

import pytest

from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import CollatorSeen, Crash, Frame, Process, Script
from surefit.doctor.recording import Recording
from surefit.rules.data.labels_are_text import RULE
from surefit.source.edits import patched

TEXT = """\
rows = Dataset.from_dict({"text": texts, "label": kinds})
rows = rows.map(lambda row: tokenizer(row["text"]), remove_columns=["text"])
Trainer(model, args, train_dataset=rows).train()
"""
COLLATOR = CollatorSeen(
    "DataCollatorWithPadding",
    None,
    own=False,
    rows=2,
    kinds={"label": ("str",), "input_ids": ("list",)},
    lengths={"label": (4, 3), "input_ids": (7, 5)},
    shared=0,
    texts=("label",),
)
OWN = Frame(Place("train.py", 3), "<module>", own=True, line="Trainer(...).train()")


def found(collator: CollatorSeen, *frames: Frame) -> list[Finding]:
    said = "ValueError: too many dimensions 'str'"
    crash = Crash("1-1", 1.0, Process(1), "ValueError", said, frames or (OWN,), collator=collator)
    return list(RULE.look(Recording([Script("train.py", TEXT), crash])))


def test_the_column_of_names_is_numbered() -> None:
    (finding,) = found(COLLATOR)
    assert finding.place == Place("train.py", 1)
    assert finding.headline.startswith("`label` holds names of classes, not numbers")
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert '"label": kinds}).class_encode_column("label")\n' in patched(fix.edit, TEXT)
    assert fix.why_not_tried


def test_a_line_of_the_users_own_makes_the_tensor() -> None:
    line = 'labels = torch.tensor([row["label"] for row in rows])'
    own = replace(COLLATOR, own=True)
    assert len(found(own, replace(OWN, line=line))) == 1
    assert found(own, replace(OWN, line="torch.stack(pictures)")) == []


@pytest.mark.parametrize(
    "collator",
    [
        replace(COLLATOR, texts=()),
        replace(COLLATOR, texts=("title",), kinds={"title": ("str",)}),
        replace(COLLATOR, texts=("label", "title"), kinds={"label": ("str",), "title": ("str",)}),
        replace(COLLATOR, kind="default_collate"),
    ],
    ids=["numbers", "another text", "more text", "strings stay strings"],
)
def test_look_alikes_are_passed_over(collator: CollatorSeen) -> None:
    assert found(collator) == []
