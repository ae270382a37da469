"""LLaMA-Factory with `packing` and `neat_packing`, counted; runs in its own environment."""

import importlib.util
import json
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from .job import LEARNING_RATE, LORA_ALPHA, LORA_R, MAX_TOKENS, PROMPT, SEED, Job, read_job
from .meter import Meter
from .watch import watch_trainer


def stand_in_for(name: str) -> None:
    """An empty module: LLaMA-Factory imports torchaudio always and uses it for sound alone."""
    if importlib.util.find_spec(name) is None:
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        sys.modules[name] = module


def describe_rows(job: Job) -> None:
    columns = {"prompt": "input", "response": "target"}
    described = {"benchmark": {"file_name": job.rows, "columns": columns}}
    (Path(job.folder) / "dataset_info.json").write_text(json.dumps(described), encoding="utf-8")


def main() -> None:
    job = read_job()
    stand_in_for("torchaudio")
    from llamafactory.data.formatter import StringFormatter  # type: ignore[import-not-found]
    from llamafactory.data.template import register_template  # type: ignore[import-not-found]
    from llamafactory.train.tuner import run_exp  # type: ignore[import-not-found]

    meter = Meter(job.pad_id)
    watch_trainer(meter)
    describe_rows(job)
    register_template(
        "benchmark",
        format_user=StringFormatter(slots=[PROMPT.replace("{input}", "{{content}}")]),
        format_assistant=StringFormatter(slots=[" {{content}}", {"eos_token"}]),
    )
    run_exp(
        {
            "model_name_or_path": job.model,
            "stage": "sft",
            "do_train": True,
            "finetuning_type": "lora",
            "lora_target": "all",
            "lora_rank": LORA_R,
            "lora_alpha": LORA_ALPHA,
            "dataset": "benchmark",
            "dataset_dir": job.folder,
            "template": "benchmark",
            "cutoff_len": MAX_TOKENS,
            "packing": True,
            "neat_packing": True,
            "per_device_train_batch_size": 1,
            "num_train_epochs": 1,
            "learning_rate": LEARNING_RATE,
            "lr_scheduler_type": "linear",
            "output_dir": f"{job.folder}/run",
            "save_strategy": "no",
            "report_to": "none",
            "disable_gradient_checkpointing": True,
            "use_cpu": True,
            "seed": SEED,
        }
    )
    meter.write(job.answer, "llamafactory")


if __name__ == "__main__":
    main()
