"""Values of samples that are None, on hand-made recordings."""

from dataclasses import replace

from lineages import Step
from recorded_crashes import look, mended
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
from surefit.lineage.producers import Way
from surefit.rules.data.none_in_a_sample import RULE

TEXT = """\
class Scans:
    def __getitem__(self, at):
        mask = None
        if at in self.masks:
            mask = self.masks[at]
        return {"scan": self.scans[at], "mask": mask}
loader = DataLoader(Scans(), batch_size=8)
for batch in loader:
    step(batch)
"""
COLLATOR = CollatorSeen(
    "default_collate",
    None,
    own=False,
    rows=8,
    kinds={"scan": ("Tensor",), "mask": ("Tensor", "NoneType")},
    lengths={},
    shared=0,
    dataset=DatasetSeen("Scans", None, own=True, rows=None),
    missing={"mask": 2},
)
LOOP = Frame(
    Place("train.py", 8),
    "<module>",
    own=True,
    line="for batch in loader:",
    values=(Value("loader", "DataLoader", 9, made_at=Place("train.py", 7)),),
)
ASKED = Frame(Place("torch/utils/data/dataloader.py", 725), "__next__", own=False)


def found(collator: CollatorSeen) -> list[Finding]:
    said = "TypeError: default_collate: no"
    rows = Value("batch", "list", 7, length=8)
    inside = Frame(Place("torch/collate.py", 401), "default_collate", own=False, values=(rows,))
    frames = (LOOP, ASKED, inside)
    crash = Crash("1-1", 1.0, Process(1), "TypeError", said, frames, collator=collator)
    row = Value("row", "dict", 8, length=2)
    none = Value("mask", "NoneType")
    chain: tuple[Step, ...] = (
        ('{"scan": self.scans[at], "mask": mask}', row),
        ("mask", none, Way.ITEM, "mask"),
        ("None", none, Way.BINDING, "mask"),
    )
    return look(RULE, TEXT, crash, chains={(2, "batch"): chain})


def test_the_line_that_makes_it_none_is_named() -> None:
    (finding,) = found(COLLATOR)
    assert finding.place == Place("train.py", 3, 3)
    assert "`mask` of 2 of 8 samples" in finding.headline
    fix = finding.fixes[0]
    assert "loses 2 of its 8 rows and keeps 6" in fix.text
    assert fix.must == RowsArrive(rows=6, place=Place("train.py", 9), names=("batch",))
    assert fix.choice
    assert 'if row["mask"] is not None' in mended(finding, TEXT)


def test_what_no_sample_has_is_not_for_the_loader() -> None:
    (finding,) = found(replace(COLLATOR, missing={"mask": 8}))
    assert "`mask` of every sample" in finding.headline
    assert finding.fixes[0].edit is None


def test_whole_samples_and_other_collators_are_passed_over() -> None:
    assert found(replace(COLLATOR, missing={})) == []
    assert found(replace(COLLATOR, nones=1)) == []
    assert found(replace(COLLATOR, kind="collate", own=True)) == []
