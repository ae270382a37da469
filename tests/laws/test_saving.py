"""Whether what is kept, saved and loaded is what was meant, on measures by hand."""

from dataclasses import replace
from textwrap import dedent

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.measures.saving import (
    Bests,
    BestSeen,
    EvaluationSeen,
    LiveState,
    LoadSeen,
    SaveSeen,
    SavingSeen,
)
from surefit.doctor.observations import Measure, Process, Script, Steps
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.evaluation.best_choices import choice_at, choices
from surefit.laws.evaluation.best_directions import correlation
from surefit.laws.invariants.saving import violations_of, watched
from surefit.laws.law import BrokenLaw
from surefit.source.reading import Source

HERE, THERE = Place("a.py", 8), Place("a.py", 12)
LIVE = LiveState(
    how="loaded",
    model="Net",
    taken_at=HERE,
    taken_step=10,
    used_at=THERE,
    used_step=30,
    tensors=6,
    changed=6,
)
LOAD = LoadSeen(
    place=HERE, model="Net", step=0, times=1, strict=False, given=6, matched=0, missing=6
)


def steps(*losses: float) -> Steps:
    pairs = tuple(enumerate(losses))
    return Steps(Process(), len(pairs), 1.0, 0, {}, pairs, backwards=len(pairs))


def broken(*measures: Measure, text: str = "", losses: tuple[float, ...] = ()) -> list[BrokenLaw]:
    script = [Script("a.py", text)] if text else []
    trained = [steps(*losses)] if losses else []
    return list(violations_of(Case(Recording([*measures, *script, *trained]))))


def saving(**more: object) -> SavingSeen:
    return SavingSeen(process=Process(), **more)  # type: ignore[arg-type]


def test_a_state_that_was_changed_before_it_is_loaded() -> None:
    (violation,) = broken(saving(state_dicts=1, live=(LIVE,)))
    assert (violation.use.place, violation.steps) == (HERE, 31)
    assert "took 20 optimizer steps since, so loading it restores nothing" in violation.said


BEST_IS_THE_MODEL = dedent("""
    for epoch in range(9):
        train(model)
        accuracy = evaluate(model)
        if accuracy > best_accuracy:
            best_accuracy = accuracy
            best_model = model
    """)
KEPT = replace(LIVE, how="kept", taken_at=None, name="best_model", used_at=Place("a.py", 3))


def test_a_name_that_is_called_the_best_and_is_the_model() -> None:
    (violation,) = broken(saving(live=(KEPT,)), text=BEST_IS_THE_MODEL)
    assert (violation.use.place.line, violation.lasting) == (7, False)


def test_where_a_file_is_written_too_the_name_does_not_matter() -> None:
    text = BEST_IS_THE_MODEL + "        torch.save(model.state_dict(), 'best.pt')\n"
    assert broken(saving(live=(KEPT,)), text=text) == []
    assert broken(saving(live=(KEPT,)), text="best_model = model\n") == []


@pytest.mark.parametrize(
    ("load", "is_broken"),
    [
        (LOAD, True),
        (replace(LOAD, strict=True), False),
        (replace(LOAD, given=100, matched=4, drop="module.", would_match=96), True),
        (replace(LOAD, given=100, matched=90, missing=4), False),
        (replace(LOAD, given=100, matched=4, missing=90, would_match=4), False),
        (replace(LOAD, strict=True, own=True), False),
        (replace(LOAD, strict=True, own=True, drop="module.", would_match=6), True),
        (replace(LOAD, given=0), False),
    ],
)
def test_loads_that_match_no_name(load: LoadSeen, is_broken: bool) -> None:
    assert bool(broken(saving(loads=(load,)))) == is_broken


MAE = (0.9, 0.7, 0.6, 0.55)
TRAINING = ((1, 2.0), (2, 1.0), (3, 0.7), (4, 0.5))
BEST = BestSeen(
    metric="mae",
    greater=True,
    greater_given=False,
    arguments_at=HERE,
    series=tuple((step, value, 2 * value) for step, value in enumerate(MAE, 1)),
    losses=TRAINING,
    loads=True,
)


def trainer(best: BestSeen) -> Bests:
    return Bests(process=Process(), trainers=(best,))


def test_a_metric_that_falls_with_both_losses_is_no_score() -> None:
    (violation,) = broken(trainer(BEST))
    assert "keeps the largest, 0.9 at step 1, not 0.55 at step 4" in violation.said
    assert broken(trainer(replace(BEST, greater=False))) == []


def test_an_accuracy_that_is_minimised() -> None:
    scores = (0.5, 0.7, 0.8, 0.85)
    series = tuple((step, value, 2 - value) for step, value in enumerate(scores, 1))
    assert len(broken(trainer(replace(BEST, greater=False, series=series)))) == 1
    assert broken(trainer(replace(BEST, greater=True, series=series))) == []


