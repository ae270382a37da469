"""Modules with an attribute `requires_grad` of their own: setting it changes no parameter."""

import sys
from typing import Any

from surefit.doctor.measures.gradient_flags import FlaggedModule, GradientFlags
from surefit.observe.inside import events, finishing, origins, spool
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import periodic
from surefit.observe.inside.training.letters import noted

MOST = 16
_looked = 0


@finishing.at_end
@periodic.every_few_seconds
@guarded("flags of modules")
def write() -> None:
    """Also after the first step: a model that is local to a function is gone at the end."""
    global _looked
    library = sys.modules.get("torch.nn.modules.module")
    if library is None or not noted.steps:
        return
    modules = list(origins.alive(vars(library)["Module"]))
    if len(modules) < _looked:
        return
    _looked = len(modules)
    flagged = [module for module in modules if type(vars(module).get("requires_grad")) is bool]
    found = tuple(_flagged(module) for module in flagged[:MOST])
    spool.saw(GradientFlags(process=spool.process(), modules=len(modules), flagged=found))


@events.on(events.step_ended)
def after_a_step(_optimizer: Any) -> None:
    write()
    events.step_ended.rest(after_a_step)


@finishing.after_fork
def forget_parent() -> None:
    global _looked
    _looked = 0


def _flagged(module: Any) -> FlaggedModule:
    flag = vars(module)["requires_grad"]
    parameters = [parameter.requires_grad for parameter in module.parameters()]
    return FlaggedModule(
        kind=type(module).__name__,
        flag=flag,
        parameters=len(parameters),
        otherwise=sum(value is not flag for value in parameters),
    )
