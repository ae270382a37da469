"""transformers' Trainer with `DataCollatorForSeq2Seq`, rows grouped by length, counted."""

from typing import Any

from .job import (
    BATCH_SIZE,
    LEARNING_RATE,
    LORA_ALPHA,
    LORA_R,
    MAX_TOKENS,
    PROMPT,
    SEED,
    Job,
    read_job,
)
from .meter import Meter
from .watch import watch_trainer


def tokenized(job: Job, tokenizer: Any) -> Any:
    """Prompt and target apart, joined, cut at the end: as the tutorials do it."""
    from datasets import load_dataset

    def tokens(row: dict[str, str]) -> dict[str, list[int]]:
        prompt = tokenizer(PROMPT.format(input=row["input"]))["input_ids"]
        answer = [*tokenizer(f" {row['target']}")["input_ids"], tokenizer.eos_token_id]
        ids = prompt + answer
        labels = ids if job.set_up.endswith("-all") else [-100] * len(prompt) + answer
        return {
            "input_ids": ids[:MAX_TOKENS],
            "attention_mask": [1] * len(ids[:MAX_TOKENS]),
            "labels": labels[:MAX_TOKENS],
        }

    rows = load_dataset("json", data_files=job.rows, split="train")
    return rows.map(tokens, remove_columns=rows.column_names)


def main() -> None:
    job = read_job()
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import (
        AutoModelForCausalLM,
        AutoTokenizer,
        DataCollatorForSeq2Seq,
        Trainer,
        TrainingArguments,
    )

    tokenizer: Any = AutoTokenizer.from_pretrained(job.model)
    meter = Meter(job.pad_id)
    watch_trainer(meter)
    torch.manual_seed(SEED)
    adapters = LoraConfig(
        r=LORA_R, lora_alpha=LORA_ALPHA, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    model = AutoModelForCausalLM.from_pretrained(job.model, dtype=torch.float32)
    settings = TrainingArguments(
        output_dir=f"{job.folder}/run",
        num_train_epochs=1,
        per_device_train_batch_size=BATCH_SIZE,
        learning_rate=LEARNING_RATE,
        train_sampling_strategy="group_by_length",
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        seed=SEED,
    )
    trainer = Trainer(
        model=get_peft_model(model, adapters),
        args=settings,
        train_dataset=tokenized(job, tokenizer),
        data_collator=DataCollatorForSeq2Seq(tokenizer),
    )
    trainer.train()
    meter.write(job.answer)


if __name__ == "__main__":
    main()
