"""Rows that a reshape folded into the batch, on hand-made recordings."""

from dataclasses import replace
from textwrap import dedent

from recorded_operations import found_by
from surefit.doctor.conditions.loss_rows import RowsAtTheLoss
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    Crash,
    Frame,
    LossCall,
    Operation,
    Process,
    Steps,
    Value,
)
from surefit.doctor.recording import Recording
from surefit.rules.batch.rows_folded_into_the_batch import RULE
from surefit.source.edits import patched

TEXT = dedent(
    """\
    import torch.nn.functional as F
    from torch import nn
    class Net(nn.Module):
        def __init__(self):
            self.avg = nn.AvgPool2d(8)
        def forward(self, x):
            x = self.avg(x)
            x = x.view(-1, 64)
            return self.fc(x)
    pred = model(images)
    loss = F.cross_entropy(pred, labels)
    """
)
PRED = Value("pred", "Tensor", 1, shape=(128, 10), dtype="float32")
LABELS = Value("labels", "Tensor", 2, shape=(32,), dtype="int64")
OWN = Frame(
    Place("train.py", 11),
    "<module>",
    own=True,
    line="loss = F.cross_entropy(pred, labels)",
    expression="F.cross_entropy(pred, labels)",
    values=(PRED, LABELS),
)
LOSS = Frame(
    Place("torch/nn/functional.py", 3555),
    "cross_entropy",
    own=False,
    values=(replace(PRED, text="input"), replace(LABELS, text="target")),
    arguments=("input", "target"),
)
CRASH = Crash("1-1", 1.0, Process(1), "ValueError", "ValueError: rows", (OWN, LOSS))


def made(serial: int, name: str, line: int, shape: tuple[int, ...], *takes: int) -> Operation:
    place = Place("train.py", line)
    return Operation(serial, name, place, place, True, shape, "float32", True, takes)


WEIGHT = Operation(2, "parameter", None, None, False, (64, 3, 3, 3), "float32", True)
STORY = (
    made(9, "linear", 9, (128, 10), 8),
    made(8, "view", 8, (128, 64), 7),
    made(7, "avg_pool2d", 7, (32, 64, 2, 2), 6),
    made(6, "conv2d", 6, (32, 64, 16, 16), 2),
    WEIGHT,
)


def found(
    crash: Crash = CRASH, story: tuple[Operation, ...] = STORY, text: str = TEXT
) -> list[Finding]:
    return found_by(RULE, text, crash, stories={(1, "input"): story})


def test_maps_are_pooled_to_the_width_of_the_reshape() -> None:
    (finding,) = found()
    assert finding.place.line == 8
    assert finding.headline == (
        "`x.view(-1, 64)` makes 4 rows of each row of the batch: 128 = 32 × 2 × 2, and `labels`"
        " has 32."
    )
    fix = finding.fixes[0]
    assert fix.edit is not None
    assert fix.choice
    assert "F.adaptive_avg_pool2d(x, 1).view(-1, 64)" in patched(fix.edit, TEXT)
    wanted = (Wanted("pred", (32, 10)), Wanted("labels", (32,)))
    assert fix.must == ValuesAt(Place("train.py", 11), wanted)


def test_times_that_were_folded_are_the_users_choice() -> None:
    story = (made(9, "linear", 9, (128, 10), 8), made(8, "view", 8, (128, 64), 7))
    (finding,) = found(story=(*story, made(7, "lstm", 7, (32, 4, 64), 2)))
    assert "128 = 32 × 4" in finding.headline
    assert all(fix.choice for fix in finding.fixes)


def test_look_alikes_are_silent() -> None:
    by_label = replace(LABELS, text="target", shape=(32, 4))
    crash = replace(CRASH, frames=(OWN, replace(LOSS, values=(LOSS.values[0], by_label))))
    assert found(crash) == [], "each position has a label"
    other = replace(LABELS, text="target", shape=(30,))
    crash = replace(CRASH, frames=(OWN, replace(LOSS, values=(LOSS.values[0], other))))
    assert found(crash) == [], "no whole number of rows for each label"
    crops = (made(8, "view", 8, (128, 3, 8, 8), 7), made(7, "stack", 7, (32, 4, 3, 8, 8)))
    assert found(story=(made(9, "linear", 9, (128, 10), 8), *crops)) == [], "pictures stay pictures"
    assert found(story=STORY[:1]) == [], "no reshape was seen"


def test_predictions_without_a_name_are_counted_at_the_loss() -> None:
    (finding,) = found(replace(CRASH, frames=(replace(OWN, values=(LABELS,)), LOSS)))
    assert finding.fixes[0].must == RowsAtTheLoss(32)
    call = LossCall("cross_entropy", None, 1, 1, 32, 32, (32, 10), (32,))
    steps = Steps(Process(1), 1, 1.0, 1, {}, (), loss_calls=(call,), backwards=1)
    assert RowsAtTheLoss(32).judge(Recording([]), Recording([steps])).held
    uneven = replace(steps, loss_calls=(replace(call, shape=(128, 10)),))
    assert not RowsAtTheLoss(32).judge(Recording([]), Recording([uneven])).held
    assert not RowsAtTheLoss(32).judge(Recording([]), Recording([])).decided
