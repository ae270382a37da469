"""TRL's SFTTrainer as it comes, and packed, counted."""

from typing import Any

from .job import (
    BATCH_SIZE,
    LEARNING_RATE,
    LORA_ALPHA,
    LORA_R,
    MAX_TOKENS,
    PROMPT,
    SEED,
    read_job,
)
from .meter import Meter
from .watch import watch_trainer


def prompt_and_completion(row: dict[str, str]) -> dict[str, str]:
    return {"prompt": PROMPT.format(input=row["input"]), "completion": f" {row['target']}"}


def main() -> None:
    job = read_job()
    import torch
    from datasets import load_dataset
    from peft import LoraConfig
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl.trainer.sft_config import SFTConfig
    from trl.trainer.sft_trainer import SFTTrainer

    tokenizer: Any = AutoTokenizer.from_pretrained(job.model)
    meter = Meter(job.pad_id)
    watch_trainer(meter)
    rows = load_dataset("json", data_files=job.rows, split="train")
    packed, bf16 = job.set_up == "trl-packed", job.set_up == "trl-bf16"
    settings = SFTConfig(
        output_dir=f"{job.folder}/run",
        num_train_epochs=1,
        per_device_train_batch_size=1 if packed else BATCH_SIZE,
        packing=packed,
        max_length=MAX_TOKENS,
        learning_rate=LEARNING_RATE,
        bf16=bf16,
        # surefit and the plain Trainer have none either; with it TRL is slower and smaller.
        gradient_checkpointing=False,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        seed=SEED,
    )
    trainer = SFTTrainer(
        model=AutoModelForCausalLM.from_pretrained(
            job.model, dtype=torch.bfloat16 if bf16 else torch.float32
        ),
        args=settings,
        train_dataset=rows.map(prompt_and_completion, remove_columns=rows.column_names),
        processing_class=tokenizer,
        peft_config=LoraConfig(
            r=LORA_R, lora_alpha=LORA_ALPHA, target_modules="all-linear", task_type="CAUSAL_LM"
        ),
    )
    trainer.train()
    meter.write(job.answer)


if __name__ == "__main__":
    main()
