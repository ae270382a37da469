"""The doctor where people already train: around a loop, as a callback, and before the first step.

with surefit.watch(model, optimizer):
    for batch in loader: ...

Trainer(..., callbacks=[surefit.Watch()])          # Hugging Face, and Lightning

surefit.check(model, loader, loss, optimizer)      # a few steps, undone again
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from copy import deepcopy
from types import TracebackType
from typing import Any, Self

from surefit.doctor.diagnose import AnswerQuestions, diagnose
from surefit.doctor.findings import Finding, Severity
from surefit.doctor.kernel_places import by_cell_names
from surefit.doctor.recording import Recording
from surefit.doctor.untried import untried
from surefit.errors import SurefitError
from surefit.laws.runs import LawState, states
from surefit.observe.in_process import InProcess
from surefit.render import console, html, terminal

INSIDE = "observed in your own process; `surefit run SCRIPT` tests fixes on a copy"
CHECK_STEPS = 3


class StoppedByFinding(SurefitError):  # noqa: N818 - it reads as what it is
    """Training was stopped because of a finding: see `watch(stop_on=...)`."""


class Findings(tuple[Finding, ...]):
    """Findings, which a notebook shows as they are read."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return html.findings_html(self)


def untried_findings(recording: Recording, answer: AnswerQuestions | None = None) -> Findings:
    """What is wrong in a recording of this process, in which nothing is tried."""
    diagnosis = diagnose(recording, answer)
    return Findings(
        by_cell_names(untried(finding, recording, INSIDE)) for finding in diagnosis.findings
    )


class watch:  # noqa: N801 - used as `with surefit.watch(...):`, like torch.no_grad
    """Watches training in this process and prints the findings when the block ends.

    `findings` holds the findings and `laws` the laws that were measured, and on how much. All
    training in the block is watched, so `model` and `optimizer` are optional.
    """

    def __init__(
        self,
        model: Any = None,  # noqa: ARG002
        optimizer: Any = None,  # noqa: ARG002
        *,
        stop_on: Severity | str | None = None,
        quiet: bool = False,
    ) -> None:
        self.stop_on = Severity(stop_on) if stop_on is not None else None
        self.quiet = quiet
        self.findings = Findings()
        self.laws: tuple[LawState, ...] = ()
        self.process = InProcess()

    def __enter__(self) -> Self:
        self.process.begin()
        return self

    def look(self) -> Findings:
        """What can be said by now; new findings are printed. Raises where `stop_on` says so."""
        if self.process.is_watching:
            self.conclude(self.process.recording())
        self.stop_if_wanted()
        return self.findings

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.process.is_watching:
            self.conclude(self.process.end())
        if error is None:
            self.stop_if_wanted()

    def conclude(self, recording: Recording) -> None:
        findings = untried_findings(recording)
        known = {(finding.rule, finding.place) for finding in self.findings}
        fresh = [finding for finding in findings if (finding.rule, finding.place) not in known]
        self.findings, self.laws = findings, tuple(states(recording))
        if fresh and not self.quiet:
            terminal.show(fresh, console.errors)

    def _repr_html_(self) -> str:
        return html.findings_html(self.findings)

    def stop_if_wanted(self) -> None:
        grave = list(Severity)
        limit = grave.index(self.stop_on) if self.stop_on is not None else -1
        stopping = [entry for entry in self.findings if grave.index(entry.severity) <= limit]
        if stopping:
            raise StoppedByFinding(*stopping)


def check(
    model: Any,
    loader: Iterable[Any],
    loss: Callable[[Any, Any], Any] | None = None,
    optimizer: Any = None,
    *,
    steps: int = CHECK_STEPS,
    quiet: bool = False,
) -> Findings:
    """Trains a few steps on the first batches, measures the laws, and restores everything.

    A batch is a pair (inputs, targets), for `loss(model(inputs), targets)`, or a mapping, for
    `model(**batch)`. Without `loss` the model must return its own. Weights, buffers, optimizer
    state, modes, gradients and random streams are restored.
    """
    with ExitStack() as undo, watch(model, optimizer, quiet=quiet) as watched:
        undo.callback(restorer(model, optimizer))
        model.train()
        for number, batch in enumerate(loader):
            if number == steps:
                break
            if optimizer is not None:
                optimizer.zero_grad()
            loss_of(model, batch, loss).backward()
            if optimizer is not None:
                optimizer.step()
    return watched.findings


def loss_of(model: Any, batch: Any, loss: Callable[[Any, Any], Any] | None) -> Any:
    if isinstance(batch, Mapping):
        outputs = model(**batch)
        return loss(outputs, batch) if loss is not None else own_loss(outputs)
    if isinstance(batch, Sequence) and len(batch) == 2:
        inputs, targets = batch
        outputs = model(inputs)
        return loss(outputs, targets) if loss is not None else own_loss(outputs)
    raise TypeError(
        "surefit.check takes batches that are a pair (inputs, targets) or a mapping; this one is"
        f" {type(batch).__name__}"
    )


def own_loss(outputs: Any) -> Any:
    own = getattr(outputs, "loss", None)
    if own is None:
        raise TypeError("the model returns no loss: pass `loss=` to surefit.check")
    return own


def restorer(model: Any, optimizer: Any) -> Callable[[], None]:
    """Puts everything back that a few steps change."""
    import random

    import torch

    tensors = [*model.parameters(), *model.buffers()]
    values = [tensor.detach().clone() for tensor in tensors]
    gradients = [tensor.grad for tensor in tensors]
    modes = [(module, module.training) for module in model.modules()]
    state = deepcopy(optimizer.state_dict()) if optimizer is not None else None
    streams = random.getstate(), torch.get_rng_state()
    for tensor in tensors:
        tensor.grad = None

    def restore() -> None:
        with torch.no_grad():
            for tensor, value, gradient in zip(tensors, values, gradients, strict=True):
                tensor.copy_(value)
                tensor.grad = gradient
        for module, training in modes:
            module.training = training
        if optimizer is not None:
            optimizer.load_state_dict(state)
        random.setstate(streams[0])
        torch.set_rng_state(streams[1])

    return restore
