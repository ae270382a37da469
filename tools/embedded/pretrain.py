"""Trains an embedded model on generated text: start weights -> batches -> loss -> folder."""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional
from transformers import AutoModelForCausalLM, AutoTokenizer

from .muon import Muon
from .packing import PackedBatch, batches
from .start import copy_accuracy, copying_start


@dataclass(frozen=True)
class Pretraining:
    """Settings of one run; its length is given in steps or, roughly, in minutes."""

    tokenizer: Path
    out: Path
    start: Path | None = None
    """A folder to go on from; without it, the copying start."""
    steps: int | None = None
    minutes: float = 15.0
    rows: int = 12
    matrix_rate: float = 0.015
    other_rate: float = 0.004
    warm_up: int = 60
    flat: float = 0.5
    """Share of the run after which the learning rate falls to zero; 1: never."""
    seed: int = 1
    threads: int = 2
    compiled: bool = False
    save_every: int = 250


def pretrain(settings: Pretraining) -> None:
    torch.set_num_threads(settings.threads)
    torch.manual_seed(settings.seed)
    tokenizer = AutoTokenizer.from_pretrained(settings.tokenizer)
    model: Any = (
        AutoModelForCausalLM.from_pretrained(settings.start, dtype=torch.float32)
        if settings.start
        else copying_start(settings.seed)
    )
    balance: float = getattr(model.config, "router_aux_loss_coef", 0.0)
    optimizers = _optimizers(model, settings)
    state_file = settings.out / "state.pt"
    step, tokens, spent = 0, 0, 0.0
    if state_file.exists():
        state = torch.load(state_file)
        model.load_state_dict(state["model"])
        for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        step, tokens, spent = state["step"], state["tokens"], state["spent"]

    def save() -> None:
        settings.out.mkdir(parents=True, exist_ok=True)
        beside = state_file.with_suffix(".new")
        torch.save(
            {
                "model": model.state_dict(),
                "optimizers": [optimizer.state_dict() for optimizer in optimizers],
                "step": step,
                "tokens": tokens,
                "spent": spent,
            },
            beside,
        )
        beside.replace(state_file)

    settings.out.mkdir(parents=True, exist_ok=True)
    log = (settings.out / "log.jsonl").open("a", buffering=1)
    forward = torch.compile(model) if settings.compiled else model
    began, cpu_began = time.monotonic() - spent, time.process_time()
    losses: list[float] = []
    for batch in batches(tokenizer, settings.rows, settings.seed * 1_000_003 + step):
        spent = time.monotonic() - began
        done = step / settings.steps if settings.steps else spent / (60 * settings.minutes)
        if done >= 1:
            break
        _set_rates(optimizers, step, done, settings)
        loss = _loss(forward, batch, balance)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        step += 1
        tokens += int((batch.tokens != 0).sum())
        losses.append(loss.item())
        if step % 50 == 0:
            figures = {
                "step": step,
                "tokens": tokens,
                "loss": round(sum(losses) / len(losses), 4),
                "seconds": round(spent),
                "cpu_seconds": round(time.process_time() - cpu_began),
                "done": round(done, 3),
            }
            log.write(json.dumps(figures) + "\n")
            losses.clear()
        if step % settings.save_every == 0:
            save()
    save()
    model.save_pretrained(settings.out)
    tokenizer.save_pretrained(settings.out)
    log.write(json.dumps({"copies": copy_accuracy(model), "steps": step, "tokens": tokens}) + "\n")
    log.close()


def _optimizers(model: Any, settings: Pretraining) -> list[torch.optim.Optimizer]:
    matrices = [
        weight
        for name, weight in model.named_parameters()
        if name.endswith(("proj.weight", "experts.gate_up_proj", "experts.down_proj"))
    ]
    known = {id(weight) for weight in matrices}
    others = [weight for weight in model.parameters() if id(weight) not in known]
    return [
        Muon(matrices, lr=settings.matrix_rate),
        torch.optim.AdamW(others, lr=settings.other_rate, betas=(0.9, 0.95), weight_decay=0.0),
    ]


def _set_rates(
    optimizers: list[torch.optim.Optimizer], step: int, done: float, settings: Pretraining
) -> None:
    falling = (1 - done) / (1 - settings.flat) if settings.flat < 1 else 1.0
    share = min(1.0, (step + 1) / settings.warm_up, falling)
    rates = (settings.matrix_rate, settings.other_rate)
    for optimizer, rate in zip(optimizers, rates, strict=True):
        optimizer.param_groups[0]["lr"] = rate * share


def _loss(model: Callable[..., Any], batch: PackedBatch, balance: float) -> torch.Tensor:
    """The mean over weighted places; of a mixture of experts also how evenly they are used."""
    told = model(input_ids=batch.tokens, use_cache=False, output_router_logits=balance > 0)
    logits = told.logits[:, :-1]
    each = functional.cross_entropy(
        logits.flatten(0, 1), batch.tokens[:, 1:].flatten(), reduction="none"
    )
    weights = batch.weights[:, 1:].flatten()
    mean = (each * weights).sum() / weights.sum()
    return mean + balance * told.aux_loss if balance else mean


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--flat", type=float, default=0.5)
    pretrain(Pretraining(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
