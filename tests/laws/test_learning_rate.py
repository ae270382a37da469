"""The law of the learning rate on hand-made measures."""

from dataclasses import replace
from typing import Any

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.measures.rates import (
    CheckpointRead,
    LearningRates,
    PlateauSeen,
    RateCourse,
    ScheduleSeen,
)
from surefit.doctor.observations import Ended, Process, Script
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.invariants import learning_rate
from surefit.laws.training.plateau_directions import lower_is_better
from surefit.source.reading import Source

RESUMES = """
saved = torch.load(path)
model.load_state_dict(saved["model"])
start = saved["epoch"] + 1
"""
COURSE = RateCourse(
    kind="SGD",
    serial=1,
    made_at=Place("train.py", 1),
    steps=200,
    base=0.1,
    highest=0.1,
    last=0.001,
    fallen=199,
    course=tuple((step, 0.1 * (1 - step / 201)) for step in range(0, 200, 5)),
)
SCHEDULE = ScheduleSeen(
    kind="LambdaLR",
    serial=2,
    made_at=Place("train.py", 2),
    optimizer=1,
    optimizer_steps=200,
    calls=200,
    at=Place("train.py", 3),
    position=200,
)
RATES = LearningRates(process=Process(), steps=200, epochs=10, complete=True)
RISING = replace(
    COURSE,
    highest=0.01,
    last=0.01,
    fallen=0,
    course=tuple((step, 0.01 * step / 199) for step in range(0, 200, 5)),
)


def broken(
    course: RateCourse = COURSE,
    schedule: dict[str, Any] | None = None,
    source: str = RESUMES,
    code: int = 0,
    **rates: Any,
) -> list[str]:
    seen = replace(RATES, optimizers=(course,), schedules=(replace(SCHEDULE, **(schedule or {})),))
    recording = Recording(
        [
            Script("train.py", source, main=True),
            replace(seen, **rates),
            Ended(("python",), "train.py", code, 1.0),
        ]
    )
    return [type(known).__name__ for known in learning_rate.violations_of(Case(recording))]


def test_a_rate_that_ends_at_zero_by_plan_breaks_nothing() -> None:
    assert broken(replace(COURSE, last=0.0, low=4, low_from=196)) == []


def test_a_rate_that_is_gone_for_most_of_the_run() -> None:
    assert broken(replace(COURSE, low=150, low_from=50)) == ["RateVanishes"]
    assert broken(replace(COURSE, low=90, low_from=110)) == []


def test_a_run_that_was_cut_short_says_nothing() -> None:
    assert broken(RISING) == ["WarmupNeverEnds"]
    assert broken(RISING, code=130) == []
    assert broken(RISING, complete=False) == []
    assert broken(replace(RISING, highest=0.08, last=0.08)) == []


@pytest.mark.parametrize(
    ("schedule", "kind"),
    [
        ({"kind": "MultiStepLR", "plan": (("milestones", 8),)}, "ScheduleTooFast"),
        ({"kind": "CosineAnnealingLR", "plan": (("T_max", 10),)}, "ScheduleTooFast"),
        ({"kind": "OneCycleLR", "plan": (("total_steps", 200),), "calls": 10}, "ScheduleTooSlow"),
    ],
)
def test_a_plan_in_other_units(schedule: dict[str, Any], kind: str) -> None:
    assert broken(schedule=schedule) == [kind]


@pytest.mark.parametrize(
    "schedule",
    [
        {"kind": "MultiStepLR", "plan": (("milestones", 150),)},
        {"kind": "CosineAnnealingLR", "plan": (("T_max", 200),)},
        {"kind": "CosineAnnealingLR", "plan": (("T_max", 20),)},
        {"kind": "OneCycleLR", "plan": (("total_steps", 5000),)},
        {"kind": "StepLR", "plan": (("step_size", 3),), "calls": 10, "position": 10},
    ],
)
def test_a_plan_that_fits(schedule: dict[str, Any]) -> None:
    assert broken(schedule=schedule) == []


