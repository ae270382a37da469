"""How the best state is chosen: what was saved when, with which numbers in sight, and what losses
the evaluations had."""

from dataclasses import dataclass, field
from types import FrameType, ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.saving import Bests, BestSeen, EvaluationSeen, SaveSeen
from surefit.observe.inside import events, finishing, origins, own_code, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.autopsy.values import attributes, is_tensor
from surefit.observe.inside.identity import identity
from surefit.observe.inside.training import periodic, readable
from surefit.observe.inside.training.budget import Budget
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.unseen import around

MOST = 256
MOST_NUMBERS = 24
MOST_SERIES = 512
MOST_LINES = 32

budget = Budget(share=0.001, opening=0.1)


@dataclass(slots=True)
class ChoicesSoFar:
    """All so far."""

    saves: list[SaveSeen] = field(default_factory=list)
    evaluations: list[EvaluationSeen] = field(default_factory=list)
    total: float = 0.0
    """Of the losses of the evaluation that goes on."""
    rows: int = 0
    calls: int = 0
    trainers: dict[int, BestSeen] = field(default_factory=dict)
    directions: dict[int, bool] = field(default_factory=dict)
    """Id of training arguments -> whether they were given a direction."""
    evaluating: bool = False
    turns: int = 0
    stepped_at: dict[Place, None] = field(default_factory=dict)


so_far = ChoicesSoFar()


@events.on(events.idle_loss_ended)
def lost(
    _name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, _place: Any
) -> None:
    if not is_tensor(result) or not budget.allows():
        return
    with budget, readable.looking():
        plain = readable.plain(result)
        if plain is None or not plain.is_cpu or plain.numel() != 1:
            return
        given = readable.plain(args[0]) if args else None
        shape = tuple(given.shape) if given is not None else ()
        rows = int(shape[0]) if shape else 1
        summed = kwargs.get("reduction") == "sum"
        so_far.total += float(plain.item()) * (1 if summed else rows)
        so_far.rows += rows
        so_far.calls += 1
        events.backward_begun.wake(trains)


