"""The law that every weight learns, on measures written by hand."""

from dataclasses import replace
from typing import Any

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.measures.weights_learn import Adapters, AdapterSeen, HeldWeights, WeightsLearn
from surefit.doctor.observations import OptimizerSeen, ParameterSeen, Process, RootSeen, Steps
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.invariants import adapter_targets, weights_learn
from surefit.laws.layers.parameter_groups import smallest_groups

HERE = Process(1, "main")
LINE = Place("train.py", 7)


def parameter(name: str, **more: Any) -> ParameterSeen:
    usual: dict[str, Any] = {"held_by": 9, "looked": 8, "sampled": 80, "root": 1}
    return ParameterSeen(name, (4, 4), "float32", LINE, 2, **(usual | more))


def optimizer(serial: int = 9, **more: Any) -> OptimizerSeen:
    usual: dict[str, Any] = {"without_gradient": 0, "looked": 20, "last_rate": 0.1}
    return OptimizerSeen("Adam", LINE, serial, 2, 20, 0.1, more.pop("rate", 0.1), **(usual | more))


def held(serial: int = 9, **more: Any) -> HeldWeights:
    usual: dict[str, Any] = {"first_step": 0, "last_step": 20, "tensors": 2, "trainable": 2}
    known = usual | {"handed_trainable": 2, "stepped_at": LINE} | more
    return HeldWeights(optimizer=serial, **known)


def steps(**more: Any) -> Steps:
    usual: dict[str, Any] = {
        "optimizers": (optimizer(),),
        "parameters": (parameter("body.weight"), parameter("head.weight")),
        "roots": (RootSeen("Net", LINE, 1, 32, training=20, held=2),),
        "backwards": 20,
        "least_loss": 0.5,
        "greatest_loss": 0.7,
        "loss_at": LINE,
    }
    taken = more.pop("taken", 20)
    return Steps(HERE, taken, 1.0, taken, {}, ((0, 0.7),), **(usual | more))


def broken(run: Steps, *weights: HeldWeights, **more: Any) -> list[str]:
    measure = WeightsLearn(process=HERE, held=weights, passes=20, **more)
    case = Case(Recording([run, measure]))
    return [type(violation).__name__ for violation in weights_learn.violations_of(case)]


def test_a_run_that_learns_breaks_nothing() -> None:
    assert broken(steps(), held()) == []


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (held(empty=20, trainable=0), ["FrozenWeights"]),
        (held(empty=20, leaf=20), ["LeafLoss"]),
        (held(empty=20, leaf=3), ["NoGradientArrives"]),
        (held(empty=20, cleared=20), []),
        (held(empty=3), []),
        (held(not_numbers=2, not_numbers_by=4), ["WeightsAreNan"]),
        (held(missing=("body.weight",), missing_looked=2), ["PartWithoutGradient"]),
        (held(missing=("body.weight",), missing_looked=1), []),
    ],
)
def test_what_an_optimizer_lacks(weights: HeldWeights, expected: list[str]) -> None:
    assert broken(steps(), weights) == expected


def test_an_idle_optimizer_beside_one_that_learns_is_left_alone() -> None:
    """Progressive unfreezing: the optimizer of the backbone steps while all of it is frozen."""
    run = steps(optimizers=(optimizer(), optimizer(10)))
    assert broken(run, held(empty=20, trainable=0), held(10)) == []
    assert broken(run, held(empty=20, trainable=0), held(10, last_step=0)) == ["FrozenWeights"]


def test_steps_that_a_scaler_left_out() -> None:
    assert broken(steps(taken=0, skipped=20, optimizers=())) == ["EveryStepSkipped"]
    assert broken(steps(taken=20, skipped=4), held()) == []


def test_gradients_of_zero_but_not_those_of_a_loss_of_zero() -> None:
    dead = tuple(parameter(name, zero=8, sampled=0) for name in ("a.weight", "b.weight"))
    assert broken(steps(parameters=dead), held()) == ["EveryGradientZero"]
    assert broken(steps(parameters=dead, least_loss=0.0), held()) == []


def test_a_rate_of_zero_and_one_next_to_it() -> None:
    still = (parameter("a.weight", sampled=200, unchanged=200),)
    none = steps(optimizers=(optimizer(rate=0.0),), parameters=still)
    assert broken(none, held()) == ["RateOfZero"]
    assert broken(steps(optimizers=(optimizer(rate=0.0),)), held()) == []  # it steps another
    tiny = steps(optimizers=(optimizer(rate=1e-12),), parameters=still)
    assert broken(tiny, held()) == ["UpdatesTooSmall"]
    assert broken(steps(optimizers=(optimizer(rate=1e-12),)), held()) == []


def test_no_step_is_taken() -> None:
    run = steps(taken=0, optimizers=(), parameters=())
    assert broken(run, watched=4, compared=14, optimizers=1) == ["NoStepTaken"]
    assert broken(run, watched=4, compared=14, moved=4, optimizers=1) == []
    judged = replace(run, roots=(replace(run.roots[0], training=0, evaluating=20),))
    assert broken(judged, watched=4, compared=14) == []


def test_biases_that_the_optimizer_was_not_given() -> None:
    outside = tuple(parameter(f"{name}.bias", held_by=None, sampled=0) for name in ("body", "head"))
    assert broken(steps(outside=outside), held()) == ["LayerHeldInPart"]
    assert broken(steps(outside=outside[:1]), held()) == []


def test_what_it_was_measured_on() -> None:
    run, measure = steps(), WeightsLearn(process=HERE, held=(held(),), passes=20)
    assert weights_learn.watched(Recording([run, measure])).on == "2 parameters at 20 steps"
    assert weights_learn.watched(Recording([run])).why_not == "no backward pass was seen"


def test_parameters_are_named_by_the_widest_module() -> None:
    every = ["encoder.a.weight", "encoder.a.bias", "encoder.b.weight", "head.weight", "head.bias"]
    assert smallest_groups(every[:3], every) == ["encoder"]
    assert smallest_groups([every[0], every[3]], every) == ["encoder.a.weight", "head.weight"]
    assert smallest_groups([*every[:2], every[3]], every) == ["encoder.a", "head.weight"]


def adapter(*asked: str, adapted: tuple[str, ...]) -> Recording:
    layers = dict.fromkeys(("q_proj", "k_proj", "v_proj", "out_proj"), 2)
    seen_adapter = AdapterSeen(
        kind="LORA",
        made_at=LINE,
        model="Net",
        type="",
        frozen=False,
        asked=asked,
        layers=layers,
        adapted=dict.fromkeys(adapted, 2),
    )
    return Recording([Adapters(process=HERE, adapters=(seen_adapter,))])


@pytest.mark.parametrize(
    ("asked", "adapted", "unmatched"),
    [
        (("q_proj", "v_proj"), ("q_proj", "v_proj"), ()),
        (("c_attn", "c_proj", "q_proj"), ("q_proj",), ("c_attn", "c_proj")),
        (("query", "value", "q_proj", "v_proj"), ("q_proj", "v_proj"), ()),
        (("q_proj", "v_proj", "out_porj"), ("q_proj", "v_proj"), ("out_porj",)),
    ],
)
def test_names_that_match_no_layer(
    asked: tuple[str, ...], adapted: tuple[str, ...], unmatched: tuple[str, ...]
) -> None:
    case = Case(adapter(*asked, adapted=adapted))
    found = list(adapter_targets.violations_of(case))
    names = [name for violation in found for name in getattr(violation, "unmatched", ())]
    assert tuple(names) == unmatched
