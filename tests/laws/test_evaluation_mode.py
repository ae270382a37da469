"""The law on modes, on measures written by hand."""

from dataclasses import replace

from surefit.doctor.findings import Place
from surefit.doctor.measures.modes import (
    DropoutCall,
    LayerModes,
    ModelCalls,
    Modes,
    ModeSet,
    SteppedInMode,
)
from surefit.doctor.observations import CallSite, Process, Script
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.invariants.evaluation_mode import (
    DropoutInEvaluation,
    EvaluatedInTrainingMode,
    TrainedInEvaluationMode,
    violations_of,
    watched,
)
from surefit.laws.law import BrokenLaw

FILE = "train.py"
SCRIPT = """\
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
model.eval()
out = model(held_out)
print((out.argmax(-1) == wanted).float().mean())
sample = model(noise)
save(sample)
"""
ON = LayerModes(dropouts=2, rates=(0.1,))
OFF = LayerModes(dropouts_off=2, rates=(0.1,), parts_off=("",))


def at(line: int, text: str) -> CallSite:
    column = SCRIPT.splitlines()[line - 1].index(text)
    return CallSite(Place(FILE, line), column, column + len(text))


def calls(site: CallSite, *, training: bool, learned: int, look: LayerModes) -> ModelCalls:
    return ModelCalls(
        kind="Net",
        serial=1,
        made_at=None,
        site=site,
        training=training,
        grad=learned > 0,
        calls=8,
        followed=8 if learned else 0,
        learned=learned,
        first_step=0 if learned else 8,
        last_step=8,
        looks=(look,),
    )


TRAINS = calls(at(2, "model(x)"), training=True, learned=8, look=ON)
EVALUATES = calls(at(5, "model(held_out)"), training=False, learned=0, look=OFF)
STEPPED = SteppedInMode(serial=1, training=8, first_training=1)


def broken(modes: Modes) -> list[BrokenLaw]:
    return list(violations_of(Case(recording(modes))))


def recording(modes: Modes) -> Recording:
    return Recording([Script(FILE, SCRIPT, main=True), modes])


def modes(*every: ModelCalls) -> Modes:
    where = (Place(FILE, 3),)
    return Modes(process=Process(), steps=16, calls=every, stepped=(STEPPED,), backward_at=where)


def test_a_run_with_both_modes_is_healthy() -> None:
    assert broken(modes(TRAINS, EVALUATES)) == []
    said = watched(recording(modes(TRAINS, EVALUATES)))
    assert said.on == "8 calls in evaluation and 8 in training"


def test_without_an_evaluation_nothing_is_measured() -> None:
    assert watched(recording(modes(TRAINS))).why_not == "no evaluation was seen"


def test_an_evaluation_in_training_mode_is_found() -> None:
    loud = replace(EVALUATES, training=True, looks=(ON,))
    (found,) = broken(modes(TRAINS, loud))
    assert isinstance(found, EvaluatedInTrainingMode)
    assert found.use.place.line == 5
    assert found.said == (
        "`model` is evaluated in training mode: 2 dropout layers (p = 0.1) are active."
    )


def test_layers_without_a_mode_may_be_evaluated_in_any() -> None:
    loud = replace(EVALUATES, training=True, looks=(LayerModes(),))
    assert broken(modes(TRAINS, loud)) == []


def test_many_passes_over_one_batch_are_meant() -> None:
    loud = replace(EVALUATES, training=True, looks=(ON,), repeated=6)
    assert broken(modes(TRAINS, loud)) == []


def test_samples_that_are_only_looked_at_are_no_evaluation() -> None:
    loud = replace(EVALUATES, site=at(7, "model(noise)"), training=True, looks=(ON,))
    assert broken(modes(TRAINS, loud)) == []


def stuck(**more: object) -> Modes:
    quiet = replace(TRAINS, training=False, looks=(OFF,))
    switch = ModeSet(
        kind="Net",
        serial=1,
        path="",
        training=False,
        place=Place(FILE, 4),
        times=2,
        first_step=8,
        last_step=12,
    )
    stepped = SteppedInMode(
        serial=1, training=8, evaluating=8, first_training=1, first_evaluating=9
    )
    every = modes(TRAINS, EVALUATES, quiet)
    return replace(every, stepped=(stepped,), switches=(switch,), **more)  # type: ignore[arg-type]


def test_training_that_goes_on_in_evaluation_mode_is_found() -> None:
    (found,) = broken(stuck())
    assert isinstance(found, TrainedInEvaluationMode)
    assert found.stuck
    assert found.steps == 9
    assert found.switched is not None
    assert found.switched.place == Place(FILE, 4)


def test_frozen_layers_may_stay_in_evaluation_mode() -> None:
    frozen = replace(TRAINS, training=False, looks=(LayerModes(),))
    assert broken(replace(stuck(), calls=(TRAINS, EVALUATES, frozen))) == []


def test_a_function_that_drops_in_evaluation_is_found_unless_it_is_asked_to() -> None:
    call = DropoutCall(
        place=Place(FILE, 2),
        function="dropout",
        layer="",
        registered=False,
        asked=False,
        rate=0.5,
        times=8,
    )
    measured = modes(TRAINS, EVALUATES)
    (found,) = broken(replace(measured, dropouts=(call,)))
    assert isinstance(found, DropoutInEvaluation)
    assert broken(replace(measured, dropouts=(replace(call, asked=True),))) == []
    layer = replace(call, layer="Dropout", registered=True)
    assert broken(replace(measured, dropouts=(layer,))) == []
