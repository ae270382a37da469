"""In which mode models are called, evaluate and learn."""

from dataclasses import dataclass, field
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.modes import LayerModes, ModelCalls, Modes, SteppedInMode
from surefit.observe.inside import events, finishing, own_code, spool
from surefit.observe.inside.identity import identity
from surefit.observe.inside.measuring import (
    active_dropouts,
    layer_modes,
    mode_switches,
    phases,
    running_statistics,
)
from surefit.observe.inside.measuring.phases import CallPhase
from surefit.observe.inside.training import hanging, periodic, readable
from surefit.observe.inside.training.budget import Budget
from surefit.observe.inside.training.letters import noted

MOST_LOOKS = 12
MOST_BACKWARD = 8
FIRST_BACKWARD, SECOND_BACKWARD, SELDOM = 16, 64, 256
"""Backward passes whose line is looked up; after them one of so many, up to so many lines that were
looked up; then one in so many."""
COMPARED = 256
"""Calls of a site whose input is compared with that of others."""

budget = Budget(share=0.003, opening=0.1)


@dataclass(slots=True, eq=False)
class Looks:
    """What was looked at in the calls of a site."""

    modes: list[LayerModes] = field(default_factory=list)
    switches: int = -1
    """Modes set so far, at the last look."""
    repeated: int = 0
    as_trained: int = 0
    compared: int = 0
    """Calls right after one in training whose input is known; `as_trained` are those with it."""
    drawn: int = 0
    changed: dict[str, None] = field(default_factory=dict)
    trainable: bool = True
    last_input: tuple[Any, ...] | None = None
    stepped: "Stepped | None" = None


@dataclass(slots=True, eq=False)
class Stepped:
    """Of one model, since its optimizer's last step and in all."""

    in_training: bool = False
    in_evaluation: bool = False
    training: int = 0
    evaluating: int = 0
    first_training: int | None = None
    first_evaluating: int | None = None
    held: dict[int, bool] = field(default_factory=dict)
    """Optimizer -> whether it holds a parameter of the model."""


_looks: dict[CallPhase, Looks] = {}
_stepped: dict[int, Stepped] = {}
_trained_inputs: dict[int, tuple[Any, ...]] = {}
"""Model -> the input of its last call in training."""
_backward_at: dict[tuple[int, int], Place] = {}
_backwards = [0]


@events.on(phases.called)
def called(site: CallPhase, args: Any, kwargs: Any, _result: Any) -> None:
    looks = _looks.get(site)
    if looks is None:
        looks = _looks[site] = Looks(stepped=_of(site) if site.grad and site.training else None)
    if active_dropouts.drawn[0]:
        active_dropouts.drawn[0] = 0
        looks.drawn += 1
    if looks.switches != mode_switches.count[0]:
        _look(site, looks)
    given = _input(args, kwargs) if site.calls <= COMPARED else None
    if given is not None:
        looks.repeated += (noted.steps, given) == looks.last_input
        looks.last_input = noted.steps, given
        if site.grad and (site.learned or site.training):
            _trained_inputs[site.serial] = given
        elif site.serial in _trained_inputs:
            looks.compared += 1
            looks.as_trained += given == _trained_inputs.pop(site.serial)
    if site.grad and site.training:
        (looks.stepped or _of(site)).in_training = True
    elif site.grad and site.learned:
        _of(site).in_evaluation = True


@events.on(phases.learned)
def learned(site: CallPhase) -> None:
    if not site.training:
        _of(site).in_evaluation = True


def _of(site: CallPhase) -> Stepped:
    stepped = _stepped.get(site.serial)
    if stepped is None:
        stepped = _stepped[site.serial] = Stepped()
    return stepped


def _look(site: CallPhase, looks: Looks) -> None:
    if not budget.allows() or len(looks.modes) >= MOST_LOOKS:
        return
    module = site.module()
    with budget, readable.looking():
        looks.switches = mode_switches.count[0]
        modes = layer_modes.look(module, noted.steps, site.calls - 1)
        looks.trainable = hanging.is_trainable(module)
        if not looks.modes or not _alike(looks.modes[-1], modes):
            looks.modes.append(modes)


