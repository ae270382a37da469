"""Tries on this device what a training relies on: views, the gradient scaler, precision, losses."""

import math
from collections.abc import Callable, Iterator

import torch
from accelerate import Accelerator
from torch import nn

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal

from .device import make_accelerator
from .self_test_losses import (
    cross_entropy_in_chunks,
    distillation_in_chunks,
    divergence_of_itself,
)
from .tried import PRECISIONS, Tried, drawn, exact

NOT_HELD = refusal(
    "SF079", "self-test-failed", "Something that a training relies on does not hold here."
)

LEARNING_RATE = 5e-6
"""A usual one of distillation, and below what most weights in a half precision can follow."""

LEAST_MOVED = 0.99
WIDTH = 16

Try = Callable[[torch.device], Iterator[Tried]]


def self_test() -> Iterator[Tried]:
    """Each as it is done; what raises an error has not held, and the error is what was measured."""
    device = make_accelerator("fp32").device
    for one in TRIES:
        try:
            yield from one(device)
        except Exception as error:  # noqa: BLE001 - that it fails, in whatever way, is the answer
            said = (str(error).strip().splitlines() or [""])[0]
            name = one.__name__.replace("_", " ")
            yield Tried(name, f"{type(error).__name__}: {said}", "it must not fail", held=False)


def finding(tried: Tried) -> Finding:
    return NOT_HELD.finding(
        Place("environment"),
        f"{tried.name[0].upper()}{tried.name[1:]}: {tried.measured}, but expected: {tried.bound}.",
        facts=[Fact("torch", str(torch.__version__))],
        why="Training on this device would compute wrong results.",
        fixes=[Fix("Try another torch version; `surefit env` shows what works here.")],
    )


def views_of_slices(device: torch.device) -> Iterator[Tried]:
    """What every loss does to labels before it compares them with logits."""
    works = {}
    for rows in (1, 2):
        labels = torch.arange(rows * 9, device=device).reshape(rows, 9)
        try:
            labels[:, 1:].view(-1)
            works[rows] = "works"
        except RuntimeError:
            works[rows] = "fails"
    yield Tried(
        "view of labels[:, 1:]",
        f"{works[1]} for 1 row, {works[2]} for 2",
        "works for 1, fails for 2",
        works == {1: "works", 2: "fails"},
    )
    for name, dtype in PRECISIONS.items():
        logits = drawn(4, 9, 33, seed=0).to(device, dtype)
        one = logits[:, :-1].reshape(-1, 33)
        other = logits[:, :-1].contiguous().view(-1, 33)
        differ = int((one != other).sum())
        expected = torch.cat([row[:-1] for row in logits])
        differ += int((one != expected).sum())
        yield Tried(
            f"reshape of a slice = contiguous().view, {name}",
            f"{differ} of {one.numel():,} values differ",
            "at most 0",
            differ == 0 and one.shape == expected.shape,
        )


class Scaled:
    """A layer whose gradients go through the scaler that a run in fp16 has on this device."""

    def __init__(self) -> None:
        self.accelerator: Accelerator = make_accelerator("fp16")
        layer = nn.Linear(WIDTH, WIDTH)
        with torch.no_grad():
            layer.weight.copy_(drawn(WIDTH, WIDTH, seed=1, scale=0.1))
            layer.bias.zero_()
        layer.to(self.accelerator.device)
        optimizer = torch.optim.AdamW(layer.parameters(), lr=1e-3, weight_decay=0.0)
        self.layer, self.stepper = self.accelerator.prepare(layer, optimizer)
        self.given = drawn(8, WIDTH, seed=2).to(self.accelerator.device)

    @property
    def scale(self) -> float:
        assert self.accelerator.scaler is not None
        return float(self.accelerator.scaler.get_scale())

    def loss(self) -> torch.Tensor:
        loss: torch.Tensor = self.layer(self.given).square().mean()
        return loss

    def gradients(self) -> torch.Tensor:
        return torch.cat([exact(one.grad).flatten() for one in self.layer.parameters()])

    def weights(self) -> torch.Tensor:
        return torch.cat([exact(one).flatten() for one in self.layer.parameters()])


