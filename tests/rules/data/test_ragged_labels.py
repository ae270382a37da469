"""Ragged labels on hand-made recordings: who is named, what is changed, what is passed over."""

from collections.abc import Iterable
from dataclasses import replace
from textwrap import dedent

import pytest

from surefit.doctor.conditions.labels import LabelsArrive, LabelsReachModel
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    CollatorSeen,
    Crash,
    Frame,
    Link,
    Process,
    Script,
    TokenizerSeen,
)
from surefit.doctor.recording import Recording
from surefit.rules.data.ragged_labels import RULE
from surefit.source.edits import patched

TEXT = dedent(
    """\
    from transformers import DataCollatorForLanguageModeling, Trainer
    collate = DataCollatorForLanguageModeling(tokenizer, mlm=False)
    trainer = Trainer(model, train_dataset=rows, data_collator=collate)
    trainer.train()
    """
)

TOKENIZER = TokenizerSeen("T", None, 100, ("input_ids", "attention_mask"), 0, 1, "right")
LENGTHS = (412, 87, 233, 412)
COLLATOR = CollatorSeen(
    "DataCollatorForLanguageModeling",
    Place("train.py", 2),
    own=False,
    rows=4,
    kinds={"input_ids": ("list",), "labels": ("list",)},
    lengths={"input_ids": LENGTHS, "labels": LENGTHS},
    shared=0,
    pads=TOKENIZER.pads,
    tokenizer=TOKENIZER,
    supervised={"labels": 900},
)


def crash(collator: CollatorSeen | None, frame: Frame | None = None) -> Crash:
    own = Frame(Place("train.py", 4), "<module>", own=True, line="trainer.train()")
    return Crash(
        "1-1",
        1.0,
        Process(1),
        "ValueError",
        "ValueError: Unable to create tensor",
        (frame or own, Frame(Place("tokenization_utils_base.py", 756), "pad", own=False)),
        (Link("ValueError: expected sequence of length 412 at dim 1 (got 87)"),),
        collator=collator,
    )


def found(
    collator: CollatorSeen | None, text: str = TEXT, frame: Frame | None = None
) -> list[Finding]:
    return list(RULE.look(Recording([Script("train.py", text), crash(collator, frame)])))


def only(findings: Iterable[Finding]) -> Finding:
    (finding,) = findings
    return finding


def test_the_constructor_is_named_and_copying_ruled_out() -> None:
    finding = only(found(COLLATOR))
    assert finding.place == Place("train.py", 2)
    assert finding.headline == (
        "`DataCollatorForLanguageModeling` does not pad `labels`, and the 4 rows of this batch have"
        " `labels` of 3 different lengths."
    )
    assert [(fact.name, fact.value) for fact in finding.facts] == [
        ("it pads", "input_ids, attention_mask"),
        ("lengths of `labels`", "412, 87, 233, 412"),
        ("places to fill", "504, beside 1,144 real labels"),
    ]
    assert [(fact.name, fact.value) for fact in finding.ruled_out] == [
        ("shared rows", "no two rows share a list; a copy changes nothing")
    ]
    assert finding.python_said == "ValueError: expected sequence of length 412 at dim 1 (got 87)"
    assert finding.about == "1-1"


def test_the_fix_changes_the_collator_and_must_keep_every_label() -> None:
    (fix,) = only(found(COLLATOR)).fixes
    assert fix.edit is not None
    new = patched(fix.edit, TEXT)
    assert "collate = DataCollatorForSeq2Seq(tokenizer)\n" in new
    assert "import DataCollatorForSeq2Seq, Trainer" in new
    assert isinstance(fix.must, LabelsArrive)
    assert (fix.must.in_a_run.expected, fix.must.in_a_run.rows) == (900, 4)


def test_lists_that_are_shared_are_not_called_unshared() -> None:
    (ruled_out,) = only(found(replace(COLLATOR, shared=4))).ruled_out
    assert ruled_out.value == "4 lists of these rows are shared, and a copy is just as long"


