"""The labels of the rows are names of classes, and a tensor holds numbers.

## What happens
A table says `spam` and `ham`, `cat` and `dog`, and the column goes to the collator as it is. No
tensor can be made of strings: Python says `too many dimensions 'str'`, and transformers advises
padding and truncation, which were not it.

## Why it matters
`label2id` in the settings of a model changes nothing: it names what the model predicts, and
converts no label.

## What to do
Give each name a number, the same one in training and evaluation: `class_encode_column("label")` of
a `Dataset`, or a dictionary made once of the sorted names.

## How it is recognised
The rows that the failing collator was given have text as labels; it is a collator of a library
that makes a tensor of every column, or a line of yours that makes one of this column.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import CollatorSeen, Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import counted
from surefit.evidence.row_makers import columns_of, row_makers
from surefit.source.edits import appended
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

RULE = Rule(
    "SF249",
    "labels-are-text",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"too many dimensions 'str'|excessive nesting",
            "whether the labels of the rows are strings, and which numbers they stand for",
        ),
    ),
)

LABELS = ("label", "labels", "label_ids", "target", "targets")
NO_TENSOR_OF_TEXT = ("default_collate", "default_data_collator", "DefaultDataCollator")
"""Leave strings as they are, or out."""
ORDER = "in which order the classes are counted only you can choose"


@RULE.on(Crash)
def names_of_classes_became_no_tensor(crash: Crash, seen: Recording) -> Iterator[Finding]:
    collator = crash.collator
    if collator is None or crash.own_frame is None or not is_cause(crash, seen):
        return
    texts = [column for column in collator.texts if collator.kinds[column] == ("str",)]
    if len(texts) != 1 or texts[0] not in LABELS or not is_about(crash, collator, texts[0]):
        return
    column = texts[0]
    made = made_at(seen, column)
    source, node = made or (None, None)
    place = Place(source.file, node.lineno) if source and node else crash.own_frame.place
    yield RULE.finding(
        place,
        f"`{column}` holds names of classes, not numbers: the"
        f" {counted(collator.rows, 'row')} of this batch have text there, and no tensor can be made"
        " of it.",
        facts=(
            Fact(f"`{column}`", f"str in each of {counted(collator.rows, 'row')}"),
            Fact("the other columns", ", ".join(one for one in collator.kinds if one != column)),
        ),
        why="A loss compares predictions with the number of a class; nothing turns names into"
        " numbers on the way.",
        fixes=(fix_of(source, node, column),),
        python_said=crash.chain[0].said if crash.chain else crash.said,
        about=crash.id,
    )


def is_about(crash: Crash, collator: CollatorSeen, column: str) -> bool:
    """A library's collator makes tensors of all columns; in one of the user's, the failing line
    itself has the column in hand."""
    if not collator.own:
        return collator.kind not in NO_TENSOR_OF_TEXT
    frame = crash.frames[-1]
    said = (frame.expression or frame.line).replace('"', "'")
    in_hand = any(value.scalar == column for value in frame.values)
    return frame.own and "tensor" in said.lower() and (in_hand or repr(column) in said)


def made_at(seen: Recording, column: str) -> tuple[Source, ast.expr] | None:
    """What makes the column: a function that makes rows, or the dictionary of a dataset."""
    for script in seen.all(Script):
        source = seen.source(script.file)
        for maker in row_makers(source) if source else ():
            value = columns_of(source, maker.function).get(column) if source else None
            if source is not None and value is not None:
                return source, value
        for call in from_dictionaries(source) if source else ():
            value = entry(call.args[0], column)
            if source is not None and value is not None:
                return source, value
    return None


def entry(node: ast.expr, column: str) -> ast.expr | None:
    """The value of a key in a dictionary."""
    if not isinstance(node, ast.Dict):
        return None
    pairs = zip(node.keys, node.values, strict=True)
    return next((one for key, one in pairs if name_of(key) == column), None)


def from_dictionaries(source: Source) -> Iterator[ast.Call]:
    for call in source.every(ast.Call):
        if called(call) == "from_dict" and call.args and isinstance(call.args[0], ast.Dict):
            yield call


def name_of(key: ast.expr | None) -> object:
    return key.value if isinstance(key, ast.Constant) else None


def fix_of(source: Source | None, node: ast.expr | None, column: str) -> Fix:
    edit = encoded(source, node, column) if source and node else None
    if edit is not None:
        text = f'Number the names where the rows are made: `class_encode_column("{column}")`'
        return Fix(f"{text}, in the order of the alphabet.", edit, why_not_tried=ORDER)
    return Fix(
        "Make a dictionary of the names once (`{name: number for number, name in"
        " enumerate(sorted(names))}`), and give each row the number.",
        why_not_tried=ORDER,
    )


def encoded(source: Source, node: ast.expr, column: str) -> Edit | None:
    for call in from_dictionaries(source):
        if node in ast.walk(call):
            return appended(source, call, f'.class_encode_column("{column}")')
    return None
