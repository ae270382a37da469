"""Rows of different sizes that nobody pads, on hand-made recordings."""

from dataclasses import replace
from textwrap import dedent

import pytest

import recorded_rows
from lineages import Step
from recorded_rows import mended
from surefit.doctor.conditions.inputs import RowsReachModel
from surefit.doctor.conditions.values import ValuesAt
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import CollatorSeen, Frame, Value
from surefit.lineage.producers import ROWS, Way
from surefit.rules.data.padded_per_map_batch import RULE as PER_MAP_BATCH
from surefit.rules.data.ragged_rows import RULE

LOADER = dedent(
    """\
    import torch
    from torch.utils.data import DataLoader

    def train():
        loader = DataLoader(rows, batch_size=2)
        for notes, key in loader:
            model(notes)
    """
)
COLLATOR = CollatorSeen(
    "default_collate",
    None,
    own=False,
    rows=2,
    kinds={"0": ("Tensor",), "1": ("int",)},
    lengths={"0": (7, 5)},
    shared=0,
    chosen_at=Place("train.py", 5),
    shapes={"0": ((7,), (5,))},
    totals={"0": 99},
)
TOKENIZED = replace(
    COLLATOR,
    kinds={"input_ids": ("list",), "label": ("int",)},
    lengths={"input_ids": (7, 5)},
    shapes={"input_ids": ((7,), (5,))},
    totals={"input_ids": 99},
)
LOOP = Frame(Place("train.py", 6), "train", own=True, line="for notes, key in loader:")


def found(text: str, collator: CollatorSeen | None, frame: Frame = LOOP) -> list[Finding]:
    return recorded_rows.found(RULE, text, collator, frame)


def test_a_loader_is_given_a_collator_that_pads() -> None:
    (finding,) = found(LOADER, COLLATOR)
    assert finding.place == Place("train.py", 5, 5)
    assert finding.headline == (
        "`DataLoader` has no `collate_fn` that pads `notes`, and the 2 rows of this batch have"
        " `notes` of 2 different lengths."
    )
    new = mended(LOADER, finding)
    assert "DataLoader(rows, batch_size=2, collate_fn=pad_rows)" in new
    assert "pad_sequence([torch.as_tensor(row[0]) for row in rows], batch_first=True)," in new
    assert "default_collate([row[1] for row in rows])," in new
    assert "from torch.nn.utils.rnn import pad_sequence" in new
    assert finding.fixes[0].must == RowsReachModel((2, 7), 99, 12)


def test_labels_of_each_token_are_filled_with_what_the_loss_ignores() -> None:
    tagged = replace(
        COLLATOR,
        shapes={"0": ((7,), (5,)), "1": ((7,), (5,))},
        totals={"0": 99, "1": 9},
    )
    (finding,) = found(LOADER, tagged)
    assert "for row in rows], batch_first=True, padding_value=-100)," in mended(LOADER, finding)


def test_rows_of_a_tokenizer_get_its_collator() -> None:
    text = LOADER.replace("def train():", "def train(tokenizer):")
    (finding,) = found(text, TOKENIZED)
    assert "collate_fn=DataCollatorWithPadding(tokenizer)" in mended(text, finding)


def test_a_collator_that_pads_is_named_where_it_was_made() -> None:
    made = replace(
        TOKENIZED,
        kind="DataCollatorWithPadding",
        pads=("input_ids",),
        made_at=Place("train.py", 2),
        chosen_at=Place("train.py", 7),
        kinds={"input_ids": ("list",), "caps": ("list",)},
        shapes={"input_ids": ((7,), (5,)), "caps": ((7,), (5,))},
    )
    (finding,) = found("tokenizer = load()\ncollate = DataCollatorWithPadding(tokenizer)\n", made)
    assert finding.place.line == 2
    assert finding.headline.startswith("`DataCollatorWithPadding` does not pad `caps`")


def test_pictures_are_brought_to_one_size_by_the_user() -> None:
    pictures = replace(COLLATOR, shapes={"0": ((3, 16, 20), (3, 17, 20))}, totals={})
    (finding,) = found(LOADER, pictures)
    assert finding.headline.startswith("Nothing resizes `notes` to one size")
    (fix,) = finding.fixes
    assert fix.edit is None
    assert fix.choice


STACKED = dedent(
    """\
    def collate(rows):
        ids = torch.stack([row["ids"] for row in rows])
        mask = torch.tensor([row["mask"] for row in rows], dtype=torch.bool)
        return ids, mask, torch.tensor([row["y"] for row in rows])
    """
)


