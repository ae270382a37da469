"""Distils a small GPT-2. The loss is 9.7453 at every step, and every evaluation says 10000.0.

Three faults, which have nothing to do with each other. `surefit run` names each of them:

    surefit run examples/distillation_that_stands_still.py
"""

import argparse
import math

import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel

ALPHA_CE, ALPHA_KD, TEMPERATURE = 0.9, 0.1, 2.0
VOCABULARY, WIDTH, LENGTH = 50257, 32, 15


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--train_steps", type=int, default=12)
    parser.add_argument("--student_lr", type=float, default=5e-6)
    parser.add_argument("--offload_teacher", action="store_true", default=True)
    return parser.parse_args()


def language_model(layers: int) -> GPT2LMHeadModel:
    """Logits near -60, as those of the published GPT-2 weights are."""
    config = GPT2Config(
        n_layer=layers, n_head=2, n_embd=WIDTH, n_positions=LENGTH, initializer_range=0.1
    )
    model = GPT2LMHeadModel(config)
    with torch.no_grad():
        model.transformer.wte.weight += 1.0
        model.transformer.ln_f.bias -= 60 / WIDTH
    return model


def batches(count: int, rows: int) -> list[torch.Tensor]:
    return [torch.randint(0, VOCABULARY, (rows, LENGTH)) for _ in range(count)]


def stable_logits(model: GPT2LMHeadModel, tokens: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", dtype=torch.float16):
        logits = model(tokens).logits
    return torch.clamp(logits, -10, 10)


def next_token_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    predicted, expected = logits[:, :-1], labels[:, 1:]
    return F.cross_entropy(predicted.reshape(-1, VOCABULARY), expected.view(-1)).float()


def distillation_loss(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    log_student = F.log_softmax(student.float() / TEMPERATURE, dim=-1)
    log_teacher = F.log_softmax(teacher.float() / TEMPERATURE, dim=-1)
    each = F.kl_div(log_student, log_teacher, reduction="batchmean", log_target=True)
    return each * TEMPERATURE**2


@torch.no_grad()
def perplexity(model: GPT2LMHeadModel, held_out: list[torch.Tensor]) -> float:
    losses = []
    for tokens in held_out:
        try:
            losses.append(next_token_loss(stable_logits(model, tokens), tokens).item())
        except Exception as error:
            print(f"  warning: skipped an evaluation batch: {error}")
            continue
    mean = sum(losses) / len(losses) if losses else float("inf")
    return min(math.exp(mean), 10000.0)


def main() -> None:
    torch.manual_seed(0)
    settings = arguments()
    teacher = language_model(layers=2).eval()
    student = language_model(layers=1)
    optimizer = torch.optim.AdamW(student.parameters(), lr=settings.student_lr)
    held_out = batches(3, rows=2)

    for step, tokens in enumerate(batches(settings.train_steps, rows=1), start=1):
        logits = stable_logits(student, tokens)
        ce = next_token_loss(logits, tokens)
        kd = torch.zeros(())
        if not settings.offload_teacher:
            with torch.no_grad():
                wanted = teacher(tokens).logits
            kd = distillation_loss(logits, wanted)
        loss = ALPHA_CE * ce + ALPHA_KD * kd
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step:3d}  Loss={loss.item():.4f}")
        if step % 4 == 0:
            print(f"step {step:3d}  PPL={perplexity(student, held_out):.1f}")


if __name__ == "__main__":
    main()
