"""Samples that are None, on hand-made recordings: which `return`, which fix, what is none."""

from dataclasses import replace
from textwrap import dedent

from recorded_crashes import look
from surefit.doctor.conditions.rows import RowsArrive
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    CollatorSeen,
    Crash,
    DatasetSeen,
    Frame,
    Process,
    Value,
)
from surefit.rules.data.sample_is_none import RULE
from surefit.source.edits import patched

TEXT = dedent(
    """\
    from torch.utils.data import DataLoader, Dataset
    class Photos(Dataset):
        def __getitem__(self, at):
            photo = self.read(at)
            if photo is None:
                return None
            return photo, self.labels[at]
    def collate(samples):
        return torch.stack([sample[0] for sample in samples])
    loader = DataLoader(Photos(), batch_size=8)
    for photos, labels in loader:
        step(photos, labels)
    """
)
COLLATOR = CollatorSeen(
    "default_collate",
    None,
    own=False,
    rows=8,
    kinds={"0": ("Tensor",), "row": ("NoneType",)},
    lengths={},
    shared=0,
    dataset=DatasetSeen("Photos", None, own=True, rows=None),
    nones=2,
    numbers=(3, 40),
)
LOOP = Frame(
    Place("train.py", 11),
    "<module>",
    own=True,
    line="for photos, labels in loader:",
    values=(Value("loader", "DataLoader", 9, made_at=Place("train.py", 10)),),
)
ASKED = Frame(Place("torch/utils/data/dataloader.py", 725), "__next__", own=False)
INSIDE = Frame(Place("torch/utils/data/_utils/collate.py", 207), "collate", own=False)


def found(
    collator: CollatorSeen, last: Frame = INSIDE, text: str = TEXT, swallowed: bool = False
) -> list[Finding]:
    crash = Crash(
        "1-1",
        1.0,
        Process(1),
        "TypeError",
        "TypeError: object of type 'NoneType' has no len()",
        (LOOP, ASKED, last),
        collator=collator,
        swallowed=swallowed,
    )
    return look(RULE, text, crash)


def test_the_return_is_named_and_the_rows_that_are_lost() -> None:
    (finding,) = found(COLLATOR)
    assert finding.place == Place("train.py", 6)
    assert "returns None for 2 of the 8 rows" in finding.headline
    first, second = finding.fixes
    assert "loses 2 of its 8 rows and keeps 6" in first.text
    assert first.must == RowsArrive(rows=6, place=Place("train.py", 12), names=("photos", "labels"))
    assert first.edit is not None
    after = patched(first.edit, TEXT)
    assert "from torch.utils.data import DataLoader, Dataset, default_collate" in after
    assert "loader = DataLoader(Photos(), batch_size=8, collate_fn=without_missing)" in after
    assert second.edit is not None
    assert "DataLoader(rows_that_exist(Photos()), batch_size=8)" in patched(second.edit, TEXT)


def test_rows_of_small_batches_are_left_out_beforehand() -> None:
    (finding,) = found(replace(COLLATOR, rows=2, nones=1))
    assert finding.fixes[0].text.startswith("Look at every row once")


def test_a_collator_of_the_users_leaves_them_out_itself() -> None:
    failing = Frame(
        Place("train.py", 9),
        "collate.<locals>.<listcomp>",
        own=True,
        line="return torch.stack([sample[0] for sample in samples])",
        expression="sample[0]",
        values=(Value("sample", "NoneType", 1),),
    )
    own = replace(COLLATOR, kind="collate", own=True)
    (finding,) = found(own, failing)
    assert finding.fixes[0].edit is not None
    after = patched(finding.fixes[0].edit, TEXT)
    assert "    samples = [row for row in samples if row is not None]\n" in after
    other = replace(failing, values=(Value("sample", "tuple", 1, length=2),))
    assert found(own, other) == []


def test_a_forgotten_return_is_put_in() -> None:
    text = TEXT.replace(
        "if photo is None:\n            return None\n        return photo, ", "photo = "
    )
    text = text.replace("photo = self.labels[at]", "photo = photo, self.labels[at]")
    (finding,) = found(replace(COLLATOR, nones=8), text=text)
    assert "ends without a `return` for all 8 rows" in finding.headline
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert "        return photo\n" in patched(fix.edit, text)


def test_rows_that_are_all_there_and_exceptions_that_were_caught_are_passed_over() -> None:
    assert found(replace(COLLATOR, nones=0)) == []
    assert found(COLLATOR, swallowed=True) == []
