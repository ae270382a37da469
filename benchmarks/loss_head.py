"""What the loss head costs, forward and backward: all logits, gathered ones, and chunks of them.

    python benchmarks/loss_head.py [--rounds 3] [--only 256] [--supervised 0.25]

A batch of 1024 places, a quarter of them supervised (or the share given), a frozen head, fp32, one
thread. Every line is a process of its own that goes `--rounds` times there and back; the table has
the least CPU time, and the peak of resident memory above what lay there before.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SHAPES = {
    256: (151_936, "4 layers of Qwen3's kind"),
    576: (49_152, "SmolLM2-135M"),
    1024: (151_936, "Qwen3-0.6B"),
}
TOKENS = 1024
CHUNKS = (16, 32, 64, 128, 256, 512)
WAYS = (
    "all logits",
    "gathered",
    *(f"chunks of {size}" for size in CHUNKS),
    "chunks of 256, without torch's own",
)


# ---------------------------------------------------------------- in the process that measures


def measure(way: str, hidden: int, share: float, rounds: int) -> None:
    """Prints the least CPU seconds of a round, and peak megabytes."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    vocabulary = SHAPES[hidden][0]
    weight = torch.empty(vocabulary, hidden).normal_(std=0.02)
    targets = torch.randint(0, vocabulary, (TOKENS,))
    supervised = torch.randperm(TOKENS)[: int(TOKENS * share)].sort().values
    states = torch.randn(TOKENS, hidden)
    loss = loss_by(way)

    def there_and_back() -> None:
        leaf = states.clone().requires_grad_()
        loss(leaf, weight, targets, supervised).backward()

    loss(states[:2].clone().requires_grad_(), weight, targets[:2], torch.arange(2)).backward()
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    seconds = []
    for _ in range(rounds):
        began = time.process_time()
        there_and_back()
        seconds.append(time.process_time() - began)
    print(min(seconds), resident("VmHWM") - before)


def loss_by(way: str) -> Callable[..., Any]:
    import torch.nn.functional as F
    from torch import Tensor, nn

    from surefit.losses.cross_entropy import head_cross_entropy

    def all_logits(states: Tensor, weight: Tensor, targets: Tensor, chosen: Tensor) -> Tensor:
        labels = targets.new_full(targets.shape, -100)
        labels[chosen] = targets[chosen]
        return F.cross_entropy(F.linear(states, weight), labels, reduction="sum")

    def gathered(states: Tensor, weight: Tensor, targets: Tensor, chosen: Tensor) -> Tensor:
        return F.cross_entropy(F.linear(states[chosen], weight), targets[chosen], reduction="sum")

    def chunked(states: Tensor, weight: Tensor, targets: Tensor, chosen: Tensor) -> Tensor:
        return head_cross_entropy(states[chosen], weight, None, targets[chosen], chunk)

    if "without" in way:
        del nn.LinearCrossEntropyOptions
    chunk = next((int(word) for word in way.replace(",", " ").split() if word.isdigit()), 0)
    return {"all logits": all_logits, "gathered": gathered}.get(way, chunked)


def resident(name: str) -> float:
    """Megabytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith(name))


# ---------------------------------------------------------------- in the process that asks


def ask(way: str, hidden: int, share: float, rounds: int) -> tuple[float, float]:
    command = [sys.executable, __file__, "--measure", way, "--only", str(hidden)]
    command += ["--supervised", str(share), "--rounds", str(rounds)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    said = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    seconds, megabytes = map(float, said.stdout.split())
    return seconds, megabytes


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", type=int, choices=SHAPES)
    parser.add_argument("--supervised", type=float, default=0.25)
    parser.add_argument("--measure", choices=WAYS)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure, given.only, given.supervised, given.rounds)
        return
    for hidden, (vocabulary, model) in SHAPES.items():
        if given.only in (None, hidden):
            print(f"\nhidden {hidden}, vocabulary {vocabulary} ({model})")
            print(
                "\n| loss head | CPU s | peak MB | against all logits |\n| --- | --- | --- | --- |"
            )
            table(hidden, given.supervised, given.rounds)


def table(hidden: int, share: float, rounds: int) -> None:
    whole = 0.0
    for way in WAYS:
        seconds, megabytes = ask(way, hidden, share, rounds)
        whole = whole or seconds
        print(f"| {way} | {seconds:.2f} | {megabytes:.0f} | {whole / seconds:.1f}x |", flush=True)


if __name__ == "__main__":
    main()
