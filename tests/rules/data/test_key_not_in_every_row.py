"""Rows of a batch without a key that others have, on hand-made recordings."""

from dataclasses import replace

from recorded_crashes import look, mended
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import CollatorSeen, Crash, DatasetSeen, Frame, Process, Value
from surefit.rules.data.key_not_in_every_row import RULE

TEXT = """\
class Scans:
    def __getitem__(self, at):
        row = {"scan": self.scans[at]}
        if at in self.weights:
            row["weight"] = self.weights[at]
        return row
loader = DataLoader(Scans(), batch_size=8)
for batch in loader:
    step(batch)
"""
COLLATOR = CollatorSeen(
    "default_collate",
    None,
    own=False,
    rows=8,
    kinds={"scan": ("Tensor",), "weight": ("float",)},
    lengths={},
    shared=0,
    dataset=DatasetSeen("Scans", None, own=True, rows=None),
    lacking={"weight": (2, 5)},
)


def found(collator: CollatorSeen, text: str = TEXT, key: str = "weight") -> list[Finding]:
    loop = Frame(Place("train.py", 8), "<module>", own=True, line="for batch in loader:")
    values = (Value("key", "str", scalar=key),)
    inside = Frame(Place("torch/collate.py", 173), "collate", own=False, values=values)
    said = f"KeyError: '{key}'"
    crash = Crash("1-1", 1.0, Process(1), "KeyError", said, (loop, inside), collator=collator)
    return look(RULE, text, crash)


def test_the_line_that_sets_the_key_under_a_condition() -> None:
    [finding] = found(COLLATOR)
    assert finding.place.line == 5
    assert "2 of the 8 rows" in finding.headline
    assert '        row["weight"] = 0.0\n        if at in' in mended(finding, TEXT)


def test_without_such_a_line_the_dataset() -> None:
    [finding] = found(COLLATOR, TEXT.replace('row["weight"] = ', "row.weight = "))
    assert finding.place.line == 2


def test_a_key_that_no_row_has_or_a_collator_of_the_users() -> None:
    assert found(COLLATOR, key="label") == []
    assert found(replace(COLLATOR, kind="collate", own=True)) == []