@pytest.mark.parametrize(
    "series",
    [
        ((1, 0.5, 0.6), (2, 0.6, 0.7), (3, 0.7, 0.9), (4, 0.72, 1.2)),  # overfits, still better
        ((1, 0.7, 0.6), (2, 0.66, 0.7), (3, 0.62, 0.9), (4, 0.6, 1.2)),  # overfits from the start
        ((1, 0.9, 1.8), (2, 0.7, 1.4)),
    ],
)
def test_what_an_honest_score_can_do(series: tuple[tuple[int, float, float], ...]) -> None:
    assert broken(trainer(replace(BEST, series=series))) == []


LOOP = dedent("""
    best = {start}
    for epoch in range(4):
        train(model)
        {name} = evaluate(model)
        if {name} {operator} best:
            best = {name}
            torch.save(model.state_dict(), "best.pt")
    """)


def kept(at: int, numbers: dict[str, float]) -> Bests:
    evaluations = tuple(
        EvaluationSeen(step=10 * number, loss=loss, calls=2)
        for number, loss in enumerate((1.0, 0.6, 0.4, 0.3), 1)
    )
    save = SaveSeen(
        place=Place("a.py", 8), step=10 * at, what="save", numbers=numbers, evaluation=at
    )
    return Bests(process=Process(), saves=(save,), evaluations=evaluations)


@pytest.mark.parametrize(
    ("name", "operator", "measure", "is_broken"),
    [
        ("value", ">", kept(1, {"value": 1.0}), True),
        ("value", ">", kept(1, {"value": 0.2}), False),  # some other number
        ("val_loss", ">", kept(1, {}), True),
        ("val_loss", "<", kept(4, {"val_loss": 0.3}), False),
        ("worst_loss", ">", kept(1, {"worst_loss": 1.0}), False),
        ("val_acc", "<", kept(1, {"val_acc": 0.4}), True),
        ("val_acc", ">", kept(2, {"val_acc": 0.4}), False),
        ("val_loss", ">", kept(4, {"val_loss": 0.3}), False),  # the best all the same
    ],
)
def test_the_direction_of_a_loop(name: str, operator: str, measure: Bests, is_broken: bool) -> None:
    text = LOOP.format(name=name, operator=operator, start="0.0")
    assert bool(broken(measure, text=text, losses=(1.0,) * 40)) == is_broken


TRAINED = (Place("a.py", 4),)


@pytest.mark.parametrize(
    ("name", "operator", "start", "is_broken"),
    [
        ("val_loss", "<", "0.0", True),
        ("val_loss", "<", "float('inf')", False),
        ("value", "<", "-float('inf')", True),
        ("value", ">", "math.inf", True),
        ("value", "<", "0.0", False),  # it may be negative
        ("val_acc", ">", "0.95", False),  # a threshold
        ("val_loss", "<", "resumed()", False),
    ],
)
def test_a_comparison_that_cannot_hold(
    name: str, operator: str, start: str, is_broken: bool
) -> None:
    text = LOOP.format(name=name, operator=operator, start=start)
    measure = Bests(process=Process(), turns=3, stepped_at=TRAINED)
    found = broken(measure, text=text, losses=(1.0,) * 40)
    assert bool(found) == is_broken
    assert broken(replace(measure, turns=1), text=text, losses=(1.0,) * 40) == []
    elsewhere = replace(measure, stepped_at=(Place("b.py", 4),))
    assert broken(elsewhere, text=text, losses=(1.0,) * 40) == []


def test_a_comparison_under_another_condition_was_perhaps_never_reached() -> None:
    text = LOOP.format(name="val_loss", operator="<", start="0.0")
    lines = text.splitlines()
    lines[5:] = ["    if rank == 0:", *("    " + line for line in lines[5:])]
    measure = Bests(process=Process(), turns=3, stepped_at=TRAINED)
    assert broken(measure, text="\n".join(lines), losses=(1.0,) * 40) == []


def test_a_comparison_is_turned_and_its_start_is_known() -> None:
    source = Source("a.py", LOOP.format(name="loss", operator=">", start="-float('inf')"))
    choice = choice_at(source, 8)
    assert choice is not None
    assert (choice.metric_text, choice.best_text, choice.keeps_greater) == ("loss", "best", True)
    assert choice.start() is not None
    assert choice.start()[1] == float("-inf")  # type: ignore[index]
    (change,) = choice.flip().changes
    assert change.text == " < "


def test_what_is_no_choice() -> None:
    assert choices(Source("a.py", "if loss < limit:\n    torch.save(model, 'a.pt')\n")) == ()


def test_correlation_needs_three_and_some_spread() -> None:
    assert correlation([(0, 0), (1, 1)]) is None
    assert correlation([(0, 0), (1, 0), (2, 0)]) is None
    assert correlation([(0, 0), (1, 1), (2, 2)]) == pytest.approx(1)


def test_what_was_watched() -> None:
    assert watched(Recording([])).why_not == "nothing was saved, kept or loaded"
    assert watched(Recording([saving(state_dicts=2, saves=1)])).on == "2 states, 1 save, 0 loads"
