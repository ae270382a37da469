"""Running statistics of a copy that is evaluated, beside those of the model that learns."""

from collections.abc import Iterator
from typing import Any

from surefit.doctor.measures.copied_statistics import CopiedStatistics, StatisticsOfCopy
from surefit.observe.inside import events, finishing, spool
from surefit.observe.inside.measuring import layer_modes, phases
from surefit.observe.inside.measuring.phases import CallPhase
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import periodic, readable
from surefit.observe.inside.training.letters import noted

MOST_LOOKS = 32
"""At calls in evaluation mode."""
FEWEST_STEPS = 2


class CopyLooks:
    """Models that were looked at, and what was measured."""

    def __init__(self) -> None:
        self.looks = 0
        self.known: dict[int, StatisticsOfCopy | None] = {}
        self.changed = False


seen = CopyLooks()


@events.on(phases.idle_called)
def called(site: CallPhase, _args: Any, _kwargs: Any, _result: Any) -> None:
    if site.training or site.serial in seen.known or noted.steps < FEWEST_STEPS:
        return
    if seen.looks >= MOST_LOOKS:
        phases.idle_called.rest(called)
        return
    seen.looks += 1
    with readable.looking():
        _look(site)


def _look(site: CallPhase) -> None:
    learners = [other for other in phases.sites.values() if other.learned]
    module = site.module()
    if module is None or not learners:
        return
    if any(other.serial == site.serial for other in learners):
        seen.known[site.serial] = None
        return
    norms = list(_norms(module))
    if not norms:
        seen.known[site.serial] = None
        return
    shapes = [tuple(norm["running_mean"].shape) for norm in norms]
    for other in learners:
        root = other.module()
        theirs = list(_norms(root)) if root is not None else []
        if shapes == [tuple(norm["running_mean"].shape) for norm in theirs]:
            moved = [norm for norm in theirs if not _is_initial(norm)]
            if moved:
                seen.known[site.serial] = _measured(site, norms, other, moved)
                seen.changed = True
                return


def _measured(
    site: CallPhase, norms: list[dict[str, Any]], learner: CallPhase, moved: list[dict[str, Any]]
) -> StatisticsOfCopy:
    return StatisticsOfCopy(
        kind=site.kind,
        serial=site.serial,
        made_at=site.made_at,
        site=site.call_site,
        step=noted.steps,
        norms=len(norms),
        initial=sum(map(_is_initial, norms)),
        learner=learner.kind,
        batches=max(map(_batches, moved)),
    )


def _norms(root: Any) -> Iterator[dict[str, Any]]:
    """Buffers of batch norms with running statistics."""
    kind = readable.torch().nn.modules.batchnorm._BatchNorm
    for _, module, _ in layer_modes.walk(root):
        buffers = vars(module).get("_buffers") or {}
        plain = [readable.plain(buffers.get(name)) for name in ("running_mean", "running_var")]
        if kind in type(module).__mro__ and all(tensor is not None for tensor in plain):
            yield buffers


def _is_initial(norm: dict[str, Any]) -> bool:
    mean, variance = norm["running_mean"], norm["running_var"]
    return not bool(mean.any()) and bool((variance == 1).all())


def _batches(norm: dict[str, Any]) -> int:
    count = norm.get("num_batches_tracked")
    return int(count) if count is not None else 0


@finishing.at_end
@periodic.every_few_seconds
@guarded("statistics of copies")
def write() -> None:
    if seen.changed:
        seen.changed = False
        copies = tuple(copy for copy in seen.known.values() if copy is not None)
        spool.saw(CopiedStatistics(process=spool.process(), copies=copies))


@finishing.after_fork
def forget_parent() -> None:
    seen.__init__()  # type: ignore[misc]
