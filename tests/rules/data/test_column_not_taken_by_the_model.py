"""Columns with a name that `forward` does not take, on hand-made recordings."""

from textwrap import dedent
from typing import Any

import pytest

from recorded_crashes import look
from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.inputs import ColumnReachesModel
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
from surefit.rules.data.column_not_taken_by_the_model import RULE
from surefit.source.edits import patched

MAPPED = dedent(
    """\
    def encode(row):
        return {"input_ids": ids(row["text"]), "target_ids": ids(row["answer"])}
    rows = rows.map(encode)
    trainer = Trainer(model, args, train_dataset=rows)
    trainer.train()
    """
)
TAKES = ["input_ids", "attention_mask", "inputs_embeds", "labels"]
FORWARD = {"kind": "T5", "own": False, "takes": TAKES, "needs": [], "open": True}
TRAINER = {
    "kind": "Trainer",
    "removes": True,
    "accepts": [*TAKES, "label", "label_ids"],
    "model": "T5",
    "forward": TAKES,
    "dataset": "Dataset",
    "columns": {"input_ids": "list<item: int64>", "target_ids": "list<item: int64>"},
}
OWN = Frame(Place("train.py", 5), "<module>", own=True, line="trainer.train()")
IN_TRAINER = Frame(Place("transformers/trainer.py", 2144), "Trainer.train", own=False)
NO_LOSS = Frame(Place("transformers/trainer.py", 2172), "Trainer.compute_loss", own=False)
DECODER = Frame(
    Place("transformers/modeling_t5.py", 675),
    "T5Stack.forward",
    own=False,
    values=(Value("input_ids", "NoneType"), Value("inputs_embeds", "NoneType")),
)
GIVEN: dict[str, tuple[int, ...]] = {"input_ids": (4, 9)}


def found(
    text: str,
    *frames: Frame,
    given: dict[str, tuple[int, ...]] = GIVEN,
    forward: dict[str, Any] = FORWARD,
    trainer: dict[str, Any] | None = TRAINER,
) -> list[Finding]:
    crash = Crash("1-1", 1.0, Process(1), "ValueError", "ValueError: no labels", frames)
    roots = (RootSeen("T5", None, 1, 10, 1),)
    calls = (InputsSeen(0, True, given),) if given else ()
    steps = Steps(Process(1), 0, 0.0, 0, {}, (), roots=roots, inputs=calls)
    answers = [
        Answer(Question("forward", "1-1"), forward),
        Answer(Question("trainer", "1-1"), trainer),
    ]
    return look(RULE, text, crash, steps, *answers)


@pytest.mark.parametrize("last", [DECODER, NO_LOSS], ids=["inside the model", "no loss"])
def test_what_a_trainer_drops_gets_the_name_that_forward_has(last: Frame) -> None:
    (finding,) = found(MAPPED, OWN, IN_TRAINER, last)
    assert finding.place == Place("train.py", 2)
    assert finding.headline == (
        "The column `target_ids` is no argument of `T5.forward`, so the Trainer drops it and the"
        " model gets no `labels`."
    )
    fix = finding.fixes[0]
    assert fix.edit is not None
    assert '"labels": ids(row["answer"])' in patched(fix.edit, MAPPED)
    assert fix.must == All((ColumnReachesModel("labels"),))


def test_a_column_that_is_read_elsewhere_is_renamed_for_the_trainer() -> None:
    text = MAPPED + 'print(rows["target_ids"])\n'
    (fix,) = found(text, OWN, IN_TRAINER, NO_LOSS)[0].fixes
    assert fix.edit is not None
    new = 'train_dataset=rows.rename_columns({"target_ids": "labels"})'
    assert new in patched(fix.edit, text)


def test_a_call_that_cannot_be_made_names_the_nearest_argument() -> None:
    text = 'batch = {"features": x, "labels": y}\nnet(**batch)\n'
    own = Frame(Place("train.py", 2), "<module>", own=True, line="net(**batch)")
    called = Frame(
        Place("torch/nn/modules/module.py", 1789),
        "Module._call_impl",
        own=False,
        line="return forward_call(*args, **kwargs)",
    )
    net = {"kind": "Net", "own": True, "takes": ["features", "target"], "open": False}
    net["needs"] = net["takes"]
    given: dict[str, tuple[int, ...]] = {"features": (4, 6), "labels": (4,)}
    (finding,) = found(text, own, called, given=given, forward=net, trainer=None)
    assert finding.place == Place("train.py", 1)
    assert finding.headline.endswith("so the call fails; what it takes is `target`.")


CALLED = Frame(
    Place("torch/nn/modules/module.py", 1789),
    "Module._call_impl",
    own=False,
    line="return forward_call(*args, **kwargs)",
)


