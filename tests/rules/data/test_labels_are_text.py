"""Names of classes in place of numbers, on hand-made recordings."""

from dataclasses import replace
from typing import Any

import pytest

import recorded_rows
from recorded_rows import mended
from surefit.doctor.conditions.labels import LabelsAreNumbered
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, CollatorSeen, Frame, Question, Value
from surefit.lineage.producers import DATASET, ROWS
from surefit.rules.data.labels_are_text import RULE

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


MAKES = 'Dataset.from_dict({"text": texts, "label": kinds})'
TABLE = Value("rows", "Dataset", 4, length=9, members={"label": Value("label", "Column")})


def names(number: str = "", listing: str = "") -> Answer:
    said: dict[str, Any] = {"batch": ["spam", "ham"], "names": ["ham", "spam"], "complete": True}
    said |= {"numbers": {"ham": 0, "spam": 1}, "number": number, "listing": listing}
    return Answer(Question("class-names", "1-1", {"column": "label"}), said)


def found(
    collator: CollatorSeen,
    *frames: Frame,
    text: str = TEXT,
    answer: Answer | None = None,
    chains: recorded_rows.Chains | None = None,
) -> list[Finding]:
    more = (answer or names(),)
    return recorded_rows.found(RULE, text, collator, *(frames or (OWN,)), chains=chains, more=more)


def test_the_names_are_numbered_where_the_dataset_is_created() -> None:
    chains: recorded_rows.Chains = {(DATASET, ""): [(MAKES, TABLE)]}
    (finding,) = found(COLLATOR, chains=chains)
    assert finding.place.line == 1
    assert finding.headline.startswith("`label` holds names of classes, not numbers")
    (fix,) = finding.fixes
    assert '"label": kinds}).class_encode_column("label")\n' in mended(TEXT, finding)
    assert fix.choice
    assert fix.must == LabelsAreNumbered(2, 1, 2)
    (finding,) = found(COLLATOR, chains=chains, answer=names("KINDS.index({})", "KINDS"))
    assert '.cast_column("label", ClassLabel(names=KINDS))' in mended(TEXT, finding)
    assert [fix.choice for fix in finding.fixes] == [False, True]


def test_a_row_is_given_the_number_of_its_name() -> None:
    text = "def __getitem__(self, at):\n    return {'x': x, 'label': kind}\n"
    chains: recorded_rows.Chains = {
        (ROWS, "label"): [("kind", Value("kind", "str", 3, scalar="ham"))]
    }
    (finding,) = found(COLLATOR, text=text, chains=chains)
    assert '{"ham": 0, "spam": 1}[kind]' in mended(text, finding)
    (finding,) = found(COLLATOR, text=text, chains=chains, answer=names("label2id[{}]"))
    assert "label2id[kind]}" in mended(text, finding)
    assert not finding.fixes[0].choice


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
