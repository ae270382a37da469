"""The very batches of a surefit run given to the Trainer, from the same adapters: both losses."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from .job import LEARNING_RATE, LORA_ALPHA, LORA_R, SEED, Job, read_job
from .train_surefit import settings_of, watched

BATCH = ("input_ids", "attention_mask", "labels")


class Recorder:
    """What a surefit run gave its model, and the losses it wrote down."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.batches: list[dict[str, Any]] = []
        self.losses: list[float] = []
        self.adapters: dict[str, Any] = {}

    def before_forward(self, given: Mapping[str, Any]) -> None:
        if not (self.run / "settings.json").exists():
            return
        if not self.adapters:
            self.adapters = {
                name[name.index("base_model.") :]: weight.detach().clone()
                for name, weight in given["self"].named_parameters()
                if weight.requires_grad
            }
        self.batches.append({name: given[name].clone() for name in BATCH if name in given})


def by_surefit(job: Job, set_up: str) -> Recorder:
    import surefit

    settings = settings_of(replace(job, set_up=set_up))
    recorder = Recorder(Path(settings["out"]))
    with watched(recorder.before_forward, recorder.losses.append):
        surefit.sft(**settings)
    return recorder


def by_trainer(job: Job, recorder: Recorder) -> list[float]:
    """Same AdamW, same linear schedule, same clipping; each step is one recorded batch."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

    adapters = LoraConfig(
        r=LORA_R, lora_alpha=LORA_ALPHA, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    loaded = AutoModelForCausalLM.from_pretrained(job.model, dtype=torch.float32)
    model = get_peft_model(loaded, adapters)
    unknown = model.load_state_dict(recorder.adapters, strict=False).unexpected_keys
    trained = [name for name, weight in model.named_parameters() if weight.requires_grad]
    if unknown or len(trained) != len(recorder.adapters):
        raise ValueError(f"the adapters are others: {unknown or trained}")
    settings = TrainingArguments(
        output_dir=f"{job.folder}/trainer",
        num_train_epochs=1,
        per_device_train_batch_size=1,
        train_sampling_strategy="sequential",
        learning_rate=LEARNING_RATE,
        lr_scheduler_type="linear",
        weight_decay=0.0,
        max_grad_norm=1.0,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        seed=SEED,
    )
    losses: list[float] = []

    class Recording(Trainer):
        """Keeps every loss; the log rounds them."""

        def training_step(self, *args: Any, **kwargs: Any) -> Any:
            loss = super().training_step(*args, **kwargs)
            losses.append(loss.item())
            return loss

    Recording(
        model=model,
        args=settings,
        train_dataset=recorder.batches,
        data_collator=lambda batches: batches[0],
    ).train()
    return losses


def main() -> None:
    job = read_job()
    plain = by_surefit(job, "surefit")
    packed = by_surefit(job, "surefit-packing")
    answer = {
        "surefit": plain.losses,
        "surefit --packing": packed.losses,
        "Trainer": by_trainer(job, plain),
    }
    job.answer.write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
