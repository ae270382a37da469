"""What settings are called in the Hugging Face Trainer, TRL and Axolotl."""

from collections.abc import Collection

OTHER_NAMES: dict[str, str] = {
    # the Hugging Face Trainer
    "per_device_train_batch_size": "batch_size",
    "num_train_epochs": "epochs",
    "gradient_accumulation_steps": "accumulate",
    "output_dir": "out",
    "warmup_ratio": "warmup",
    "save_steps": "save_every",
    "logging_steps": "log_every",
    "eval_steps": "evaluate_every",
    "model_name_or_path": "model",
    # TRL
    "max_length": "max_tokens",
    "max_seq_length": "max_tokens",
    "dataset_name": "data",
    "dataset_text_field": "text_field",
    "teacher_model_name_or_path": "teacher_model",
    "lora_target_modules": "lora_targets",
    "target_modules": "lora_targets",
    "lora_rank": "lora_r",
    # Axolotl
    "micro_batch_size": "batch_size",
    "num_epochs": "epochs",
    "sequence_len": "max_tokens",
    "base_model": "model",
    "sample_packing": "packing",
    "val_set_size": "held_out",
}
"""Name there -> name here: the same setting, in the same unit, counted in the same way."""

ALMOST: dict[str, tuple[str, str]] = {
    "warmup_steps": ("warmup", "`warmup` is a fraction of all steps, not a number of steps."),
    "bf16": ("precision", "Use `precision=bf16`."),
    "fp16": ("precision", "Use `precision=fp16`."),
    "train_on_inputs": ("loss_on", "Use `loss_on=all`, or omit it."),
    "completion_only_loss": ("loss_on", "Use `loss_on`: `target` (the default) or `all`."),
    "assistant_only_loss": ("loss_on", "Use `loss_on`: `target` (the default) or `all`."),
    "resume_from_checkpoint": ("resume", "`resume` takes a run folder, not a checkpoint."),
    "load_best_model_at_end": ("epochs", "The weights of the best epoch are always saved."),
    "per_device_eval_batch_size": (
        "generate_batch_size",
        "`generate_batch_size` is the number of rows per batch during generation.",
    ),
}
"""Name there -> the setting here that comes nearest, and how it differs."""


def known_elsewhere(key: str, fields: Collection[str]) -> str | None:
    """The field that another library's name stands for, if these fields have it."""
    field = OTHER_NAMES.get(key)
    return field if field in fields and key not in fields else None


def mapping(name: str, field: str) -> str:
    """What is said where another library's name was taken."""
    return f"`{name}` is `{field}` here"