@events.on(events.idle_begun)
def called(module: Any, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> None:
    if not vars(module).get("training", True):
        so_far.evaluating = True
        events.backward_begun.wake(trains)


@events.on(events.backward_begun)
def trains(_loss: Any) -> None:
    if so_far.calls or so_far.evaluating:
        so_far.turns += bool(noted.steps)
        so_far.evaluating = False
        evaluated()
    events.backward_begun.rest(trains)


@events.on(events.step_ended)
def stepped(_optimizer: Any) -> None:
    step = noted.steps
    events.step_ended.rest(stepped, events.before_power_of_two(step))
    if step & (step - 1) or len(so_far.stepped_at) >= MOST_LINES or not budget.allows():
        return
    with budget:
        frame = own_code.own_frame()
        while frame is not None and len(so_far.stepped_at) < MOST_LINES:
            if own_code.own(frame.f_code):
                so_far.stepped_at[own_code.place(frame)] = None
            frame = frame.f_back


def evaluated() -> None:
    """An evaluation is over."""
    if not so_far.calls:
        return
    loss = so_far.total / max(1, so_far.rows)
    so_far.evaluations.append(EvaluationSeen(step=noted.steps, loss=loss, calls=so_far.calls))
    so_far.total, so_far.rows, so_far.calls = 0.0, 0, 0
    if len(so_far.evaluations) > MOST_SERIES:
        del so_far.evaluations[1::2]


@after_import("torch.nn.modules.module")
def modules(module: ModuleType) -> None:
    kind = module.Module
    kind.state_dict = around(kind.state_dict, _takes)
    kind.__setstate__ = around(kind.__setstate__, _copies)


@after_import("torch.serialization")
def files(module: ModuleType) -> None:
    vars(module)["save"] = around(vars(module)["save"], _saves)


def _takes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if "destination" not in kwargs and len(args) == 1:
        _note("state_dict")
    return False


def _copies(_args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    _note("deepcopy")
    return False


def _saves(_args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    _note("save")
    return False


def _note(what: str) -> None:
    if not budget.allows():
        return
    with budget:
        frame = own_code.own_frame(None, 3)
        if frame is None or not noted.steps:
            return
        place, step = own_code.place(frame), noted.steps
        if any(save.place == place and save.step == step for save in so_far.saves[-4:]):
            return
        if len(so_far.saves) >= MOST:
            del so_far.saves[MOST // 2]
        evaluations = len(so_far.evaluations) + bool(so_far.calls)
        so_far.saves.append(
            SaveSeen(
                place=place,
                step=step,
                what=what,
                numbers=_numbers(frame),
                evaluation=evaluations,
            )
        )


def _numbers(frame: FrameType) -> dict[str, float]:
    """Plain numbers among the variables of a function, and among the attributes of its `self`."""
    numbers: dict[str, float] = {}
    held = frame.f_locals
    named = [*held.items()]
    named += [(f"self.{name}", value) for name, value in attributes(held.get("self")).items()]
    for name, value in named:
        if type(value) in (float, int) and not name.startswith("__"):
            numbers[name] = float(value)
        elif is_tensor(value):
            number = _one_number(value)
            if number is not None:
                numbers[name] = number
        if len(numbers) >= MOST_NUMBERS:
            break
    return numbers


def _one_number(tensor: Any) -> float | None:
    with readable.looking():
        plain = readable.plain(tensor)
        usable = plain is not None and plain.is_cpu and plain.numel() == 1
        return float(plain.item()) if usable else None


@after_import("transformers.training_args")
def arguments(module: ModuleType) -> None:
    kind = module.TrainingArguments
    kind.__post_init__ = around(kind.__post_init__, _arguments_made)


def _arguments_made(args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    origins.note(args[0])
    so_far.directions[identity(args[0])] = vars(args[0]).get("greater_is_better") is not None
    return False


@after_import("transformers.trainer")
def trainers(module: ModuleType) -> None:
    kind = module.Trainer
    for name in ("train", "evaluate"):
        setattr(kind, name, around(getattr(kind, name), _begins, _trained))


def _begins(_args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    return True


def _trained(args: tuple[Any, ...], _result: Any) -> None:
    held = vars(args[0])
    settings, state = held.get("args"), held.get("state")
    chosen = attributes(settings)
    metric = chosen.get("metric_for_best_model")
    history = attributes(state).get("log_history")
    if type(metric) is not str or not isinstance(history, list):
        return
    name = metric if metric.startswith("eval_") else f"eval_{metric}"
    series = [
        (int(entry.get("step", 0)), float(entry[name]), _number(entry.get("eval_loss")))
        for entry in history
        if isinstance(entry, dict) and _number(entry.get(name)) is not None
    ]
    losses = [
        (int(entry.get("step", 0)), float(entry["loss"]))
        for entry in history
        if isinstance(entry, dict) and _number(entry.get("loss")) is not None
    ]
    so_far.trainers[identity(args[0])] = BestSeen(
        metric=metric,
        greater=bool(chosen.get("greater_is_better")),
        greater_given=so_far.directions.get(identity(settings), True),
        arguments_at=_made_at(settings),
        series=tuple(series[:MOST_SERIES]),
        losses=tuple(losses[:MOST_SERIES]),
        loads=bool(chosen.get("load_best_model_at_end")),
    )


def _made_at(settings: Any) -> Place | None:
    return origins.made_at(settings)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, float | int) else None


@finishing.at_end
@periodic.every_few_seconds
@spool.guarded("how the best is chosen")
def write() -> None:
    if not (so_far.saves or so_far.trainers or so_far.turns):
        return
    loss = so_far.total / max(1, so_far.rows)
    going_on = [EvaluationSeen(step=noted.steps, loss=loss, calls=so_far.calls)]
    spool.saw(
        Bests(
            process=spool.process(),
            saves=tuple(so_far.saves),
            evaluations=tuple(so_far.evaluations + (going_on if so_far.calls else [])),
            trainers=tuple(so_far.trainers.values()),
            turns=so_far.turns,
            stepped_at=tuple(so_far.stepped_at),
        )
    )


@finishing.after_fork
def forget_parent() -> None:
    global so_far
    so_far = ChoicesSoFar()