def _alike(before: LayerModes, modes: LayerModes) -> bool:
    return (before.dropouts, before.dropouts_off, before.norms, before.norms_off) == (
        modes.dropouts,
        modes.dropouts_off,
        modes.norms,
        modes.norms_off,
    )


def _input(args: Any, kwargs: Any) -> tuple[Any, ...] | None:
    """What tells the first tensor of a call from others, without keeping it."""
    with readable.looking():
        first = next(phases.tensors(args), None)
        if first is None:
            first = next(phases.tensors(args[0] if args else kwargs), None)
        plain = readable.plain(first)
        if plain is None or plain.is_inference():
            return None
        return identity(first), plain.data_ptr(), tuple(plain.shape), plain._version


@events.on(events.step_ended)
def stepped(optimizer: Any) -> None:
    key = identity(optimizer)
    for serial, model in _stepped.items():
        if not (model.in_training or model.in_evaluation):
            continue
        held = model.held.get(key)
        if held is None:
            held = model.held[key] = _holds(optimizer, serial)
        if not held:
            continue
        if model.in_training:
            model.training += 1
            if model.first_training is None:
                model.first_training = noted.steps
        else:
            model.evaluating += 1
            if model.first_evaluating is None:
                model.first_evaluating = noted.steps
        model.in_training = model.in_evaluation = False


def _holds(optimizer: Any, serial: int) -> bool:
    roots = [site.module() for site in phases.sites.values() if site.serial == serial]
    inside = {
        identity(hung.parameter)
        for root in roots[:1]
        if root is not None
        for hung in hanging.parameters(root)
    }
    groups = vars(optimizer).get("param_groups") or ()
    return any(identity(parameter) in inside for group in groups for parameter in group["params"])


@events.on(events.backward_begun)
def backward_begun(_loss: Any) -> None:
    _backwards[0] = count = _backwards[0] + 1
    if count > FIRST_BACKWARD:
        often = count <= SECOND_BACKWARD
        events.backward_begun.rest(backward_begun, (FIRST_BACKWARD if often else SELDOM) - 1)
    frame = own_code.own_frame(depth=4)
    if frame is not None and len(_backward_at) < MOST_BACKWARD:
        _backward_at.setdefault((identity(frame.f_code), frame.f_lasti), own_code.place(frame))


@finishing.at_end
@periodic.every_few_seconds
@spool.guarded("modes of models")
def write() -> None:
    if phases.sites:
        spool.saw(measured())


def measured() -> Modes:
    return Modes(
        process=spool.process(),
        steps=noted.steps,
        calls=tuple(_calls(site) for site in phases.sites.values() if site.calls),
        switches=mode_switches.seen(),
        stepped=tuple(
            SteppedInMode(
                serial=serial,
                training=model.training,
                evaluating=model.evaluating,
                first_training=model.first_training,
                first_evaluating=model.first_evaluating,
            )
            for serial, model in _stepped.items()
        ),
        dropouts=active_dropouts.seen(),
        backward_at=tuple(_backward_at.values()),
    )


def _calls(site: CallPhase) -> ModelCalls:
    looks = _looks.get(site) or Looks()
    return ModelCalls(
        kind=site.kind,
        serial=site.serial,
        made_at=site.made_at,
        site=site.call_site,
        caller=site.caller,
        training=site.training,
        grad=site.grad,
        calls=site.calls,
        followed=site.followed,
        learned=site.learned,
        first_step=site.first_step,
        last_step=site.last_step,
        looks=tuple(looks.modes),
        repeated=looks.repeated,
        as_trained=site.calls if 2 * looks.as_trained > looks.compared else 0,
        drawn=looks.drawn,
        changed=tuple(running_statistics.changed(site)),
        trainable=looks.trainable,
    )


@finishing.after_fork
def forget_parent() -> None:
    _looks.clear()
    _stepped.clear()
    _trained_inputs.clear()
    _backward_at.clear()
    _backwards[0] = 0
