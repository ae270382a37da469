"""Where labels of a dataset are made, and how each becomes another, on hand-made recordings."""

from textwrap import dedent

import pytest

from surefit.doctor.observations import Crash, InputsSeen, Process, RootSeen, Script, Steps
from surefit.doctor.recording import Recording
from surefit.evidence.dataset_labels import DatasetLabels, dataset_labels
from surefit.source.edits import patched

MAPPED = """\
    def encoder(tokenizer):
        def encode(row):
            enc = tokenizer(row["text"])
            enc["labels"] = [1 if tag in row["tags"] else 0 for tag in TAGS]
            return enc
        return encode
    rows = Dataset.from_dict({"text": texts, "label": names}).map(encoder(tokenizer))
    """
COLUMN = """\
    rows = Dataset.from_dict({"text": texts, "label": stars * 3})
    rows = rows.map(lambda row: tokenizer(row["text"]))
    """


def found(text: str, shape: tuple[int, ...]) -> DatasetLabels | None:
    crash = Crash("1-1", 1.0, Process(1), "ValueError", "ValueError: it", ())
    call = InputsSeen(0, True, {"input_ids": (4, 9), "labels": shape})
    roots = (RootSeen("Bert", None, 1, 10, 1),)
    steps = Steps(Process(1), 0, 0.0, 0, {}, (), roots=roots, inputs=(call,))
    return dataset_labels(crash, Recording([Script("train.py", dedent(text)), steps, crash]))


@pytest.mark.parametrize(
    ("text", "shape", "change", "new"),
    [
        (MAPPED, (4, 3), "float({})", '= [float(one) for one in [1 if tag in row["tags"] else'),
        (COLUMN, (4,), "{} - 1", '"label": [one - 1 for one in stars * 3]}'),
        (COLUMN, (4, 3), "float({})", "[[float(one) for one in row] for row in stars * 3]"),
        (MAPPED.replace("[1 if tag", "(1 if tag").replace("for tag in TAGS]", ")"), (4,))
        + ("{} - 1", " else 0) - 1"),
    ],
    ids=["rows of lists", "a column", "a column of lists", "a number in each row"],
)
def test_each_label_becomes_another(
    text: str, shape: tuple[int, ...], change: str, new: str
) -> None:
    labels = found(text, shape)
    assert labels is not None
    assert new in patched(labels.each(change), dedent(text))


def test_two_columns_of_labels_are_not_told_apart() -> None:
    assert found(COLUMN + COLUMN.replace("rows", "held_out"), (4,)) is None


def test_a_model_without_labels_has_none() -> None:
    assert found(COLUMN, ()) is None