def test_a_collator_of_the_users_own_pads_where_it_stacked() -> None:
    sizes: tuple[tuple[int, ...], ...] = ((7,), (5,))
    shapes = {"ids": sizes, "mask": sizes}
    kinds: dict[str, tuple[str, ...]] = {"ids": ("Tensor",), "mask": ("list",), "y": ("int",)}
    totals = {"ids": 9, "mask": 12}
    own = replace(COLLATOR, kind="collate", own=True, kinds=kinds, shapes=shapes, totals=totals)
    frame = Frame(Place("train.py", 2), "collate", own=True, line="ids = torch.stack(...)")
    (finding,) = found(STACKED, own, frame)
    assert finding.place == Place("train.py", 2, 2)
    new = mended(STACKED, finding)
    assert 'ids = pad_sequence([row["ids"] for row in rows], batch_first=True)' in new
    assert '[torch.tensor(row["mask"], dtype=torch.bool) for row in rows], batch_first' in new
    assert 'torch.tensor([row["y"] for row in rows])' in new
    other = replace(frame, place=Place("train.py", 4))
    assert found(STACKED, own, other) == []


def test_a_list_of_lists_becomes_a_padded_tensor() -> None:
    text = "x = torch.tensor(rows)\n"
    rows = Value("rows", "list", length=2, lengths=(3, 4))
    frame = Frame(Place("train.py", 1), "<module>", own=True, values=(rows,))
    (finding,) = found(text, None, frame)
    assert "x = pad_sequence([torch.tensor(row) for row in rows]" in mended(text, finding)
    assert isinstance(finding.fixes[0].must, ValuesAt)
    even = replace(frame, values=(replace(rows, lengths=(4, 4)),))
    assert found(text, None, even) == []


@pytest.mark.parametrize(
    "collator",
    [
        replace(COLLATOR, shapes={"0": ((7,), (7,))}),
        replace(COLLATOR, shapes={"labels": ((7,), (5,))}, totals={"labels": 3}),
        replace(TOKENIZED, pads=("input_ids",)),
        replace(COLLATOR, texts=("0",)),
    ],
    ids=["one length", "labels alone", "padded", "text"],
)
def test_look_alikes_are_passed_over(collator: CollatorSeen) -> None:
    assert found(LOADER, collator) == []


MAPPED = dedent(
    """\
    def encode(batch):
        return tokenizer(batch["text"], padding=True, truncation=True, max_length=64)
    rows = rows.map(encode, batched=True, batch_size=16)
    for batch in DataLoader(rows, batch_size=2):
        model(**batch)
    """
)


TEXTS = Value("texts", "list", 3, length=16, kinds={"str": 16})
CALL = 'tokenizer(batch["text"], padding=True, truncation=True, max_length=64)'


def per_map_batch(text: str, call: str = CALL, texts: Value = TEXTS) -> list[Finding]:
    collator = replace(TOKENIZED, chosen_at=Place("train.py", 4))
    rows = Value("enc", "BatchEncoding", 2, length=2)
    chain: list[Step] = [(call, rows), ('batch["text"]', texts, Way.ARGUMENT, "0")]
    chains: recorded_rows.Chains = {(ROWS, "input_ids"): chain}
    frame = replace(LOOP, place=Place("train.py", 4))
    return recorded_rows.found(PER_MAP_BATCH, text, collator, frame, chains=chains)


def test_padding_inside_of_map_is_named() -> None:
    (finding,) = per_map_batch(MAPPED)
    assert finding.place.line == 2
    assert "pads to the longest row of each map batch, and the 2 rows" in finding.headline
    assert 'padding="max_length", truncation=True' in mended(MAPPED, finding)
    assert [(fact.name, fact.value) for fact in finding.facts][:2] == [
        ("lengths of `input_ids`", "7, 5"),
        ("rows in a map batch", "16"),
    ]


def test_other_paddings_are_passed_over() -> None:
    fixed, without = CALL.replace("True,", '"max_length",', 1), CALL.replace("padding=True, ", "")
    assert per_map_batch(MAPPED.replace(CALL, fixed), fixed) == []
    assert per_map_batch(MAPPED.replace(CALL, without), without) == []
    one_text = Value("text", "str", 3, scalar="a text", length=6)
    assert per_map_batch(MAPPED, texts=one_text) == []
