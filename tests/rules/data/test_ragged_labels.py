"""Ragged labels on hand-made recordings: who is named, what is changed, what is passed over."""

from dataclasses import replace
from textwrap import dedent

import pytest

from recorded_rows import found, loop, mended
from surefit.doctor.conditions.labels import LabelsArrive, LabelsReachModel
from surefit.doctor.findings import Place
from surefit.doctor.observations import CollatorSeen, Frame, TokenizerSeen
from surefit.rules.data.ragged_labels import RULE
from surefit.source.spans import Span

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
SHAPES: tuple[tuple[int, ...], ...] = ((412,), (87,), (233,), (412,))
COLLATOR = CollatorSeen(
    "DataCollatorForLanguageModeling",
    Place("train.py", 2),
    own=False,
    rows=4,
    kinds={"input_ids": ("list",), "labels": ("list",)},
    lengths={"input_ids": LENGTHS, "labels": LENGTHS},
    shapes={"input_ids": SHAPES, "labels": SHAPES},
    totals={"input_ids": 9, "labels": 9},
    shared=0,
    pads=TOKENIZER.pads,
    tokenizer=TOKENIZER,
    supervised={"labels": 900},
)
TRAIN = loop(4)


def test_the_constructor_is_named_and_copying_ruled_out() -> None:
    (finding,) = found(RULE, TEXT, COLLATOR, TRAIN)
    assert finding.place.line == 2
    assert finding.headline == (
        "`DataCollatorForLanguageModeling` does not pad `labels`, and the 4 rows of this batch have"
        " `labels` of 3 different lengths."
    )
    assert [(fact.name, fact.value) for fact in finding.facts] == [
        ("it pads", "input_ids, attention_mask"),
        ("lengths of `labels`", "412, 87, 233, 412"),
        ("positions to pad", "504, beside 1,144 real labels"),
    ]
    assert finding.ruled_out[0].value == "no two rows share a list; a copy changes nothing"
    (shared,) = found(RULE, TEXT, replace(COLLATOR, shared=4), TRAIN)
    assert shared.ruled_out[0].value.startswith("4 lists of these rows are shared")


def test_the_fix_changes_the_collator_and_must_keep_every_label() -> None:
    (finding,) = found(RULE, TEXT, COLLATOR, TRAIN)
    new = mended(TEXT, finding)
    assert "collate = DataCollatorForSeq2Seq(tokenizer)\n" in new
    assert "import DataCollatorForSeq2Seq, Trainer" in new
    must = finding.fixes[0].must
    assert isinstance(must, LabelsArrive)
    assert (must.in_a_run.expected, must.in_a_run.rows) == (900, 4)


def test_a_collator_that_the_trainer_chose_is_given_to_it() -> None:
    text = "from transformers import Trainer\ntrainer = Trainer(m, processing_class=tok)\n"
    chosen = replace(COLLATOR, kind="DataCollatorWithPadding")
    (finding,) = found(RULE, text, chosen, loop(2))
    assert "data_collator=DataCollatorForSeq2Seq(tok)" in mended(text, finding)


def test_labels_of_tokens_get_the_collator_for_tokens() -> None:
    text = TEXT.replace("model,", "AutoModelForTokenClassification.from_pretrained(x),")
    (finding,) = found(RULE, text, COLLATOR, TRAIN)
    assert "collate = DataCollatorForTokenClassification(tokenizer)" in mended(text, finding)


def test_masked_language_modelling_is_a_choice_that_is_tried() -> None:
    (finding,) = found(RULE, TEXT.replace(", mlm=False", ""), COLLATOR, TRAIN)
    assert [fix.choice for fix in finding.fixes] == [True, True]
    assert [fix.edit is None for fix in finding.fixes] == [True, False]


def test_another_ragged_column_is_named_and_no_edit_offered() -> None:
    more = replace(
        COLLATOR,
        kinds={**COLLATOR.kinds, "weights": ("list",)},
        shapes={**COLLATOR.shapes, "weights": SHAPES},
    )
    (finding,) = found(RULE, TEXT, more, TRAIN)
    assert ("nor does it pad", "`weights`") in [(fact.name, fact.value) for fact in finding.facts]
    assert [fix.edit for fix in finding.fixes] == [None]


OWN = dedent(
    """\
    def collate(rows):
        labels = torch.tensor([r["labels"] for r in rows])
        names = [r["name"] for r in rows]
        return labels, names
    """
)


def test_a_function_of_the_users_pads_where_it_stacks() -> None:
    own = replace(COLLATOR, kind="collate", own=True, pads=(), tokenizer=None)
    part = 'torch.tensor([r["labels"] for r in rows])'
    at = Frame(
        Place("train.py", 2),
        "collate",
        own=True,
        expression=part,
        span=Span(2, 13, 2, 13 + len(part)),
    )
    (finding,) = found(RULE, OWN, own, at)
    assert finding.place.line == 2
    assert "batch_first=True, padding_value=-100)" in mended(OWN, finding)
    assert finding.fixes[0].must == LabelsReachModel(900, 4)
    elsewhere = replace(at, place=Place("train.py", 3), expression="rows", span=Span(3, 12, 3, 21))
    assert found(RULE, OWN, own, elsewhere) == []


@pytest.mark.parametrize(
    "collator",
    [
        None,
        replace(COLLATOR, pads=(*COLLATOR.pads, "labels")),
        replace(COLLATOR, shapes={"input_ids": SHAPES, "labels": ((412,),) * 4}),
        replace(COLLATOR, shapes={"input_ids": SHAPES}, kinds={"input_ids": ("list",)}),
        replace(COLLATOR, kinds={**COLLATOR.kinds, "text": ("str",)}, texts=("text",)),
    ],
    ids=["none", "pads them", "one length", "no labels", "text comes first"],
)
def test_silence(collator: CollatorSeen | None) -> None:
    assert found(RULE, TEXT, collator, TRAIN) == []


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
    plain = replace(
        COLLATOR,
        kind="default_data_collator",
        made_at=None,
        pads=(),
        tokenizer=None,
        shapes={"input_ids": ((9,),) * 4, "labels": SHAPES},
    )
    (finding,) = found(RULE, text, plain, loop(4))
    assert finding.place.line == 3
    after = mended(text, finding)
    assert "collate_fn=with_padded_labels)" in after
    assert "return default_data_collator(padded)" in after
    assert finding.fixes[0].must == LabelsReachModel(900, 4)
    tensors = replace(plain, kinds={**plain.kinds, "labels": ("Tensor",)})
    assert found(RULE, text, tensors, loop(4))[0].fixes[0].edit is None
