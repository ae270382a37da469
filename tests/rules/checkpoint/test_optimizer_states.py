"""Optimizers and state that belongs to other parameters, on hand-made recordings."""

from textwrap import dedent
from typing import Any

from looking import look
from surefit.doctor.conditions.parameters import Moves
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    Answer,
    Crash,
    Frame,
    Observation,
    Process,
    Question,
    Script,
)
from surefit.rules.checkpoint import optimizer_of_other_parameters, optimizer_state_misplaced
from surefit.source.edits import patched

RULES = [optimizer_state_misplaced.RULE, optimizer_of_other_parameters.RULE]
TEXT = dedent(
    """\
    optimizer = Adam([
        {"params": head},
        {"params": body},
    ])
    optimizer.load_state_dict(saved)
    optimizer.step()
    """
)
FRAMES = (
    Frame(Place("train.py", 6), "<module>", own=True, line="optimizer.step()"),
    Frame(Place("torch/optim/adam.py", 9), "_single_tensor_adam", own=False),
)
CRASH = Crash("1-1", 1.0, Process(1), "RuntimeError", "RuntimeError: sizes", FRAMES)


def held(name: str, shape: list[int], state: list[int] | None) -> dict[str, Any]:
    kept = {"exp_avg": state, "exp_avg_sq": state} if state else {}
    return {"name": name, "shape": shape, "state": kept, "gradient": shape}


def told(groups: list[list[dict[str, Any]]], saved: Any = None) -> list[Finding]:
    made = {"file": "train.py", "line": 1}
    said = {"kind": "Adam", "groups": groups, "saved": saved, "made_at": made}
    answer = Answer(Question("optimizer-state", CRASH.id), said)
    observations: list[Observation] = [Script("train.py", TEXT, True), CRASH, answer]
    return [finding for rule in RULES for finding in look(rule, observations)]


def test_groups_are_put_back_into_the_order_of_their_shapes() -> None:
    (finding,) = told([[held("head", [3, 4], [9, 2])], [held("body", [9, 2], [3, 4])]])
    assert finding.rule == "optimizer-state-misplaced"
    assert finding.place == Place("train.py", 1)
    (fix,) = finding.fixes
    assert fix.must == Moves(("head", "body"))
    assert fix.edit is not None
    assert patched(fix.edit, TEXT).splitlines()[1:3] == [
        '    {"params": body},',
        '    {"params": head},',
    ]


def test_the_same_while_loading_where_the_groups_differ_in_number() -> None:
    groups = [
        [held("head", [3, 4], None), held("bias", [3], None)],
        [held("body", [9, 2], None)],
    ]
    (finding,) = told(groups, saved=[[[9, 2]], [[3, 4], [3]]])
    assert finding.rule == "optimizer-state-misplaced"


def test_an_order_that_shapes_do_not_tell_is_not_guessed() -> None:
    (finding,) = told([[held("a", [3, 4], [9, 2]), held("b", [9, 2], [3, 4])]])
    assert finding.rule == "optimizer-state-misplaced"
    assert finding.fixes[0].edit is None
    assert finding.fixes[0].why_not_tried


def test_fewer_parameters_than_saved() -> None:
    (finding,) = told([[held("head", [3, 4], None)]], saved=[[[9, 2], [3, 4]]])
    assert finding.rule == "optimizer-of-other-parameters"
    assert finding.headline == (
        "`Adam` has 1 parameter, and its state was saved with 2 parameters."
    )


def test_state_that_fits_is_no_fault_of_the_optimizer() -> None:
    assert told([[held("head", [3, 4], [3, 4])]]) == []
    assert told([[held("head", [3, 4], None)]]) == []
    assert told([[held("head", [3, 4], None)]], saved=[[[3, 4]]]) == []
