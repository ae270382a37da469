"""Keys that are not there, on hand-made recordings."""

from lineages import Step
from recorded_crashes import look, mended
from surefit.doctor.conditions.keys import KeyIsThere
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Crash, Frame, Passed, Process, Question, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.rules.data.column_dropped_before_the_loss import RULE as DROPPED
from surefit.rules.data.key_not_there import RULE
from surefit.source.spans import Span

LABELS = Value("labels", "Tensor", 2, shape=(4,))
BATCH = Value("batch", "dict", 1, length=2, members={"x": Value("x", "Tensor"), "labels": LABELS})


def found(
    text: str,
    part: str,
    *values: Value,
    datasets: int = 0,
    trainer: bool = False,
    rule: Rule = RULE,
    more: tuple[Answer, ...] = (),
    created: dict[str, tuple[Step, ...]] | None = None,
) -> list[Finding]:
    """The part of the last line failed."""
    line = len(text.splitlines())
    at = text.splitlines()[-1].index(part)
    span = Span(line, at, line, at + len(part))
    own = Frame(Place("train.py", line), "<module>", own=True, span=span, values=values)
    above = Frame(Place("transformers/trainer.py", 3), "train", own=False)
    frames = (above, own) if trainer else (own,)
    crash = Crash("1-1", 1.0, Process(1), "KeyError", "KeyError: 'no'", frames)
    said = {"datasets": [{"rows": 8, "hidden": False}] * datasets}
    asked = [Question("columns", "1-1", {"column": name}) for name in ("weight", "labels", "label")]
    answers = [Answer(question, said) for question in asked]
    number = len(frames) - 1
    chains = {(number, text): steps for text, steps in (created or {}).items()}
    return look(rule, text, crash, *answers, *more, chains=chains)


after = mended


def test_a_key_of_almost_the_same_name_is_asked_for_everywhere() -> None:
    text = (
        'for batch in test:\n    y = batch["label"]\nfor batch in train:\n    x = batch["label"]\n'
    )
    (finding,) = found(text, 'batch["label"]', BATCH)
    assert finding.headline == "`batch` has no `label`: it is called `labels` there."
    assert after(finding, text).count('batch["labels"]') == 2
    must = KeyIsThere(Place("train.py", 4), "batch['labels']", LABELS)
    assert finding.fixes[0].must == must
    came = Passed(Process(1), must.watchpoint, 0, (LABELS,))
    assert must.judge(Recording([]), Recording([came])).held
    other = Passed(Process(1), must.watchpoint, 0, (Value("labels", "Tensor", shape=(9, 9)),))
    assert not must.judge(Recording([]), Recording([other])).held


def test_a_column_that_a_format_leaves_out_is_named_there() -> None:
    text = 'rows.set_format("torch", columns=["x"])\nw = batch["weight"]\n'
    (finding,) = found(text, 'batch["weight"]', BATCH, datasets=1)
    assert finding.place == Place("train.py", 1)
    assert 'columns=["x", "weight"]' in after(finding, text)
    assert found(text, 'batch["weight"]', BATCH) == []


def test_a_column_that_is_removed_stays() -> None:
    text = 'rows = rows.map(f, remove_columns=["text", "weight"])\nw = batch.pop("weight")\n'
    (finding,) = found(text, 'batch.pop("weight")', BATCH, datasets=1)
    assert 'remove_columns=["text"]' in after(finding, text)


def test_the_trainer_keeps_a_column() -> None:
    text = 'args = TrainingArguments("out")\nw = [row["weight"] for row in rows]\n'
    row = Value("row", "dict", 1, length=1, members={"input_ids": Value("input_ids", "list")})
    said = {"model": "Net", "removes": True, "accepts": ["input_ids"], "columns": {"weight": "int"}}
    answer = Answer(Question("trainer", "1-1"), said)
    (finding,) = found(text, 'row["weight"]', row, trainer=True, rule=DROPPED, more=(answer,))
    assert finding.place == Place("train.py", 1, 1)
    assert found(text, 'row["weight"]', row, trainer=True, more=(answer,)) == []
    assert 'TrainingArguments("out", remove_unused_columns=False)' in after(finding, text)
    must = finding.fixes[0].must
    assert isinstance(must, KeyIsThere)
    assert must.text == "rows[0]['weight']"
    assert found(text, 'row["weight"]', row, rule=DROPPED) == []


def test_keys_that_are_computed_or_like_no_other_are_passed_over() -> None:
    assert found("y = batch[name]\n", "batch[name]", BATCH, Value("name", "str", scalar="z")) == []
    assert found('y = batch["mask"]\n', 'batch["mask"]', BATCH) == []
    assert found('y = batch["x"]\n', 'batch["x"]', BATCH) == []


ROWS = """\
class Clips(Dataset):
    def __getitem__(self, at):
        return {"sound": self.sounds[at], "words": self.words[at]}
def collate(rows):
    return [row["labels"] for row in rows]
"""
ROW = Value("row", "dict", 1, members={"sound": Value("sound", "Tensor"), "words": LABELS})


def test_rows_that_a_dataset_makes_without_the_key() -> None:
    display = '{"sound": self.sounds[at], "words": self.words[at]}'
    (finding,) = found(ROWS, 'row["labels"]', ROW, created={"row": ((display, ROW),)})
    assert finding.place == Place("train.py", 5)
    assert finding.headline == "`row` has no `labels`: it is created with `sound` and `words`."
    assert ("created at", f"train.py:3  {display}") in [(f.name, f.value) for f in finding.facts]
    assert all(fix.edit is None and fix.choice for fix in finding.fixes)
    assert found(ROWS, 'row["labels"]', ROW) == []


def test_a_misspelled_key_is_mended_in_the_row_that_has_it() -> None:
    """Others have the key that is asked for: asking for the misspelled one would fail for them."""
    text = """\
rows = [{"label": 1, "x": 2}, {"lable": 3, "x": 4}]
y = [row["label"] for row in rows]
"""
    row = Value("row", "dict", 1, members={"lable": Value("lable", "int"), "x": Value("x", "int")})
    chain = (('{"lable": 3, "x": 4}', row),)
    (finding,) = found(text, 'row["label"]', row, created={"row": chain})
    assert finding.place == Place("train.py", 1, 1)
    assert '{"label": 3, "x": 4}' in after(finding, text)
    assert 'row["lable"] for row in rows' in after(finding, text, 1)


def test_a_usual_name_for_the_same_is_asked_for() -> None:
    target = Value("target", "Tensor", 2, shape=(4,))
    row = Value("row", "dict", 1, members={"sound": Value("sound", "Tensor"), "target": target})
    (finding,) = found(ROWS, 'row["labels"]', row)
    assert 'row["target"] for row in rows' in after(finding, ROWS)
    text = Value("row", "dict", 1, members={"target": Value("target", "str", scalar="a word")})
    assert found(ROWS, 'row["labels"]', text) == []
