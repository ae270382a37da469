"""Estimates of a step's memory against the peak that the process really reaches.

    python -m benchmarks.memory [NAME ...]

Each case is a process of its own: a small model first, so that libraries are loaded and their
kernels made; then the growth of resident memory from before the model is loaded to the highest
point of three real steps, as Linux has it (`VmHWM`). `forecast` is made from a part of the batch
before the batch is tried, `estimate` from one pass on it. On a GPU the measure would be
`torch.cuda.max_memory_allocated`, which the estimate there is read from.
"""

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
STEPS = 3
KEEPS = "KEEP_FREED_MEMORY"
"""Set it for the peak of a run with memory to spare, in which glibc keeps what was freed."""


@dataclass(frozen=True, slots=True)
class Case:
    """A model, how it is trained, and its longest batch."""

    model: str
    rows: int = 4
    tokens: int = 256
    full: bool = False
    precision: str = "fp32"
    checkpointing: bool = False
    packed: bool = False

    @property
    def words(self) -> str:
        shape = f"{self.rows * self.tokens} packed" if self.packed else f"{self.rows}x{self.tokens}"
        extra = ", checkpointing" if self.checkpointing else ""
        return f"{'full' if self.full else 'LoRA'} {self.precision} {shape}{extra}"


@dataclass(frozen=True, slots=True)
class Figures:
    """Bytes."""

    forecast: int
    estimate: int
    measured: int


CASES = {
    "qwen3-4x256": Case("qwen3-4x256"),
    "qwen3-4x256-full": Case("qwen3-4x256", full=True),
    "gpt2": Case("gpt2"),
    "gpt2-bf16": Case("gpt2", precision="bf16"),
    "smollm2": Case("smollm2"),
    "smollm2-packed": Case("smollm2", packed=True),
    "qwen3-0.6b": Case("qwen3-0.6b", rows=2, tokens=128),
    "qwen3-0.6b-checkpointing": Case("qwen3-0.6b", rows=2, tokens=128, checkpointing=True),
}


def qwen3(**sizes: Any) -> Any:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    return Qwen3ForCausalLM(Qwen3Config(tie_word_embeddings=True, **sizes))


def tiny() -> Any:
    return qwen3(
        vocab_size=1000,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
    )


def four_layers() -> Any:
    return qwen3(
        vocab_size=151_936,
        hidden_size=256,
        intermediate_size=1024,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
    )


def qwen3_small() -> Any:
    return qwen3(
        vocab_size=151_936,
        hidden_size=1024,
        intermediate_size=3072,
        num_hidden_layers=28,
        num_attention_heads=16,
        num_key_value_heads=8,
        head_dim=128,
    )


def gpt2() -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config())


def smollm2() -> Any:
    from surefit.models.load import find_model, load_model

    return load_model(find_model("smollm2"))


MODELS: dict[str, Callable[[], Any]] = {
    "tiny": tiny,
    "qwen3-4x256": four_layers,
    "gpt2": gpt2,
    "smollm2": smollm2,
    "qwen3-0.6b": qwen3_small,
}


def trainable(case: Case) -> Any:
    import torch

    from surefit.models.load import held_in
    from surefit.models.lora import add_lora

    torch.manual_seed(0)
    model = MODELS[case.model]().to(held_in(case.precision, full=case.full))
    if case.checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    return (model if case.full else add_lora(model, 16, None, 0.0, ("all-linear",))).train()


def longest(case: Case) -> dict[str, Any]:
    """Random ids; the last third of each row is supervised."""
    import torch

    from surefit.data.batches import PadRows
    from surefit.data.packing import PackRows
    from surefit.data.tokens import IGNORED

    ids = torch.randint(2, 900, (case.rows, case.tokens)).numpy()
    answer = case.tokens * 2 // 3
    rows = [{"input_ids": row, "labels": [IGNORED] * answer + row[answer:].tolist()} for row in ids]
    return PackRows()(rows) if case.packed else PadRows(pad_id=0)(rows)


def train(case: Case) -> Figures:
    """Preflight and a few steps as the recipe makes them."""
    import torch

    from surefit.losses.next_token import NextTokenLoss
    from surefit.losses.places import supervised_places
    from surefit.train.device import make_accelerator
    from surefit.train.preflight import memory_forecast, preflight
    from surefit.train.ranks import ranks_of
    from surefit.train.step import forward_backward

    before = resident("VmRSS")
    accelerator = make_accelerator(case.precision)
    model, batch = trainable(case), longest(case)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    loss_of, stepper = accelerator.prepare(NextTokenLoss(model), optimizer)
    forecast = memory_forecast(loss_of, batch)
    _, estimate = preflight(loss_of, batch)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the highest point so far is forgotten
    places = supervised_places(batch["labels"])
    for _ in range(STEPS):
        forward_backward(accelerator, ranks_of(accelerator), loss_of, [batch], places, 1.0)
        stepper.step()
        stepper.zero_grad()
    return Figures(forecast.total, estimate.total, resident("VmHWM") - before)


def resident(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def in_a_process(name: str) -> Figures:
    call = [sys.executable, "-m", "benchmarks.memory", "--alone", name]
    said = subprocess.run(call, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    return Figures(**json.loads(said.splitlines()[-1]))


def alone(name: str) -> None:
    from surefit.train.allocator import give_back_freed_memory

    if not os.environ.get(KEEPS):
        give_back_freed_memory()  # as preflight does where memory is short
    case = CASES[name]
    train(replace(case, model="tiny", rows=1, tokens=16))
    print(json.dumps(asdict(train(case))))


def main(names: list[str]) -> None:
    print(f"{'model':<14}{'training':<34}{'forecast':>10}{'estimate':>10}{'measured':>10}  ratios")
    for name in names or CASES:
        case, found = CASES[name], in_a_process(name)
        bytes_ = (found.forecast, found.estimate, found.measured)
        shown = "".join(f"{count / 1e6:>7.0f} MB" for count in bytes_)
        ratios = f"{found.forecast / found.measured:.2f} {found.estimate / found.measured:.2f}"
        print(f"{case.model:<14}{case.words:<34}{shown}  {ratios}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--alone"]:
        alone(sys.argv[2])
    else:
        main(sys.argv[1:])