def test_a_collator_that_the_trainer_chose_is_given_to_it() -> None:
    text = "from transformers import Trainer\ntrainer = Trainer(m, processing_class=tok)\n"
    chosen = replace(COLLATOR, kind="DataCollatorWithPadding")
    (fix,) = only(found(chosen, text)).fixes
    assert fix.edit is not None
    assert "data_collator=DataCollatorForSeq2Seq(tok)" in patched(fix.edit, text)


def test_labels_of_tokens_get_the_collator_for_tokens() -> None:
    text = TEXT.replace("model,", "AutoModelForTokenClassification.from_pretrained(x),")
    (fix,) = only(found(COLLATOR, text)).fixes
    assert fix.edit is not None
    assert "collate = DataCollatorForTokenClassification(tokenizer)" in patched(fix.edit, text)


def test_masked_language_modelling_is_a_choice() -> None:
    text = TEXT.replace(", mlm=False", "")
    fixes = only(found(COLLATOR, text)).fixes
    assert [fix.edit for fix in fixes] == [None, None]
    assert {fix.why_not_tried for fix in fixes} == {"only you know which labels are meant"}


def test_another_ragged_column_is_named_and_no_edit_offered() -> None:
    more = replace(
        COLLATOR,
        kinds={**COLLATOR.kinds, "weights": ("list",)},
        lengths={**COLLATOR.lengths, "weights": LENGTHS},
    )
    finding = only(found(more))
    assert ("nor does it pad", "`weights`") in [(fact.name, fact.value) for fact in finding.facts]
    assert [fix.edit for fix in finding.fixes] == [None]


def test_a_function_of_the_users_is_named_at_its_failing_line() -> None:
    own = replace(COLLATOR, kind="collate", own=True, pads=(), tokenizer=None)
    frame = Frame(
        Place("train.py", 7),
        "collate",
        own=True,
        line='labels = torch.tensor([r["labels"] for r in rows])',
        expression='torch.tensor([r["labels"] for r in rows])',
    )
    finding = only(found(own, frame=frame))
    assert finding.place == Place("train.py", 7)
    assert finding.headline.startswith('`torch.tensor([r["labels"] for r in rows])` does not pad')


@pytest.mark.parametrize(
    "collator",
    [
        None,
        replace(COLLATOR, pads=(*COLLATOR.pads, "labels")),
        replace(COLLATOR, lengths={"input_ids": LENGTHS, "labels": (412, 412, 412, 412)}),
        replace(COLLATOR, lengths={"input_ids": LENGTHS}),
        replace(COLLATOR, kinds={**COLLATOR.kinds, "text": ("str",)}),
    ],
    ids=["none", "pads them", "one length", "no labels", "text comes first"],
)
def test_silence(collator: CollatorSeen | None) -> None:
    assert found(collator) == []


def test_silence_where_an_own_collator_fails_for_another_reason() -> None:
    own = replace(COLLATOR, kind="collate", own=True, pads=())
    frame = Frame(
        Place("train.py", 7), "collate", own=True, line='rows[0]["text"]', expression="rows[0]"
    )
    failing = replace(crash(own, frame), frames=(frame,))
    assert list(RULE.look(Recording([Script("train.py", TEXT), failing]))) == []


def test_a_collator_without_a_tokenizer_is_given_padded_labels() -> None:
    text = dedent(
        """\
        from transformers import default_data_collator
        def loader(rows):
            return DataLoader(rows, collate_fn=default_data_collator)
        for batch in loader(rows):
            train(batch)
        """
    )
    lengths: dict[str, tuple[int, ...]] = {"input_ids": (9, 9, 9, 9), "labels": LENGTHS}
    plain = replace(COLLATOR, kind="default_data_collator", made_at=None, pads=(), tokenizer=None)
    finding = only(found(replace(plain, lengths=lengths), text))
    assert finding.place == Place("train.py", 3)
    (fix,) = finding.fixes
    assert fix.edit is not None
    after = patched(fix.edit, text)
    assert "collate_fn=with_padded_labels)" in after
    assert "return default_data_collator(padded)" in after
    assert fix.must == LabelsReachModel(900, 4)
    tensors = replace(plain, lengths=lengths, kinds={**plain.kinds, "labels": ("Tensor",)})
    assert only(found(tensors, text)).fixes[0].edit is None
