"""Axolotl with `sample_packing`, counted; runs in its own environment."""

import sys
from pathlib import Path
from typing import Any

from .job import LEARNING_RATE, LORA_ALPHA, LORA_R, MAX_TOKENS, PROMPT, SEED, Job, read_job
from .meter import Meter
from .watch import watch_trainer


def settings_of(job: Job) -> dict[str, Any]:
    prompt = PROMPT.replace("{input}", "{instruction}")
    return {
        "base_model": job.model,
        "datasets": [
            {
                "path": job.rows,
                "ds_type": "json",
                "type": {
                    "field_instruction": "input",
                    "field_output": "target",
                    "format": prompt,
                    "no_input_format": prompt,
                },
            }
        ],
        "dataset_prepared_path": f"{job.folder}/prepared",
        "output_dir": f"{job.folder}/run",
        "sequence_len": MAX_TOKENS,
        "sample_packing": True,
        "eval_sample_packing": False,
        "val_set_size": 0,
        "adapter": "lora",
        "lora_r": LORA_R,
        "lora_alpha": LORA_ALPHA,
        "lora_dropout": 0.0,
        "lora_target_linear": True,
        # Kernels of Triton, which need a GPU.
        "lora_mlp_kernel": False,
        "lora_qkv_kernel": False,
        "lora_o_kernel": False,
        "micro_batch_size": 1,
        "gradient_accumulation_steps": 1,
        "num_epochs": 1,
        "optimizer": "adamw_torch",
        "lr_scheduler": "linear",
        "learning_rate": LEARNING_RATE,
        "gradient_checkpointing": False,
        "bf16": False,
        "fp16": False,
        "tf32": False,
        "sdp_attention": True,
        "save_strategy": "no",
        "dataset_num_proc": 1,
        "seed": SEED,
    }


def main() -> None:
    job = read_job()
    import yaml
    from axolotl.cli.train import do_cli  # type: ignore[import-not-found]

    meter = Meter(job.pad_id)
    watch_trainer(meter)
    config = Path(job.folder) / "config.yaml"
    config.write_text(yaml.safe_dump(settings_of(job)), encoding="utf-8")
    sys.argv = sys.argv[:1]
    do_cli(config=str(config))
    meter.write(job.answer, "axolotl")


if __name__ == "__main__":
    main()
