"""Metrics of scikit-learn that rank scores and accept anything: what they are given."""

from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.metric_calls import MetricCall, MetricCalls
from surefit.observe.inside import finishing, own_code, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.training import periodic, readable
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.unseen import around

MODULES = ("sklearn.metrics._ranking", "sklearn.metrics._classification", "sklearn.metrics")
WANTS_SCORES = {
    "roc_auc_score": ("y_score", 1),
    "average_precision_score": ("y_score", 1),
    "roc_curve": ("y_score", 1),
    "precision_recall_curve": ("probas_pred", 1),
    "log_loss": ("y_pred", 1),
    "brier_score_loss": ("y_prob", 1),
}
"""Function -> name and position of its scores. None of them objects to decisions."""
FEWEST_ROWS = 16
MOST_ROWS = 1_000_000
MOST_CALLS = 32


@dataclass(slots=True)
class CallCount:
    """See `MetricCall`."""

    step: int
    times: int = 0
    decided: int = 0
    rows: int = 0


_calls: dict[tuple[str, Place], CallCount] = {}


def metrics(module: ModuleType) -> None:
    for name in WANTS_SCORES:
        plain = vars(module).get(name)
        if type(plain) is FunctionType and plain.__module__ == module.__name__:
            setattr(module, name, around(plain, _looks(name)))


for _module in MODULES:
    after_import(_module)(metrics)


def _looks(name: str) -> Any:
    keyword, position = WANTS_SCORES[name]

    def looks(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        place = own_code.own_place()
        known = _calls.get((name, place)) if place is not None else None
        if place is None or (known is None and len(_calls) >= MOST_CALLS):
            return False
        if known is None:
            known = _calls[name, place] = CallCount(noted.steps)
        known.times += 1
        given = args[position] if len(args) > position else kwargs.get(keyword)
        values = _values(given)
        known.rows = sum(values.values())
        known.decided += known.rows >= FEWEST_ROWS and set(values) == {0.0, 1.0}
        return False

    return looks


def _values(given: Any) -> dict[float, int]:
    """Different values and how often each comes, up to three; empty for what cannot be read."""
    if type(given) in (list, tuple):
        numbers = list(given)
    elif type(given).__module__ in ("numpy", "torch") and getattr(given, "ndim", 0) == 1:
        with readable.looking():
            numbers = given.tolist() if len(given) <= MOST_ROWS else []
    else:
        return {}
    found: dict[float, int] = {}
    for number in numbers:
        if type(number) not in (int, float, bool):
            return {}
        found[float(number)] = found.get(float(number), 0) + 1
        if len(found) > 2:
            break
    return found


@finishing.at_end
@periodic.every_few_seconds
@spool.guarded("metrics of libraries")
def write() -> None:
    if _calls:
        spool.saw(
            MetricCalls(
                process=spool.process(),
                calls=tuple(
                    MetricCall(
                        function=name,
                        place=place,
                        times=known.times,
                        decided=known.decided,
                        rows=known.rows,
                        step=known.step,
                    )
                    for (name, place), known in _calls.items()
                ),
            )
        )


@finishing.after_fork
def forget_parent() -> None:
    _calls.clear()