def test_a_cosine_that_goes_on_after_its_end() -> None:
    once = {"kind": "CosineAnnealingLR", "plan": (("T_max", 130),)}
    course = replace(COURSE, last=0.05, course=((0, 0.1), (130, 0.0), (199, 0.05)))
    assert broken(course, once) == ["RateRisesAgain"]


def test_a_scheduler_that_nobody_steps() -> None:
    source = "optimizer = SGD(parameters)\nscheduler = StepLR(optimizer, 3)\n"
    idle = {"calls": 0, "at": None, "position": 0}
    assert broken(schedule=idle, source=source) == ["SchedulerNeverStepped"]
    later = source + "if epoch > 100:\n    scheduler.step()\n"
    assert broken(schedule=idle, source=later) == []


def test_what_a_checkpoint_holds_is_loaded() -> None:
    read = CheckpointRead(
        place=Place("train.py", 2),
        step=100,
        optimizer_key="optimizer",
        has_state=True,
        rate=0.02,
        model_loaded=True,
        rate_after=0.1,
        steps_after=100,
        optimizer=1,
    )
    assert broken(checkpoints=(read,)) == ["ScheduleStartsOver"]
    assert broken(checkpoints=(replace(read, optimizer_loaded=True),)) == []
    tuned = RESUMES.replace('start = saved["epoch"] + 1', 'print(saved["epoch"])')
    assert broken(source=tuned, checkpoints=(read,)) == []


def test_an_optimizer_for_every_epoch() -> None:
    every = tuple(
        replace(COURSE, serial=serial, steps=20, parameters=5, keeps_state=True)
        for serial in range(10, 20)
    )
    assert broken(optimizers=every) == ["OptimizerCreatedAgain"]
    assert broken(optimizers=every, weights_set=9) == []
    assert broken(optimizers=every, datasets=10) == []


def test_what_it_was_measured_on() -> None:
    whole = replace(RATES, schedules=(SCHEDULE,))
    assert learning_rate.watched(Recording([whole])).on == "200 steps, 1 scheduler"
    cut = replace(whole, complete=False)
    assert "end" in learning_rate.watched(Recording([cut])).why_not


FALLING = PlateauSeen(
    mode="max",
    patience=2,
    threshold=1e-4,
    relative=True,
    numbers=tuple(1 / (1 + number) for number in range(12)),
    reduced=(3, 6, 9),
    steps=tuple(range(10, 130, 10)),
)


@pytest.mark.parametrize(
    ("plateau", "given", "found"),
    [
        (FALLING, "val_loss", True),
        (FALLING, "np.mean(val_losses)", True),
        (FALLING, "-val_loss", False),
        (FALLING, "accuracy", False),
        (FALLING, "number", False),
        (replace(FALLING, mode="min", reduced=()), "val_loss", False),
        (replace(FALLING, mode="min"), "metrics['val_acc']", False),
        (replace(FALLING, mode="min", numbers=FALLING.numbers[::-1]), "metrics['val_acc']", True),
        (replace(FALLING, numbers=(0.5,) * 12), "val_loss", False),
    ],
)
def test_a_plateau_in_the_wrong_direction(plateau: PlateauSeen, given: str, found: bool) -> None:
    schedule = {"kind": "ReduceLROnPlateau", "plateau": plateau, "calls": 12}
    steady = replace(COURSE, low=0, last=0.1)
    source = f"optimizer = o\nplateau = p\nplateau.step({given})\n"
    assert ("PlateauBackwards" in broken(steady, schedule, source)) is found


def test_which_way_a_number_is_better() -> None:
    def way(text: str) -> bool | None:
        source = Source("train.py", text)
        (call,) = source.calls_named("step")
        return lower_is_better(source, call.args[0])

    assert way("v = F.mse_loss(a, b).item()\ns.step(v)\n") is True
    assert way("s.step(float(acc))\n") is False
    assert way("s.step(sum(losses) / len(losses))\n") is True
    assert way("s.step(evaluate())\n") is None