def gradient_scaler(_device: torch.device) -> Iterator[Tried]:
    run = Scaled()
    run.loss().backward()
    plain = run.gradients()
    run.stepper.zero_grad()
    run.accelerator.backward(run.loss())
    scaled, scale = run.gradients(), run.scale
    times = float(scaled.norm() / plain.norm())
    yield Tried(
        "the scaler multiplies gradients",
        f"{times:.1f} times as long, its scale is {scale:g}",
        "equal to 0.1 %, and above 1",
        scale > 1 and math.isclose(times, scale, rel_tol=1e-3),
    )
    run.accelerator.clip_grad_norm_(run.layer.parameters(), math.inf)
    apart = float((run.gradients() - plain).norm() / plain.norm())
    yield Tried(
        "unscaled gradients = those without a scaler",
        f"relative difference {apart:.1e}",
        "at most 0.001",
        apart <= 1e-3,
    )
    yield _after_step("a finite step is taken", run, skipped=False)
    run.stepper.zero_grad()
    # Finite in fp32, as a loss is; its gradients are not finite in fp16.
    run.accelerator.backward(run.loss() * 1e30)
    run.accelerator.clip_grad_norm_(run.layer.parameters(), 1.0)
    yield _after_step("a step that overflows is skipped", run, skipped=True)


def _after_step(name: str, run: Scaled, *, skipped: bool) -> Tried:
    """An overflow moves nothing, halves the scale and is counted; a finite step does neither."""
    before, scale = run.weights(), run.scale
    run.stepper.step()
    moved = int((run.weights() != before).sum())
    counted = run.accelerator.optimizer_step_was_skipped
    told = "counted as skipped" if counted else "not counted as skipped"
    held = counted == skipped and (moved == 0) == skipped
    return Tried(
        name,
        f"{moved} of {len(before)} weights moved, scale {scale:g} -> {run.scale:g}, {told}",
        "none, half of it, counted" if skipped else "some, the same, not counted",
        held and run.scale == (scale / 2 if skipped else scale),
    )


def autocast(device: torch.device) -> Iterator[Tried]:
    """By how far a product is off, a precision shows: fp32 under another name is too exact."""
    one, other = drawn(64, 256, seed=3).to(device), drawn(256, 64, seed=4).to(device)
    true = exact(one) @ exact(other)
    for name in ("bf16", "fp16"):
        dtype = PRECISIONS[name]
        with make_accelerator(name).autocast():
            product = one @ other
        off = float((exact(product) - true).norm() / true.norm())
        least, most = torch.finfo(dtype).eps / 100, torch.finfo(dtype).eps * 2
        kind = str(product.dtype).removeprefix("torch.")
        yield Tried(
            f"autocast computes in {name}",
            f"a product is {kind}, off by {off:.1e}",
            f"from {least:.0e} to {most:.0e}",
            product.dtype == dtype and least <= off <= most,
        )


def weights_move(device: torch.device) -> Iterator[Tried]:
    """One step of AdamW as a run takes it, and the same step on weights held in that precision."""
    for name in ("bf16", "fp16"):
        accelerator = make_accelerator(name)
        layer = nn.Linear(64, 64, bias=False)
        with torch.no_grad():
            layer.weight.copy_(drawn(64, 64, seed=5, scale=0.05))
        layer.to(device)
        optimizer = torch.optim.AdamW(layer.parameters(), lr=LEARNING_RATE, weight_decay=0.0)
        trained, stepper = accelerator.prepare(layer, optimizer)
        before = trained.weight.detach().clone()
        accelerator.backward(trained(drawn(32, 64, seed=6).to(device)).square().mean())
        stepper.step()
        step = trained.weight.detach() - before
        moved = float((step != 0).float().mean())
        held = before.to(PRECISIONS[name])
        would = float((held + step.to(held.dtype) != held).float().mean())
        kind = str(trained.weight.dtype).removeprefix("torch.")
        yield Tried(
            f"weights move at {LEARNING_RATE:g} in a run in {name}",
            f"{moved:.1%} of {kind} weights; held in {name} {would:.1%} would",
            f"at least {LEAST_MOVED:.0%}, and more than in {name}",
            moved >= LEAST_MOVED and moved > would,
        )


TRIES: tuple[Try, ...] = (
    views_of_slices,
    gradient_scaler,
    autocast,
    weights_move,
    cross_entropy_in_chunks,
    distillation_in_chunks,
    divergence_of_itself,
)
