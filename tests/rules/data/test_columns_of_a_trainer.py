"""Columns that a Trainer drops or never had, on hand-made recordings."""

from textwrap import dedent
from typing import Any

import pytest

from recorded_crashes import look as look_at
from surefit.doctor.conditions.inputs import ColumnReachesModel
from surefit.doctor.conditions.keys import KeyIsThere
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    Answer,
    Crash,
    Frame,
    InputsSeen,
    Process,
    Question,
    RootSeen,
    Steps,
    Value,
)
from surefit.doctor.rule import Rule
from surefit.rules.data.column_dropped_before_the_loss import RULE as DROPPED
from surefit.rules.data.no_labels_for_the_loss import RULE as NO_LABELS
from surefit.source.edits import patched
from surefit.source.spans import Span

TEXT = dedent(
    """\
    from transformers import Trainer, TrainingArguments
    class Weighted(Trainer):
        def compute_loss(self, model, inputs):
            weight = inputs.pop("weight")
    tokenizer = load()
    args = TrainingArguments("out")
    trainer = Weighted(model, args, train_dataset=rows, processing_class=tokenizer)
    trainer.train()
    """
)
FORWARD = ["input_ids", "attention_mask", "labels"]
TRAINER = {
    "kind": "Weighted",
    "removes": True,
    "accepts": [*FORWARD, "label", "label_ids"],
    "model": "GPT2LMHeadModel",
    "forward": FORWARD,
    "collator": "DataCollatorWithPadding",
    "dataset": "Dataset",
    "columns": {"text": "string", "input_ids": "list<item: int64>", "weight": "double"},
}
IN_TRAINER = Frame(Place("transformers/trainer.py", 2062), "Trainer.training_step", own=False)
TRAINS = Frame(Place("train.py", 8), "<module>", own=True, line="trainer.train()")
INPUTS = Value("inputs", "dict", members={"input_ids": Value("input_ids", "Tensor", shape=(4, 9))})
ASKS = Frame(
    Place("train.py", 4),
    "Weighted.compute_loss",
    own=True,
    line='weight = inputs.pop("weight")',
    expression='inputs.pop("weight")',
    span=Span(4, 17, 4, 37),
    values=(INPUTS,),
)
NO_LOSS = Frame(Place("transformers/trainer.py", 2172), "Trainer.compute_loss", own=False)


def look(
    rule: Rule,
    *frames: Frame,
    trainer: dict[str, Any] = TRAINER,
    given: tuple[str, ...] = ("input_ids",),
) -> list[Finding]:
    crash = Crash("1-1", 1.0, Process(1), "KeyError", "KeyError: 'weight'", frames)
    call = InputsSeen(0, True, dict.fromkeys(given, (4, 9)))
    roots = (RootSeen("GPT2LMHeadModel", None, 1, 10, 1),)
    steps = Steps(Process(1), 0, 0.0, 0, {}, (), roots=roots, inputs=(call,))
    answer = Answer(Question("trainer", "1-1"), trainer)
    signature = {"kind": "GPT2LMHeadModel", "takes": FORWARD, "needs": [], "open": True}
    forward = Answer(Question("forward", "1-1"), signature)
    return look_at(rule, TEXT, crash, steps, answer, forward)


def mended(finding: Finding) -> str:
    (fix,) = finding.fixes
    assert fix.edit is not None
    return patched(fix.edit, TEXT)


def test_what_the_loss_wants_is_kept_and_the_rest_is_not() -> None:
    (finding,) = look(DROPPED, TRAINS, IN_TRAINER, ASKS)
    assert finding.place == Place("train.py", 6, 6)
    assert finding.headline == (
        "`weight` is no argument of `GPT2LMHeadModel.forward`, so the Trainer drops the column, and"
        " `Weighted.compute_loss` asks for it."
    )
    new = mended(finding)
    assert 'TrainingArguments("out", remove_unused_columns=False)' in new
    assert 'train_dataset=rows.remove_columns(["text"])' in new
    assert finding.fixes[0].must == KeyIsThere(Place("train.py", 4), "inputs['weight']")


@pytest.mark.parametrize(
    "trainer",
    [
        {**TRAINER, "removes": False},
        {**TRAINER, "columns": {"input_ids": "list<item: int64>"}},
        {**TRAINER, "accepts": [*FORWARD, "weight"]},
    ],
    ids=["nothing is dropped", "there is no such column", "forward takes it"],
)
def test_a_key_that_no_trainer_dropped_is_passed_over(trainer: dict[str, Any]) -> None:
    assert look(DROPPED, TRAINS, IN_TRAINER, ASKS, trainer=trainer) == []


def test_a_language_model_is_given_a_collator_that_makes_labels() -> None:
    (finding,) = look(NO_LABELS, TRAINS, IN_TRAINER, NO_LOSS)
    assert finding.place == Place("train.py", 7, 7)
    assert "data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False)" in mended(finding)
    assert finding.fixes[0].must == ColumnReachesModel("labels")


@pytest.mark.parametrize(
    "trainer",
    [
        {**TRAINER, "model": "BertForSequenceClassification"},
        {**TRAINER, "columns": {"input_ids": "list<item: int64>", "target": "int64"}},
    ],
    ids=["a classifier", "labels under another name"],
)
def test_other_models_without_a_loss_are_passed_over(trainer: dict[str, Any]) -> None:
    assert look(NO_LABELS, TRAINS, IN_TRAINER, NO_LOSS, trainer=trainer) == []


def test_a_model_that_was_given_labels_has_lost_its_loss_elsewhere() -> None:
    assert look(NO_LABELS, TRAINS, IN_TRAINER, NO_LOSS, given=("input_ids", "labels")) == []