@pytest.mark.parametrize(
    ("needs", "meant"),
    [
        (["user_idx", "item_idx"], ["user_idx", "item_idx", "labels"]),
        (["user_idx", "item_idx", "weight"], ["user_idx", "item_idx"]),  # two are left over
    ],
)
def test_names_with_the_same_words_belong_together_and_the_last_two_that_are_left(
    needs: list[str], meant: list[str]
) -> None:
    text = 'batch = {"user": u, "item": i, "clicked": c}\nnet(**batch)\n'
    own = Frame(Place("train.py", 2), "<module>", own=True, line="net(**batch)")
    net = {"kind": "Net", "own": True, "takes": [*needs, "labels"], "needs": needs, "open": False}
    given: dict[str, tuple[int, ...]] = {"user": (4,), "item": (4,), "clicked": (4,)}
    (finding,) = found(text, own, CALLED, given=given, forward=net, trainer=None)
    must = finding.fixes[0].must
    assert must == All(tuple(ColumnReachesModel(one) for one in meant))


def test_a_column_that_is_left_over_is_not_meant_for_what_need_not_be_given() -> None:
    text = 'batch = {"features": x, "weights": w}\nnet(**batch)\n'
    own = Frame(Place("train.py", 2), "<module>", own=True, line="net(**batch)")
    net = {"kind": "Net", "own": True, "takes": ["features", "mask"], "open": False}
    net["needs"] = ["features"]
    given: dict[str, tuple[int, ...]] = {"features": (4, 6), "weights": (4,)}
    assert found(text, own, CALLED, given=given, forward=net, trainer=None) == []


def test_a_loss_that_is_none_leads_to_labels_under_another_name() -> None:
    text = 'batch = {"input_ids": x, "label": y}\nloss = model(**batch).loss\nloss.backward()\n'
    own = Frame(
        Place("train.py", 3),
        "<module>",
        own=True,
        expression="loss.backward",
        values=(Value("loss", "NoneType"),),
    )
    given: dict[str, tuple[int, ...]] = {"input_ids": (4, 9), "label": (4,)}
    (finding,) = found(text, own, given=given, trainer=None)
    assert finding.place == Place("train.py", 1)


SILENT: dict[str, dict[str, Any]] = {
    "all were given": {"given": {"input_ids": (4, 9), "labels": (4,)}},
    "text is dropped": {"trainer": {**TRAINER, "columns": {"answer": "string"}}},
    "nothing is dropped": {"trainer": {**TRAINER, "removes": False}},
}


@pytest.mark.parametrize("seen", SILENT.values(), ids=SILENT)
def test_look_alikes_are_passed_over(seen: dict[str, Any]) -> None:
    assert found(MAPPED, OWN, IN_TRAINER, NO_LOSS, **seen) == []


def test_a_model_that_fails_for_another_reason_is_passed_over() -> None:
    other = Frame(Place("transformers/modeling_t5.py", 90), "T5Attention.forward", own=False)
    assert found(MAPPED, OWN, IN_TRAINER, other) == []


def of_a_classifier(kind: str, **columns: str) -> list[Finding]:
    trainer = {**TRAINER, "model": kind, "columns": {"input_ids": "list<item: int64>", **columns}}
    forward = {**FORWARD, "kind": kind}
    return found(MAPPED, OWN, IN_TRAINER, NO_LOSS, forward=forward, trainer=trainer)


def test_the_only_numbers_that_are_dropped_are_the_labels_of_a_classifier() -> None:
    kind = "BertForSequenceClassification"
    (finding,) = of_a_classifier(kind, comment="string", toxic="int64", row_id="int64")
    assert "The column `toxic` is no argument" in finding.headline
    assert of_a_classifier(kind, toxic="int64", rude="int64") == []
    assert of_a_classifier(kind, row_id="int64") == []
    assert of_a_classifier("GPT2LMHeadModel", toxic="int64") == []


REWARD = dedent(
    """\
    class Reward(nn.Module):
        def forward(self, **features):
            return self.net(**features)
    args = TrainingArguments("out")
    trainer = Trainer(Reward(), args, train_dataset=rows)
    trainer.train()
    """
)
FILTER = Frame(Place("transformers/trainer.py", 9), "Trainer._remove_unused_columns", own=False)


def of_all_columns(**forward: Any) -> list[Finding]:
    signature = {"kind": "Reward", "takes": [], "needs": [], "open": True, **forward}
    columns = {"input_ids": "list<item: int64>", "labels": "int64", "text": "string"}
    taken = {"model": "Reward", "forward": signature["takes"], "accepts": ["label"]}
    trainer = {**TRAINER, **taken, "columns": columns}
    own = Frame(Place("train.py", 6), "<module>", own=True, line="trainer.train()")
    return found(REWARD, own, IN_TRAINER, FILTER, given={}, forward=signature, trainer=trainer)


def test_a_forward_that_names_no_column() -> None:
    (finding,) = of_all_columns()
    assert finding.place == Place("train.py", 2)
    assert "takes `**features` and names none of the columns `input_ids` and" in finding.headline
    first, second = finding.fixes
    assert first.edit is not None
    assert second.edit is not None
    assert 'TrainingArguments("out", remove_unused_columns=False)' in patched(first.edit, REWARD)
    after = patched(second.edit, REWARD)
    assert "def forward(self, input_ids=None, labels=None, **features):\n" in after
    assert "        features.update(input_ids=input_ids, labels=labels)\n" in after


def test_a_forward_that_takes_the_whole_batch() -> None:
    (finding,) = of_all_columns(takes=["batch"], needs=["batch"], open=False)
    assert [fix.edit for fix in finding.fixes] == [None]
